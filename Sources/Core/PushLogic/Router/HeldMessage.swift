import PushModel
import PushTime

/// A message that is completely in memory.
struct HeldMessage {
    private(set) var accepted: AcceptedMessage
    /// The Live Activity that the message is for; nil for nearly all messages.
    private(set) var activity: UInt64?
    var counts: OutcomeCounts
    let lane: LaneID
    let cost: Int
    /// The time at which the message could first be sent: its acceptance or its `not_before`, whichever is later.
    let begin: WallTime
    /// The time at which a page of the message was last given to a gateway.
    var givenAt = WallTime.distantPast
    /// The number of deliveries that are at a gateway or wait for another attempt.
    var open = 0
    /// The latest change of owners when the message was begun.
    var foundAt: UInt32 = 0
    /// Whether no device is left for a first attempt.
    var isAllDispatched = false
    /// Whether a message to a Live Activity was taken from its lane in its turn.
    var isBegun = false
    /// The search for devices. Nil for a message whose single token needs no claim, and before and after the search.
    var fanOut: FanOut?

    init(_ accepted: AcceptedMessage, lane: LaneID) {
        counts = accepted.counts
        self.lane = lane
        cost = accepted.size
        begin = accepted.begin
        self.accepted = accepted
    }

    /// Makes it a message to a Live Activity, whose payload says when it was accepted.
    mutating func address(_ activity: UInt64, at time: UnixSeconds) {
        self.activity = activity
        accepted = accepted.stamped(at: time)
    }

    /// The only token of a message that needs no claim, because no other message with its id can have reached the
    /// device, and no page of the registry, because its kind is that of nearly all.
    @inline(__always)
    var onlyToken: Address? {
        guard !accepted.needsClaim, !accepted.message.asksForNamed, case .tokens(let tokens) = accepted.audience,
            tokens.count == 1
        else { return nil }
        return tokens[0]
    }
}

/// The messages in memory.
typealias MessageTable = SlotTable<MessageHandle, HeldMessage>
