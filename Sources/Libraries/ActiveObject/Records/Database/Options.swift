extension Database {
    /// The settings with which a database is opened. The defaults are safe.
    public struct Options: Sendable {
        /// What a committed transaction survives.
        public enum Durability: Sendable {
            /// A transaction is on disk when ``Database/write(_:)`` returns. The default.
            case full
            /// A power failure can lose the last transactions; a crash of the process cannot. The file stays intact.
            case normal
        }

        /// What a committed transaction survives. Default: ``Durability-swift.enum/full``.
        public var durability: Durability = .full
        /// How long a statement waits while another program holds the file. Default: 5 s.
        public var busyTimeout: Duration = .seconds(5)
        /// The number of connections that read beside the writer, each on its own thread; at most 64. With 0, the
        /// writer also reads. Default: 2.
        public var readers = 2
        /// The number of calls that may wait for one connection. Further calls throw
        /// ``ActiveObjectError/Code-swift.struct/busy``. Default: 4,096.
        public var maxWaitingCalls = 4096
        /// The bytes of memory that each connection uses to cache pages. Default: 2 MiB.
        public var cacheBytes = 2 << 20
        /// Whether the file is created if it does not exist. Default: true.
        public var creates = true
        /// Whether the database is only read. Nothing is created, so the tables must exist. Default: false.
        public var isReadOnly = false
        /// The number of pages in the write-ahead log from which a commit copies the log into the file; 0 turns this
        /// off. If readers prevent the copy until the log is four times as long, a commit waits up to 0.1 s for them.
        /// Default: 1,000.
        public var checkpointPages = 1000

        /// The migrations that run when the file is opened, each once per file. Default: none.
        public var migrations: [Migration] = []

        /// Creates options with the defaults.
        public init() {}
    }
}
