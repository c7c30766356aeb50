import ActiveObject

/// The version of `registry.db`.
///
/// ActiveObject adds new columns and indexes by itself, and makes each table at its first use. The version tells an
/// older program that a file has what it does not know: each change of a record type adds a migration here, even if the
/// migration has nothing to do, and a directory among the fixtures of the tests.
enum RegistrySchema {
    /// The migrations, of which none is ever removed or renamed. A file of version 1 has none.
    static let migrations = ["carillon-2", "carillon-3", "carillon-4"].map { Migration($0) { _ in } }

    static var version: Int64 { Int64(migrations.count) + 1 }

    /// Opens or creates the file.
    static func open(_ path: String, cacheBytes: Int? = nil) async throws -> Database {
        var options = Database.Options()
        options.migrations = migrations
        if let cacheBytes { options.cacheBytes = cacheBytes }
        PrivateFile.prepare(path)
        do {
            return try await Database.open(path, name: nil, options: options)
        } catch let error as ActiveObjectError where error.code == .badMigration {
            throw StoreError(
                .newerVersion,
                "\(path) was written by a newer Carillon (\(error.message)); start the newer version, or restore a backup "
                    + "that this version made")
        } catch let error as ActiveObjectError where error.code == .corrupt {
            throw StoreError(.damaged, "\(path) is damaged, or is not a database; restore it from a backup")
        } catch let error as ActiveObjectError {
            throw StoreError(StoreError.Code(opening: error.code), error.description)
        }
    }
}
