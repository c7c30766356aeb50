import ActiveObject
import Foundation

/// Gives a database in a folder of its own and takes both away again.
func withDatabase<Result>(
    _ options: Database.Options = Database.Options(), _ body: (Database) async throws -> Result
) async throws -> Result {
    try await withFolder { folder in
        let database = try await Database.open(folder + "/test.db", name: nil, options: options)
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

/// Gives the path of an empty folder.
func withFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "records-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder.path())
}
