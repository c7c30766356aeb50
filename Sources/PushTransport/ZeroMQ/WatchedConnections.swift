import PushLoop

/// What a door knows of the connections of one socket, and which of them are to be ended. libzmq (4.3.4 and 4.3.5) sets
/// bounds to neither of these:
///
/// - A connection may be **stuck**. A ROUTER that lets a new connection take the routing id of an old one ends the old
///   one's queue, but not its connection. When the old peer sends anything after that, libzmq has nowhere to put it,
///   stops reading, and so never learns that the peer has gone: the descriptor is open until the socket unbinds. A roll
///   of producers with fixed routing ids leaves one now and then, and a peer that means harm any number.
/// - A connection may **hoard**. Frames of a message that does not end are all kept, and a socket that is left unread
///   keeps its mark's number of messages of any size.
///
/// What a connection hoards is what the kernel has received by it, less what its messages took that came out of the
/// socket. A message that comes out only pays for itself: a peer may well send one and begin an endless one behind it.
struct WatchedConnections {
    /// The kernel's word on a connection.
    struct Reading {
        let descriptor: CInt
        let peerIsGone: Bool
        /// Bytes that have come by it so far; nil where the kernel does not count.
        let received: UInt64?
    }

    struct Findings: Equatable {
        var stuck = 0
        /// Those that hold the most, the worst first. Each is found once.
        var hoarding: [CInt] = []
    }

    private let limits: ZMQDoorLimits
    private var connections: [CInt: WatchedConnection] = [:]
    /// Bytes of messages that came out since the last look, by descriptor: an array, for every message is counted.
    private var read: [Int] = []
    /// Bytes that connections held at the last look. Heartbeats are not among them.
    private(set) var unread = 0

    init(limits: ZMQDoorLimits) {
        self.limits = limits
    }

    var descriptors: [CInt] { Array(connections.keys) }

    /// The peer of a connection; nil if it is not known.
    func peer(of descriptor: CInt) -> SocketAddress? { connections[descriptor]?.peer }

    /// False if it is known already.
    mutating func opened(_ descriptor: CInt, from peer: SocketAddress? = nil) -> Bool {
        connections.updateValue(WatchedConnection(peer: peer), forKey: descriptor) == nil
    }

    /// False if it is not known.
    mutating func ended(_ descriptor: CInt) -> Bool {
        _ = takeRead(of: descriptor)
        return connections.removeValue(forKey: descriptor) != nil
    }

    /// All of them have ended. Returns how many there were.
    mutating func endedAll() -> Int {
        defer {
            connections = [:]
            read = []
            unread = 0
        }
        return connections.count
    }

    /// A message of it has come out of the socket. Its connection may be known only later: its first messages can come
    /// before the news of it.
    ///
    /// - Parameter bytes: what it took on the wire, or less.
    mutating func spoke(_ descriptor: CInt, bytes: Int) {
        let index = Int(descriptor)
        if index >= read.count {
            guard index >= 0 else { return }
            read.append(contentsOf: repeatElement(0, count: index + 1 - read.count))
        }
        read[index] &+= bytes
    }

    private mutating func takeRead(of descriptor: CInt) -> Int {
        let index = Int(descriptor)
        guard read.indices.contains(index) else { return 0 }
        defer { read[index] = 0 }
        return read[index]
    }

    /// - Parameters:
    ///   - isRead: false while the socket is left unread. Then each connection may fill its queue, and only what they
    ///     hold together counts.
    ///   - isTight: whether memory runs out by their doing: then all together may hold no more than what does no harm.
    ///     What came little by little has no part in that.
    mutating func look(
        _ readings: [Reading], at now: MonotonicTime, isRead: Bool = true, isTight: Bool = false
    ) -> Findings {
        var findings = Findings()
        var silent: [(descriptor: CInt, bytes: Int)] = []
        var total = 0
        unread = 0
        for reading in readings {
            guard var connection = connections[reading.descriptor] else { continue }
            connection.goneSince = reading.peerIsGone && isRead ? connection.goneSince ?? now : nil
            if let since = connection.goneSince, now - since >= limits.patience { findings.stuck += 1 }
            let read = takeRead(of: reading.descriptor)
            if let received = reading.received {
                connection.count(received: Int(clamping: received), read: read)
                // Of one that was hung up on nothing more comes, even if libzmq has not found its end.
                if !connection.isEnded {
                    unread += connection.unread
                    let bytes = isTight ? connection.unread : connection.held
                    // One whose messages come out is being read, however many of them are still to come.
                    if read == 0, bytes > 0 {
                        silent.append((reading.descriptor, bytes))
                        total += bytes
                    }
                }
            }
            connections[reading.descriptor] = connection
        }
        let together = isTight ? limits.harmless : limits.hoardTogether
        if total > min(together, limits.hoard) { silent.sort { $0.bytes > $1.bytes } }
        for one in silent where total > together || isRead && one.bytes > limits.hoard {
            findings.hoarding.append(one.descriptor)
            total -= one.bytes
            unread -= connections[one.descriptor]?.unread ?? 0
            connections[one.descriptor]?.isEnded = true
        }
        return findings
    }
}

/// A connection that is watched, and its books.
struct WatchedConnection {
    /// As it was when the connection was accepted.
    let peer: SocketAddress?
    var goneSince: MonotonicTime?
    /// It was found to hoard, and hung up on.
    var isEnded = false
    private var received = 0
    private var balance = -Self.handshake
    private var trickled = 0

    /// Bytes that no message takes: of the handshake, and of what else libzmq keeps to itself.
    private static let handshake = 1024
    /// Heartbeats take less than this between two looks, with keys as well.
    private static let heartbeat = 64

    init(peer: SocketAddress?) {
        self.peer = peer
    }

    /// Bytes that it has brought, and that have not come out.
    var unread: Int { max(0, balance) }

    /// The same, and what came little by little since a message last came out: heartbeats, or a message that somebody
    /// sends very slowly.
    var held: Int { unread + trickled }

    /// - Parameters:
    ///   - received: bytes that have come by it so far.
    ///   - read: bytes of messages that came out since the last time.
    mutating func count(received now: Int, read: Int) {
        guard now >= received else {
            // It is another connection, which has the descriptor now. The news of it is on the way.
            (received, balance, trickled) = (now, -Self.handshake, 0)
            return
        }
        let brought = now - received
        received = now
        if read > 0 {
            trickled = 0
            // One that came between messages.
            balance -= Self.heartbeat
        } else if brought <= Self.heartbeat {
            trickled += brought
            return
        }
        balance = max(balance + brought - read, -Self.handshake)
    }
}
