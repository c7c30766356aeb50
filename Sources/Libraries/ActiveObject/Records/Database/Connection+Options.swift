import Glibc

extension Connection {
    /// Applies the settings that readers and the writer share.
    func setUp(_ options: Database.Options) throws {
        callbacks.busyTimeout = max(.zero, options.busyTimeout)
        // This is the first pragma that reads the file. It fails if the file is not a database.
        try control("PRAGMA synchronous = \(options.durability == .full ? "FULL" : "NORMAL")")
        try control("PRAGMA cache_size = -\(min(max(64, options.cacheBytes / 1024), Int(Int32.max)))")
        try control("PRAGMA foreign_keys = 1")
        try control("PRAGMA cell_size_check = 1")
        // Deleted content is overwritten: it may be about people. Some builds of SQLite do so by themselves.
        try control("PRAGMA secure_delete = ON")
    }

    /// Throws if SQLite opened the file for reading only. It does so without an error if the file is not writable.
    func checkIsWritable() throws(ActiveObjectError) {
        guard isReadOnly else { return }
        throw ActiveObjectError(
            .readOnly,
            message: "\(path) is not writable for this process; change its permissions, or open it with `isReadOnly`")
    }

    /// Turns on the write-ahead log, so that others can read while the writer writes.
    func turnOnWriteAheadLog(_ options: Database.Options) throws {
        guard path != ":memory:" else { return }
        guard try setJournalMode("WAL") == "wal" else {
            throw ActiveObjectError(
                .cannotOpen,
                message:
                    "\(path) is on a file system that has no support for a write-ahead log; move it to a local disk"
            )
        }
        // SQLite truncates a log that has grown beyond this limit when it restarts the log.
        let bytes = max(1000, options.checkpointPages).multipliedReportingOverflow(by: 4 * 4096)
        try control("PRAGMA journal_size_limit = \(bytes.overflow ? -1 : bytes.partialValue)")
        if !bytes.overflow { truncateLog(above: bytes.partialValue) }
    }

    /// Sets the journal mode, with retries. SQLite returns "busy" at once if another program opens the same new file,
    /// because waiting with a lock that the other program needs would be a deadlock.
    private func setJournalMode(_ mode: String) throws -> String? {
        let end = ContinuousClock.now + callbacks.busyTimeout
        while true {
            do {
                return try control("PRAGMA journal_mode = \(mode)")
            } catch let error as ActiveObjectError where error.code == .busy && ContinuousClock.now < end {
                usleep(1000)
            }
        }
    }

    /// Runs `body` with writing turned off, for a writer that also reads because there are no readers.
    func readingOnly<Result>(_ body: () throws -> Result) throws -> Result {
        try control("PRAGMA query_only = 1")
        defer {
            _ = interruption.disarm()
            _ = try? control("PRAGMA query_only = 0")
        }
        return try body()
    }
}
