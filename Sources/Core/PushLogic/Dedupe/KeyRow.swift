/// The keys that one group has stored. They have one time, and are removed together.
package struct KeyRow: Equatable, Sendable {
    /// The number of the group's first event, which is also the number of its first accepted message.
    package let number: UInt64
    /// The keys of the group's accepted messages, whose numbers ascend from ``number``.
    package var accepted: [AcceptedKey]
    package var ended: [EndedKey]
    /// The numbers of the messages that are done.
    package var completed: [UInt64]

    package init(number: UInt64, accepted: [AcceptedKey] = [], ended: [EndedKey] = [], completed: [UInt64] = []) {
        self.number = number
        self.accepted = accepted
        self.ended = ended
        self.completed = completed
    }
}

/// The keys of a removed row that ``DedupeMachine/forget(_:)`` removes from memory.
package struct ForgottenKeys: Sendable {
    package internal(set) var messages: [(key: AcceptedKey, seq: UInt64)] = []
    package internal(set) var deliveries: [EndedKey] = []
    /// The deliveries of messages for one device whose ids are remembered for longer. The devices stay claimed as long
    /// as these.
    package internal(set) var heldDevices: [UInt64] = []

    package var count: Int { messages.count + deliveries.count + heldDevices.count }
}
