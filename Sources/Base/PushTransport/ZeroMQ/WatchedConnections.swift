import PushLoop

/// The state of all connections of one socket, as far as its guard knows it, and the decision which of them to end. libzmq
/// (4.3.4 and 4.3.5) has no limit for either of these:
///
/// - A connection may be **stuck**. A ROUTER that lets a new connection take over the routing id of an old one ends the
///   old queue, but not the old connection. If the old peer then sends anything, libzmq cannot deliver it and stops
///   reading, so it never learns that the peer has disconnected: the descriptor stays open until the socket unbinds.
///   Restarts of producers with fixed routing ids occasionally cause this, and a malicious peer can cause any number.
/// - A connection may **hoard**. libzmq keeps all frames of a message that does not end, and a socket that is not read
///   keeps as many messages as its high-water mark allows, of any size.
///
/// The hoard of a connection is the number of bytes that the kernel has received for it, minus the size of its messages
/// that came out of the socket. A message that comes out only accounts for itself, because a peer may send one message
/// and start an endless one after it.
struct WatchedConnections {
    /// The state of a connection in the kernel.
    struct Reading {
        let descriptor: CInt
        let peerIsGone: Bool
        /// The number of bytes received so far, or nil if the kernel does not count them.
        let received: UInt64?
    }

    /// A connection that holds bytes which have not come out.
    private struct Holder {
        let descriptor: CInt
        let bytes: Int
        /// Whether no message came out since the last check.
        let isSilent: Bool
    }

    struct Findings: Equatable {
        var stuck = 0
        /// The connections that hold the most, largest first. Each connection is found only once.
        var hoarding: [CInt] = []
    }

    private let limits: ZMQConnectionLimits
    private var connections: [CInt: WatchedConnection] = [:]
    /// The bytes of messages that came out since the last check, indexed by descriptor. It is an array because every
    /// message is counted.
    private var read: [Int] = []
    /// The bytes that connections held at the last check, without heartbeats.
    private(set) var unread = 0
    /// The number of handshakes of which libzmq has reported how they ended.
    private var endedHandshakes: UInt64 = 0

    init(limits: ZMQConnectionLimits) {
        self.limits = limits
    }

    var descriptors: [CInt] { Array(connections.keys) }

    /// Returns the peer of a connection, or nil if the connection is unknown.
    func peer(of descriptor: CInt) -> SocketAddress? { connections[descriptor]?.peer }

    /// Adds a connection. Returns false if it is already known.
    mutating func opened(_ descriptor: CInt, from peer: SocketAddress? = nil) -> Bool {
        connections.updateValue(
            WatchedConnection(peer: peer, endedHandshakes: endedHandshakes), forKey: descriptor) == nil
    }

    /// Counts a handshake that succeeded or failed. libzmq does not report the connection.
    mutating func handshakeEnded() { endedHandshakes &+= 1 }

    /// Returns whether no handshake has ended since a connection was accepted, so that its own did not, either.
    ///
    /// libzmq ends a connection without a report of its handshake if the client does not speak ZMTP 3. Another client
    /// whose handshake ends in the same moment hides this.
    func isBeforeHandshake(_ descriptor: CInt) -> Bool {
        connections[descriptor].map { $0.endedHandshakes == endedHandshakes } ?? false
    }

    /// Removes a connection. Returns false if it is unknown.
    mutating func ended(_ descriptor: CInt) -> Bool {
        _ = takeRead(of: descriptor)
        return connections.removeValue(forKey: descriptor) != nil
    }

    /// Removes all connections and returns their number.
    mutating func endedAll() -> Int {
        defer {
            connections = [:]
            read = []
            unread = 0
        }
        return connections.count
    }

