import ActiveObject
import Foundation

/// Runs `body` with a database in a new folder, and removes both.
///
/// - Parameter statements: SQL that another program runs in the file before it is opened.
func withDatabase<Result>(
    _ options: Database.Options = Database.Options(), in statements: [String] = [],
    body: (Database) async throws -> Result
) async throws -> Result {
    try await withFolder { folder in
        let path = folder + "/test.db"
        if !statements.isEmpty { try prepareFile(path, with: statements) }
        let database = try await Database.open(path, name: nil, options: options)
        do {
            let result = try await body(database)
            await database.close()
            return result
        } catch {
            await database.close()
            throw error
        }
    }
}

/// Runs `body` with the path of an empty folder.
func withFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "records-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder.path())
}
