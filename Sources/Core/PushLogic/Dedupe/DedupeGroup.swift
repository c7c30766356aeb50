/// The decisions of one group: what they add to the disk, and what ``DedupeMachine/undo(_:)`` needs to take them back
/// if the commit fails.
///
/// A group ends with exactly one of ``DedupeMachine/commit(_:)`` and ``DedupeMachine/undo(_:)``. Between its beginning
/// and its end, the machine is not used for anything else.
package struct DedupeGroup: ~Copyable {
    /// The number of the group's first event. Accepted messages are the group's first events.
    package let first: UInt64
    /// The keys of the accepted messages, whose numbers ascend from ``first``.
    package internal(set) var accepted: [AcceptedKey] = []
    /// The numbers of the messages that are done.
    package internal(set) var completed: [UInt64] = []
    /// The number of scheduled messages among them that were removed.
    package internal(set) var unscheduledCount = 0

    /// The messages of known ids.
    var later: [RememberedMessages.Added] = []
    /// The deliveries of earlier single messages that were claimed because another message has the same id now.
    var claimed: [UInt64] = []
    /// The waiting messages that are done.
    var closed: [UInt64] = []
    /// The messages, and first numbers of rows of messages, for which pinned rows no longer wait.
    var released: [UInt64] = []
    /// The ended deliveries of single messages that are claimed from the commit on.
    var endedOnly: [UInt64] = []
    /// The scheduled messages that are done and older than the dedupe window. They are forgotten with the commit.
    var forgotten: [(key: AcceptedKey, seq: UInt64)] = []
    /// The ids that were cancelled.
    var cancelled: [UInt64] = []
    /// The number of requests that were refused because of the limit.
    var refusedCount: UInt64 = 0

    /// Creates a group that accepts up to `count` messages without further allocations.
    package init(first: UInt64, reserving count: Int = 0) {
        self.first = first
        accepted.reserveCapacity(count)
    }

    /// Counts a request that is refused with another one.
    package mutating func countRefused() { refusedCount &+= 1 }

    /// Adds a message and returns its number.
    mutating func add(_ key: AcceptedKey) -> UInt64 {
        let seq = first &+ UInt64(accepted.count)
        accepted.append(key)
        return seq
    }

    /// Returns the key of a message of this group.
    func key(of seq: UInt64) -> AcceptedKey? {
        let index = Int(clamping: seq &- first)
        return index < accepted.count ? accepted[index] : nil
    }
}
