private import CSQLite

/// What who runs a database does with it while it is in use.
extension Database {
    public enum CheckpointMode: Hashable, Sendable {
        /// Copies what it can without waiting for anybody.
        case passive
        /// Waits up to `busyTimeout` for readers of older states, and copies all. Other writes wait meanwhile.
        case full
        /// The same, and cuts the log to nothing.
        case truncate
    }

    /// How far a checkpoint came.
    public struct Checkpoint: Hashable, Sendable {
        /// Pages in the log.
        public let pagesInLog: Int
        /// Of them, those that are in the file now.
        public let pagesCopied: Int
        /// Whether the checkpoint did what its mode says. A reader, or another program, may have been in its way for
        /// too long; try again later.
        public let isComplete: Bool
    }

    /// Copies the log into the file. It is done by itself when the log has `checkpointPages`.
    @discardableResult
    public func checkpoint(_ mode: CheckpointMode = .passive) async throws -> Checkpoint {
        try await maintain { connection in
            let number =
                switch mode {
                case .passive: SQLITE_CHECKPOINT_PASSIVE
                case .full: SQLITE_CHECKPOINT_FULL
                case .truncate: SQLITE_CHECKPOINT_TRUNCATE
                }
            let outcome = try connection.checkpoint(mode: number)
            return Checkpoint(
                pagesInLog: outcome.inLog, pagesCopied: outcome.copied,
                isComplete: outcome.isDone && outcome.copied == outcome.inLog)
        }
    }

    /// Copies one state of the database, the one of now, into a new file, which is a database by itself. Reading and
    /// writing go on meanwhile; the log grows until it is done.
    ///
    /// The file is there whole, or not at all. Throws `cannotOpen` if there is one already.
    public func backup(to path: String) async throws {
        try await onReader { connection, _ in try connection.backUp(to: path) }
    }

    /// Reads the whole file and returns what is wrong with it, in SQLite's words; nothing if all is well. Throws
    /// `corrupt` if it is too damaged for that.
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
                    lines.append("\(row) of \(try statement.text(0)) refers to no row of \(try statement.text(2))")
                }
                return lines
            }
            return found
        }
    }
}
