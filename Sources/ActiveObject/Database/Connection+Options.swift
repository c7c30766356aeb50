import Glibc

extension Connection {
    /// What holds for readers and the writer alike.
    func setUp(_ options: Database.Options) throws {
        callbacks.patience = max(.zero, options.busyTimeout)
        // The first pragma that looks into the file: what is no database is found out here.
        try control("PRAGMA synchronous = \(options.durability == .full ? "FULL" : "NORMAL")")
        try control("PRAGMA cache_size = -\(min(max(64, options.cacheBytes / 1024), Int(Int32.max)))")
        try control("PRAGMA foreign_keys = 1")
        try control("PRAGMA cell_size_check = 1")
    }

    /// SQLite opens what it may not write for reading, and says nothing.
    func mustBeWritable() throws(ActiveObjectError) {
        guard isReadOnly else { return }
        throw ActiveObjectError(
            .readOnly,
            "\(path) may not be written by this process: change its permissions, or open it with `isReadOnly`")
    }

    /// Has the writer keep a log beside the file, which is what lets others read while it writes.
    func useLog(_ options: Database.Options) throws {
        guard path != ":memory:" else { return }
        guard try setJournalMode("WAL") == "wal" else {
            throw ActiveObjectError(
                .cannotOpen,
                "\(path) is on a file system that cannot hold a write-ahead log: put it on a local disk of this machine"
            )
        }
        // A log that had to grow is cut when it starts anew.
        let bytes = max(1000, options.checkpointPages).multipliedReportingOverflow(by: 4 * 4096)
        try control("PRAGMA journal_size_limit = \(bytes.overflow ? -1 : bytes.partialValue)")
        if !bytes.overflow { cutLog(above: bytes.partialValue) }
    }

    /// SQLite gives up at once if another program opens the same new file at the same time: it does not wait while it
    /// holds a lock that the other needs. Trying again does.
    private func setJournalMode(_ mode: String) throws -> String? {
        let end = ContinuousClock.now + callbacks.patience
        while true {
            do {
                return try control("PRAGMA journal_mode = \(mode)")
            } catch let error as ActiveObjectError where error.code == .busy && ContinuousClock.now < end {
                usleep(1000)
            }
        }
    }

    /// For a writer that reads because there are no readers.
    func readingOnly<Result>(_ body: () throws -> Result) throws -> Result {
        try control("PRAGMA query_only = 1")
        defer {
            _ = interruption.disarm()
            _ = try? control("PRAGMA query_only = 0")
        }
        return try body()
    }
}
