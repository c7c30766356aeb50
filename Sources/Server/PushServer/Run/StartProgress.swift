/// Decides whether a start that takes long makes progress: a recovery computes or reads, and a start that hangs does
/// neither.
struct StartProgress {
    /// What the process has used so far.
    struct Usage: Equatable, Sendable {
        var processorTime: Duration
        /// The number of blocks that were read from disks.
        var blocksRead: Int
    }

    /// The processor time of an idle process between two looks is far below this.
    private static let minProcessorTime: Duration = .milliseconds(100)

    private var last: Usage

    init(_ usage: Usage) {
        last = usage
    }

    /// Returns whether the process has made progress since the last look.
    mutating func advanced(to usage: Usage) -> Bool {
        defer { last = usage }
        return usage.processorTime - last.processorTime >= Self.minProcessorTime || usage.blocksRead > last.blocksRead
    }
}
