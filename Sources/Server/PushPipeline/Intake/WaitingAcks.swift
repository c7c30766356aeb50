import PushTime
import PushTransport

/// Acks for producers that do not read as fast as they send. The number is bounded; acks that are too many or too old
/// are dropped. The protocol lets the producer send the request again.
struct WaitingAcks {
    struct Ack {
        let kind: StaticString
        let route: AnswerRoute
        let text: [UInt8]

        var byteCount: Int { route.byteCount + text.count }
    }

    private struct Peer {
        var acks: [Ack]
        /// The index of the first ack that has not been sent.
        var head = 0
        var bytes: Int
        let since: MonotonicTime
    }

    struct Limits {
        var acks = 20_000
        var bytes = 16 << 20
        /// How long an ack may wait. Later the producer has sent its request again or given up.
        var age = Duration.seconds(30)
        /// One producer may use this fraction (1/`share`) of the whole, so that a producer that does not read leaves
        /// room for others.
        var share = 4
    }

    private let limits: Limits
    /// The producers with waiting acks, by routing id.
    private var peers: [[UInt8]: Peer] = [:]
    private(set) var count = 0
    private(set) var bytes = 0

    init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    var isEmpty: Bool { count == 0 }

    /// Returns whether acks for this producer wait. Later acks must queue behind them.
    func holds(_ identity: [UInt8]) -> Bool { peers[identity] != nil }

    /// Adds an ack. Returns false if there is no room.
    mutating func add(_ ack: Ack, for identity: [UInt8], now: MonotonicTime) -> Bool {
        let size = ack.byteCount
        guard count < limits.acks, bytes + size <= limits.bytes else { return false }
        if let peer = peers[identity] {
            guard peer.acks.count - peer.head < limits.acks / limits.share,
                peer.bytes + size <= limits.bytes / limits.share
            else { return false }
            peers[identity]?.acks.append(ack)
            peers[identity]?.bytes += size
        } else {
            peers[identity] = Peer(acks: [ack], bytes: size, since: now)
        }
        count += 1
        bytes += size
        return true
    }

    /// Sends to each producer until its queue is full. Returns how many acks were sent, and how many were dropped.
    mutating func retry(now: MonotonicTime, send: ([UInt8], Ack) -> ZMQSendResult) -> (sent: Int, dropped: Int) {
        var (sent, dropped) = (0, 0)
        for identity in Array(peers.keys) {
            guard var peer = peers[identity].take() else { continue }
            var isGone = false
            sending: while peer.head < peer.acks.count {
                switch send(identity, peer.acks[peer.head]) {
                case .sent:
                    count -= 1
                    bytes -= peer.acks[peer.head].byteCount
                    peer.bytes -= peer.acks[peer.head].byteCount
                    peer.head += 1
                    sent += 1
                case .wouldBlock:
                    isGone = now - peer.since > limits.age
                    break sending
                case .unreachable, .failed:
                    isGone = true
                    break sending
                }
            }
            let left = peer.acks.count - peer.head
            if left == 0 || isGone {
                count -= left
                bytes -= peer.bytes
                dropped += left
            } else {
                // The producer has read something, so its age starts again.
                let lives = peer.head > 0
                peers[identity] = Peer(
                    acks: lives ? Array(peer.acks[peer.head...]) : peer.acks, bytes: peer.bytes,
                    since: lives ? now : peer.since)
            }
        }
        return (sent, dropped)
    }

    mutating func removeAll() -> Int {
        defer { self = WaitingAcks(limits) }
        return count
    }
}
