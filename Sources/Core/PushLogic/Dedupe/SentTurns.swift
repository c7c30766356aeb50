/// The deliveries that were sent for turns of messages at a local time, of turns that are done while others of the same
/// message are not. A cancellation counts them.
package struct SentTurns: Sendable {
    /// The number of deliveries, by the fingerprint of the message id. Few ids have any.
    private var sent: [UInt64: UInt64] = [:]

    package init() {}

    package func count(of fingerprint: UInt64) -> UInt64 { sent.isEmpty ? 0 : sent[fingerprint] ?? 0 }

    package mutating func add(_ count: UInt64, to fingerprint: UInt64) {
        if count > 0 { sent[fingerprint, default: 0] &+= count }
    }

    package mutating func forget(_ fingerprint: UInt64) {
        if !sent.isEmpty { sent[fingerprint] = nil }
    }
}
