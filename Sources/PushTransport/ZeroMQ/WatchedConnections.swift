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
        /// Those that have brought the most without a message coming out, the worst first.
        var hoarding: [CInt] = []
    }

    private struct Connection {
        var goneSince: MonotonicTime?
        /// What it had brought when a message of it last came out: all that came before has come out by then.
        var seen: UInt64 = 0
        var hasSpoken = false
    }

    private let limits: ZMQDoorLimits
    private var connections: [CInt: Connection] = [:]
    /// Whether any had brought bytes worth speaking of at the last look, without a message coming out.
    private(set) var isHoarding = false

    init(limits: ZMQDoorLimits) {
        self.limits = limits
    }

    var descriptors: [CInt] { Array(connections.keys) }

    /// False if it is known already.
    mutating func opened(_ descriptor: CInt) -> Bool {
        connections.updateValue(Connection(), forKey: descriptor) == nil
    }

    /// False if it is not known.
    mutating func ended(_ descriptor: CInt) -> Bool {
        connections.removeValue(forKey: descriptor) != nil
    }

    /// All of them have ended. Returns how many there were.
    mutating func endedAll() -> Int {
        defer {
            connections = [:]
            isHoarding = false
        }
        return connections.count
    }

    /// A message of it has come out of the socket.
    mutating func spoke(_ descriptor: CInt) {
        connections[descriptor]?.hasSpoken = true
    }

    /// - Parameters:
    ///   - isRead: false while the socket is left unread. Then each connection may fill its queue, and only what they
    ///     hold together counts.
    ///   - isTight: whether memory runs out by their doing: then nobody may hoard.
    mutating func look(
        _ readings: [Reading], at now: MonotonicTime, isRead: Bool = true, isTight: Bool = false
    ) -> Findings {
        var findings = Findings()
        var unread: [(descriptor: CInt, bytes: UInt64)] = []
        var total: UInt64 = 0
        for reading in readings {
            guard var connection = connections[reading.descriptor] else { continue }
            connection.goneSince = reading.peerIsGone && isRead ? connection.goneSince ?? now : nil
            if let since = connection.goneSince, now - since >= limits.patience { findings.stuck += 1 }
            if let received = reading.received {
                if connection.hasSpoken || received < connection.seen { connection.seen = received }
                let bytes = received - connection.seen
                if bytes > limits.hoardAtLeast { unread.append((reading.descriptor, bytes)) }
                total &+= bytes
            }
            connection.hasSpoken = false
            connections[reading.descriptor] = connection
        }
        isHoarding = !unread.isEmpty
        unread.sort { $0.bytes > $1.bytes }
        for one in unread where isTight || total > limits.hoardTogether || isRead && one.bytes > limits.hoard {
            findings.hoarding.append(one.descriptor)
            total &-= one.bytes
        }
        return findings
    }
}
