import PushTime
import PushTransport

/// Answers to producers that do not read them as fast as they ask. Bounded; what is too much or too old is given up, and
/// the producer asks again: that is the protocol.
struct WaitingAcks {
    struct Ack {
        let kind: StaticString
        let hasDelimiter: Bool
        let text: [UInt8]
    }

    private struct Peer {
        var acks: [Ack]
        /// The first that has not gone out.
        var head = 0
        var bytes: Int
        let since: MonotonicTime
    }

    struct Limits {
        var acks = 20_000
        var bytes = 16 << 20
        /// After that its producer has asked again, or given up.
        var age = Duration.seconds(30)
        /// What one producer may hold of the whole: one that does not read leaves room for others.
        var share = 4
    }

    private let limits: Limits
    /// By routing id.
    private var peers: [[UInt8]: Peer] = [:]
    private(set) var count = 0
    private(set) var bytes = 0

    init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    var isEmpty: Bool { count == 0 }

    /// Whether answers to it wait: later ones wait behind them.
    func holds(_ identity: [UInt8]) -> Bool { peers[identity] != nil }

    /// False when there is no room.
    mutating func add(_ ack: Ack, for identity: [UInt8], now: MonotonicTime) -> Bool {
        let size = ack.text.count
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

    /// Tries each producer until it takes no more. Returns how many went out, and how many were given up.
    mutating func retry(now: MonotonicTime, send: ([UInt8], Ack) -> ZMQSendResult) -> (sent: Int, dropped: Int) {
        var (sent, dropped) = (0, 0)
        for identity in Array(peers.keys) {
            guard var peer = peers[identity].take() else { continue }
            var isGone = false
            sending: while peer.head < peer.acks.count {
                switch send(identity, peer.acks[peer.head]) {
                case .sent:
                    count -= 1
                    bytes -= peer.acks[peer.head].text.count
                    peer.bytes -= peer.acks[peer.head].text.count
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
                // What went out counts as a sign of life.
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
