import PushSQLite

// Maintenance of a database while it is in use.
extension Database {
    /// How much of the log a checkpoint copies, and whether it waits for readers.
    public enum CheckpointMode: Hashable, Sendable {
        /// Copies what it can without waiting.
        case passive
        /// Waits up to ``Options/busyTimeout`` for readers of older states, and copies everything. Writes wait
        /// meanwhile.
        case full
        /// Does the same as ``full``, and truncates the log to zero bytes.
        case truncate
    }

    /// The result of a checkpoint.
    public struct Checkpoint: Hashable, Sendable {
        /// The number of pages in the log.
        public let pagesInLog: Int
        /// The number of pages of the log that are now in the file.
        public let pagesCopied: Int
        /// Whether the checkpoint did everything that its mode promises. If not, a reader or another program blocked it
        /// for too long; retry later.
        public let isComplete: Bool
    }

    /// Copies the log into the file. Commits do this on their own as soon as the log has ``Options/checkpointPages``.
    @discardableResult
    public func checkpoint(_ mode: CheckpointMode = .passive) async throws -> Checkpoint {
        try await maintain { connection in
            let outcome =
                switch mode {
                case .passive: try connection.checkpoint(.passive)
                case .full: try connection.checkpoint(.full)
                case .truncate: try connection.checkpoint(.truncate)
                }
            return Checkpoint(
                pagesInLog: outcome.pagesInLog, pagesCopied: outcome.pagesCopied,
                isComplete: outcome.isDone && outcome.pagesCopied == outcome.pagesInLog)
        }
    }

    /// Copies the current state of the database into a new file, which is a complete database.
    ///
    /// Reads and writes continue meanwhile, but the log grows until the backup is done. The file appears only when it
    /// is complete. It has the permissions of the database.
    ///
    /// - Throws: ``ActiveObjectError/Code-swift.struct/cannotOpen`` if the file already exists.
    public func backup(to path: String) async throws {
        try await onReader { connection, _ in try connection.backUp(to: path) }
    }

    /// Checks the whole file.
    ///
    /// - Returns: The problems, as SQLite describes them; empty if there are none.
    /// - Throws: ``ActiveObjectError/Code-swift.struct/corrupt`` if the file is too damaged to be checked.
    public func integrityCheck() async throws -> [String] {
        try await onReader { connection, _ in
            var found = try connection.withStatement("PRAGMA integrity_check") { statement in
                var lines: [String] = []
                while try statement.step() { lines.append(try statement.text(0)) }
                return lines == ["ok"] ? [] : lines
            }
            found += try connection.withStatement("PRAGMA foreign_key_check") { statement in
                var lines: [String] = []
                while try statement.step() {
                    let row = statement.isNull(1) ? "a row" : "row \(try statement.integer(1))"
                    let (table, parent) = (try statement.text(0), try statement.text(2))
                    lines.append("\(row) of \(table) refers to a missing row of \(parent)")
                }
                return lines
            }
            return found
        }
    }
}
