/// The deliveries that were sent for turns of messages at a local time, of turns that are done while others of the same
/// message are not. A cancellation counts them.
package struct SentTurns: Sendable {
    /// The number of deliveries, by the fingerprint of the message id. Few ids have any.
    private var sent: [UInt64: UInt64] = [:]
    /// While keys are restored: the ids that have scheduled messages, and the messages with these ids.
    private var expected: Set<UInt64> = []
    private var ids: [UInt64: UInt64] = [:]

    package init() {}

    package func count(of fingerprint: UInt64) -> UInt64 { sent.isEmpty ? 0 : sent[fingerprint] ?? 0 }

    package mutating func add(_ count: UInt64, to fingerprint: UInt64) {
        if count > 0 { sent[fingerprint, default: 0] &+= count }
    }

    package mutating func forget(_ fingerprint: UInt64) {
        if !sent.isEmpty { sent[fingerprint] = nil }
    }

    // MARK: Restoring

    mutating func expect(_ fingerprint: UInt64) { expected.insert(fingerprint) }

    mutating func recall(_ seq: UInt64, of fingerprint: UInt64) {
        if !expected.isEmpty, expected.contains(fingerprint) { ids[seq] = fingerprint }
    }

    /// Takes deliveries of a message that is done.
    mutating func restore(_ count: UInt64, of seq: UInt64) {
        if !ids.isEmpty, let fingerprint = ids[seq] { add(count, to: fingerprint) }
    }

    mutating func finishRestoring() { (expected, ids) = ([], [:]) }
}
