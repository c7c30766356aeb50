extension Database {
    /// How a database is opened. What is not said is safe.
    public struct Options: Sendable {
        public enum Durability: Sendable {
            /// A transaction is on disk when `write` returns. The default.
            case full
            /// The last transactions can be lost with the power, never with the process; the file stays whole.
            case normal
        }

        public var durability: Durability = .full
        /// How long a statement waits for another program that holds the file. Default 5 s.
        public var busyTimeout: Duration = .seconds(5)
        /// Connections that read beside the writer, each with a thread of its own; at most 64. With none the writer
        /// reads too. Default 2.
        public var readers = 2
        /// Calls that may wait for one connection; one more throws `busy`. Default 4,096.
        public var maximumWaiting = 4096
        /// Memory for pages, for each connection. Default 2 MiB.
        public var cacheBytes = 2 << 20
        /// Whether the file is made if it is not there. Default true.
        public var creates = true
        /// Nothing is written, and nothing is made: the tables must be there. Default false.
        public var isReadOnly = false
        /// The log is copied into the file when it has this many pages, after a commit; 0 never. When readers keep it
        /// from being copied until it has four times as many, a commit waits up to 0.1 s for them. Default 1,000.
        public var checkpointPages = 1000

        /// What is done to the file before anything else, each once. Default none.
        public var migrations: [Migration] = []

        public init() {}
    }
}
