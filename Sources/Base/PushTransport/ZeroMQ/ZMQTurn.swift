import PushLoop

/// What a socket may still do before others on its loop get their turn.
///
/// A message may be an envelope of a hundred bytes or a batch of ten thousand lines, so that neither their number nor
/// their size alone says how long they take.
struct ZMQTurn {
    private var messages: Int
    private var bytes: Int
    private var lines: Int
    private let end: MonotonicTime

    init(_ limits: ZMQTurnLimits) {
        messages = limits.messages
        bytes = limits.bytes
        lines = limits.lines
        end = MonotonicTime.coarse() + limits.time
    }

    var isOver: Bool { messages <= 0 || bytes <= 0 || lines <= 0 || MonotonicTime.coarse() >= end }

    mutating func took(_ bytes: Int) {
        messages -= 1
        self.bytes -= bytes
    }

    mutating func took(lines count: Int) { lines -= count }
}

/// The limits of a turn. The first one that is reached ends it.
package struct ZMQTurnLimits: Hashable, Sendable {
    package var messages = 1000
    package var bytes = 8 << 20
    /// The lines of batches, which the owner of the socket counts.
    package var lines = 10_000
    package var time = Duration.milliseconds(20)

    package init() {}
}
