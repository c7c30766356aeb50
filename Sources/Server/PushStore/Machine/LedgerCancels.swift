import PushModel
import PushTime

/// The cancellations that are not finished. A cancellation is on disk before its messages are stopped, and its counts
/// follow in a later group: a crash between the two ends what is left of the messages at the next start.
struct LedgerCancels {
    /// A message of a cancellation.
    struct Part {
        let seq: UInt64
        /// The message without its payload, for its events.
        let message: Message
        let lane: Lane?
        /// Whether it changes a Live Activity.
        let isOfActivity: Bool
        /// The number of different devices that it names; nil if the registry determines them.
        let named: Int?
        /// The time since which it waits; nil if it is damaged.
        let begin: WallTime?
        /// Whether it is one of several with its id, which go out at a local time.
        let isTurn: Bool
        /// Its outcomes, if it was completed after the cancellation and before it could be stopped.
        var completed: OutcomeCounts?
    }

    /// A cancellation whose counts are not known yet.
    struct Open {
        let request: CancelRequest
        let fingerprint: UInt64
        var parts: [Part]
        var replies: [@Sendable (Cancellation) -> Void]
        /// What was sent of other turns of the message, which were done before the cancellation.
        var sentBefore: UInt64 = 0

        func part(_ seq: UInt64) -> Part? { parts.first { $0.seq == seq } }
    }

    /// The cancellations without counts, by number.
    var open: [UInt64: Open] = [:]
    /// The cancelled messages that are not done, with the numbers of their cancellations.
    var numbers: [UInt64: UInt64] = [:]
    /// The messages among them that are done with the current group.
    var completing: [UInt64] = []

    func contains(_ seq: UInt64) -> Bool { !numbers.isEmpty && numbers[seq] != nil }

    /// Records that a message is done with the current group.
    mutating func complete(_ message: CompletedMessage) {
        guard let number = numbers[message.seq] else { return }
        completing.append(message.seq)
        guard let index = open[number]?.parts.firstIndex(where: { $0.seq == message.seq }) else { return }
        open[number]?.parts[index].completed = message.counts
    }

    /// Forgets the messages that the stored group has completed.
    mutating func commit() {
        for seq in completing { numbers[seq] = nil }
        completing = []
    }
}

/// The cancellations of one group.
struct CancelGroup {
    /// A cancellation that is stored with the group.
    struct New {
        let number: UInt64
        let open: [UInt64]
        var cancel: LedgerCancels.Open
    }

    /// A cancellation whose counts are stored with the group; nil if its messages had all ended.
    struct Finished {
        let number: UInt64
        let counts: CancelCounts?
    }

    var new: [New] = []
    var finished: [Finished] = []
    /// The answers that are given after the commit.
    var answers: [(reply: @Sendable (Cancellation) -> Void, answer: Cancellation)] = []
    /// Further requests for cancellations that have no counts yet.
    var waiting: [(reply: @Sendable (Cancellation) -> Void, number: UInt64)] = []
}

/// What a cancellation stores about each of its messages, for a start after a crash: four words.
struct StoredCancelPart: Equatable {
    let seq: UInt64
    /// The deliveries that were written and not answered when the message was stopped.
    var underWay: UInt64 = 0
    /// The deliveries that had an outcome then.
    var ended: UInt64 = 0
    /// The deliveries that were not sent.
    var cancelled: UInt64 = 0

    static let size = 32

    func append(to words: inout [UInt64]) {
        words.append(seq)
        words.append(underWay)
        words.append(ended)
        words.append(cancelled)
    }

    init(seq: UInt64, underWay: UInt64 = 0, ended: UInt64 = 0, cancelled: UInt64 = 0) {
        self.seq = seq
        self.underWay = underWay
        self.ended = ended
        self.cancelled = cancelled
    }

    init(_ bytes: UnsafeRawBufferPointer, at index: Int) {
        self.init(
            seq: unsafe bytes.word(at: index * Self.size), underWay: unsafe bytes.word(at: index * Self.size + 8),
            ended: unsafe bytes.word(at: index * Self.size + 16),
            cancelled: unsafe bytes.word(at: index * Self.size + 24))
    }

    /// Marks stored parts as those of messages to Live Activities, with a word after them that earlier versions do not
    /// read.
    static func markActivities(in words: inout [UInt64]) { words.append(1) }

    /// Whether stored parts of so many bytes are marked.
    static func areOfActivities(bytes: Int64) -> Bool { bytes % Int64(size) == 8 }

    /// Returns the outcomes of the message after a crash. Deliveries that were written and have no outcome in the
    /// ledger are unknown: they are not sent again.
    func countsAfterCrash(_ recovered: OutcomeCounts) -> OutcomeCounts {
        var counts = recovered
        let answered = recovered.ended - min(ended, recovered.ended)
        // A damaged file may contain any number.
        let lost = min(underWay - min(underWay, answered), UInt64(UInt32.max))
        counts.unknown = UInt32(clamping: UInt64(counts.unknown) + lost)
        counts.cancelled = UInt32(clamping: cancelled)
        return counts
    }
}