    /// Counts a message that came out of the socket. Its connection may still be unknown, because its first messages
    /// can arrive before the monitor event.
    ///
    /// - Parameter bytes: The size of the message on the wire, or less.
    mutating func countRead(_ bytes: Int, from descriptor: CInt) {
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

    /// Evaluates the readings of all connections.
    ///
    /// A connection whose messages come out is being read, and may have any number of messages on their way. It counts
    /// for the total, in which the connections that hold the most are ended.
    ///
    /// - Parameters:
    /// - isRead: False while the socket is not read. Each connection may then fill its queue, and only the total
    ///   counts.
    /// - isTight: Whether the connections have made the process use too much memory. The total of the silent ones is
    ///   then limited to what is harmless, and bytes that arrived slowly do not count.
    mutating func evaluate(
        _ readings: [Reading], at now: MonotonicTime, isRead: Bool = true, isTight: Bool = false
    ) -> Findings {
        var findings = Findings()
        var holders: [Holder] = []
        unread = 0
        for reading in readings {
            guard var connection = connections[reading.descriptor] else { continue }
            connection.goneSince = reading.peerIsGone && isRead ? connection.goneSince ?? now : nil
            if let since = connection.goneSince, now - since >= limits.patience { findings.stuck += 1 }
            let read = takeRead(of: reading.descriptor)
            if let received = reading.received {
                connection.count(received: Int(clamping: received), read: read)
                // A connection that was hung up on receives no more, even if libzmq has not noticed its end yet.
                if !connection.isEnded {
                    unread += connection.unread
                    let bytes = isTight || read > 0 ? connection.unread : connection.held
                    if bytes > 0 {
                        holders.append(Holder(descriptor: reading.descriptor, bytes: bytes, isSilent: read == 0))
                    }
                }
            }
            connections[reading.descriptor] = connection
        }
        findings.hoarding = hoarders(among: &holders, isRead: isRead, isTight: isTight)
        for descriptor in findings.hoarding {
            unread -= connections[descriptor]?.unread ?? 0
            connections[descriptor]?.isEnded = true
        }
        return findings
    }

    /// Returns the holders that must be ended, so that the others are within the limits.
    private func hoarders(among holders: inout [Holder], isRead: Bool, isTight: Bool) -> [CInt] {
        var total = holders.reduce(0) { $0 + $1.bytes }
        var silent = holders.reduce(0) { $0 + ($1.isSilent ? $1.bytes : 0) }
        let together = isTight ? limits.harmless : limits.maxHeldTogether
        guard total > limits.maxHeldTogether || silent > min(together, limits.maxHeld) else { return [] }
        holders.sort { $0.bytes > $1.bytes }
        var hoarders: [CInt] = []
        for one in holders {
            let isSilentHoarder = one.isSilent && (silent > together || isRead && one.bytes > limits.maxHeld)
            guard isSilentHoarder || total > limits.maxHeldTogether else { continue }
            hoarders.append(one.descriptor)
            total -= one.bytes
            if one.isSilent { silent -= one.bytes }
        }
        return hoarders
    }
}

/// The accounting of one watched connection.
struct WatchedConnection {
    /// The peer at the time when the connection was accepted.
    let peer: SocketAddress?
    /// The number of handshakes of the socket that had ended when the connection was accepted.
    let endedHandshakes: UInt64
    var goneSince: MonotonicTime?
    /// Whether the connection was found hoarding and was hung up on.
    var isEnded = false
    private var received = 0
    private var balance = -Self.handshake
    private var trickled = 0

    /// The bytes that are not part of a message: the handshake, and other traffic that libzmq handles internally.
    private static let handshake = 1024
    /// An upper bound of the heartbeats between two checks, with encryption.
    private static let heartbeat = 64

    init(peer: SocketAddress?, endedHandshakes: UInt64) {
        self.peer = peer
        self.endedHandshakes = endedHandshakes
    }

    /// The bytes that were received and have not come out.
    var unread: Int { max(0, balance) }

    /// The same plus the bytes that arrived slowly since the last message came out: heartbeats, or a message that a
    /// peer sends very slowly.
    var held: Int { unread + trickled }

    /// Updates the counts.
    ///
    /// - Parameters:
    /// - received: The number of bytes received so far.
    /// - read: The number of message bytes that came out since the last call.
    mutating func count(received now: Int, read: Int) {
        guard now >= received else {
            // Another connection has this descriptor now. Its monitor event has not arrived yet.
            (received, balance, trickled) = (now, -Self.handshake, 0)
            return
        }
        let brought = now - received
        received = now
        if read > 0 {
            trickled = 0
            // Allow for one heartbeat between messages.
            balance -= Self.heartbeat
        } else if brought <= Self.heartbeat {
            trickled += brought
            return
        }
        balance = max(balance + brought - read, -Self.handshake)
    }
}
