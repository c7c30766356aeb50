import ActiveObject
import PushLoop
package import PushModel

/// The API keys in `registry.db`. All of them are in memory, too, and memory changes after the file.
package final class RegistryKeys: ChangingKeyStore {
    /// The maximum number of valid keys.
    package static let maxKeys = 10_000
    /// The time for which ended keys are kept, so that operators can look up the ids in their logs.
    package static let keepsEnded = Duration.seconds(90 * 86_400)

    private let database: Database
    private let files: OpenedFiles
    private let turn = WriteTurn(limit: 64)
    private let memory: Locked<[StoredKey]>

    package var keys: [StoredKey] { memory.withLock { $0 } }

    init(in database: Database, among files: OpenedFiles = OpenedFiles()) async throws {
        self.database = database
        self.files = files
        // Use a write transaction: it creates the table in a file of an earlier version.
        let rows = try await database.write { transaction in
            try APIKeyRow.query.order(by: \.objectId).all(in: transaction)
        }
        memory = Locked(try rows.map { try $0.stored() })
    }

    /// Opens or creates `registry.db` for the keys alone. The caller must hold the lock of the directory, and ``close()``
    /// it.
    package static func open(directory: String) async throws -> RegistryKeys {
        let database = try await RegistrySchema.open(directory + "/registry.db")
        do {
            return try await RegistryKeys(in: database)
        } catch {
            await database.close()
            throw error
        }
    }

    /// Closes the file. Only after ``open(directory:)``; otherwise the registry closes it.
    package func close() async { await database.close() }

    // MARK: Changes

    /// Writes a change that `decide` derives from the keys in memory, and then changes memory.
    package func change(_ decide: ([StoredKey]) throws -> KeyChange) async throws -> KeyChange {
        try turn.mustHaveRoom()
        return try await turn.take {
            let before = keys
            let change = try decide(before)
            // Use a separate task: a caller that is canceled must not leave file and memory different.
            let (database, files) = (database, files)
            let work = Task {
                try await database.change(among: files) { transaction in
                    for id in change.forgotten {
                        try APIKeyRow.remove(where: \.keyId == id.description, in: transaction)
                    }
                    for key in change.updated {
                        guard let old = try APIKeyRow.first(where: \.keyId == key.key.id.description, in: transaction)
                        else { continue }
                        var row = APIKeyRow(key)
                        row.objectId = old.objectId
                        try row.save(in: transaction)
                    }
                    if let added = change.added {
                        var row = APIKeyRow(added)
                        try row.save(in: transaction)
                    }
                }
            }
            try await work.value
            memory.withLock { $0 = change.applied(to: before) }
            return change
        }
    }
}
