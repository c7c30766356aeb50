private import CLinux
import Glibc
import PushLoop

/// Counts the connections of bound sockets, leaves new ones waiting in the kernel while there are too many, and ends
/// those that take more than they may.
///
/// libzmq itself accepts whatever comes until the process has no descriptors left, and then tries without a pause. So
/// there must be fewer connections than descriptors; and since the counting lags behind libzmq's own thread by a moment,
/// clearly fewer.
///
/// Confined to the loop of its sockets. It is the monitor of each, so nobody else may be.
package final class ZMQDoor {
    package enum News: Hashable, Sendable {
        /// The gate was closed or opened.
        case gate(ConnectionGate)
        /// So many connections were stuck, and all connections of their socket were ended. The clients connect again.
        case endedStuck(Int)
        /// A client was hung up on: it sent so much without a message coming to its end, or being read.
        case endedHoarder(address: String)
        /// The socket could not be bound after stuck connections were ended. The door tries again.
        case cannotBind(ZMQError)
    }

    package private(set) var gate: ConnectionGate
    private var watched: [Watched] = []
    private let limits: ZMQDoorLimits
    private let tell: (News) -> Void
    private var isLooking = false
    private var calmMemory: CalmMemory
    /// What they held is to go back to the system, or it would pass for what the process takes by itself, and the next
    /// ones could have as much on top of it.
    private var hasEndedHoarders = false

    private final class Watched {
        weak var socket: ZMQSocket?
        var connections: WatchedConnections
        var isUnbound = false
        /// Left unread, with as much as it may hold: nobody else is let in.
        var isFull = false

        init(_ socket: ZMQSocket, limits: ZMQDoorLimits) {
            self.socket = socket
            connections = WatchedConnections(limits: limits)
        }
    }

    /// - Parameter tell: called on the loop.
    package init(limits: ZMQDoorLimits, tell: @escaping (News) -> Void = { _ in }) {
        gate = ConnectionGate(most: limits.connections)
        calmMemory = CalmMemory(growth: limits.growth)
        self.limits = limits
        self.tell = tell
    }

    /// Watches a socket from now on. Before it is bound, or connections are missed.
    package func watch(_ socket: ZMQSocket) throws(ZMQError) {
        watched.removeAll { $0.socket.map(\.isClosed) ?? true }
        let one = Watched(socket, limits: limits)
        watched.append(one)
        socket.onSender = { [weak one] descriptor, bytes in one?.connections.spoke(descriptor, bytes: bytes) }
        try socket.monitor { [weak self] event in self?.take(event, of: one) }
    }

    /// The open connections of one of its sockets, as far as libzmq has told of them.
    package func open(of socket: ZMQSocket) -> Int {
        watched.first { $0.socket === socket }?.connections.descriptors.count ?? 0
    }

    private func take(_ event: ZMQMonitorEvent, of one: Watched) {
        switch event.kind {
        case .accepted:
            guard let descriptor = event.descriptor,
                one.connections.opened(descriptor, from: SocketAddress.peer(of: descriptor))
            else { return }
            if let socket = one.socket { lookLater(on: socket.loop) }
            if gate.opened() { set() }
        case .disconnected:
            if let descriptor = event.descriptor, one.connections.ended(descriptor), gate.ended() { set() }
        case .listening:
            // Bound again while the gate is closed.
            setAccepting()
        // With the listener or the socket they are gone, whether or not libzmq tells of each.
        case .closed, .stopped:
            var opens = false
            for _ in 0..<one.connections.endedAll() { opens = gate.ended() || opens }
            if opens { set() }
        default: break
        }
    }

    private func set() {
        setAccepting()
        tell(.gate(gate))
    }

    private func setAccepting() {
        for one in watched { one.socket?.isAccepting = !gate.isClosed && !one.isFull }
    }

    // MARK: Looking at connections

    /// As long as there are any.
    private func lookLater(on loop: EventLoop) {
        guard !isLooking else { return }
        isLooking = true
        loop.schedule(after: limits.interval) { [weak self] in
            guard let self else { return }
            isLooking = false
            // Not captured: the loop holds its timers.
            guard let loop = watched.lazy.compactMap({ $0.socket?.loop }).first else { return }
            // libzmq has freed it since the look before. Not on the loop: it blocks.
            if hasEndedHoarders { _ = NamedThread(named: "give-back") { CLinux_return_free_memory() } }
            hasEndedHoarders = false
            let isTight = isTight()
            for one in watched { look(at: one, isTight: isTight, now: loop.now) }
            if gate.open > 0 || watched.contains(where: { $0.isUnbound || $0.isFull }) { lookLater(on: loop) }
        }
    }

    /// Whether the process has grown by more than it may on account of what connections hold.
    private func isTight() -> Bool {
        guard let memory = ProcessMetrics.residentBytes else { return false }
        return calmMemory.isExceeded(by: memory, unread: watched.reduce(0) { $0 + $1.connections.unread })
    }

    private func look(at one: Watched, isTight: Bool, now: MonotonicTime) {
        guard let socket = one.socket, !socket.isClosed else { return }
        let readings = Self.readings(of: one.connections.descriptors)
        let findings = one.connections.look(readings, at: now, isRead: !socket.isPaused, isTight: isTight)
        let isFull = socket.isPaused && (one.isFull || !findings.hoarding.isEmpty)
        if one.isFull != isFull {
            one.isFull = isFull
            setAccepting()
        }
        for descriptor in findings.hoarding {
            // Without a peer it was gone before it was known.
            guard let peer = one.connections.peer(of: descriptor), socket.hangUp(on: descriptor, from: peer) else {
                continue
            }
            hasEndedHoarders = true
            tell(.endedHoarder(address: peer.description))
        }
        guard one.isUnbound || findings.stuck >= limits.stuck else { return }
        let isTold = one.isUnbound
        do throws(ZMQError) {
            one.isUnbound = true
            guard try socket.bindAnew() else { return one.isUnbound = false }
            one.isUnbound = false
            tell(.endedStuck(findings.stuck))
        } catch {
            if !isTold { tell(.cannotBind(error)) }
        }
    }

    /// `POLLRDHUP` in bits/poll.h: the peer has closed, or will send no more.
    private static let readHangUp: Int16 = 0x2000

    /// Asks the kernel. libzmq may have closed a descriptor by now, and have another connection under its number. What
    /// is said of that one is corrected by the next look, and it is not hung up on: it has another peer.
    private static func readings(of descriptors: [CInt]) -> [WatchedConnections.Reading] {
        var asked = descriptors.map { pollfd(fd: $0, events: readHangUp, revents: 0) }
        _ = unsafe poll(&asked, nfds_t(asked.count), 0)
        return asked.compactMap { answer in
            guard answer.revents & Int16(POLLNVAL) == 0 else { return nil }
            return WatchedConnections.Reading(
                descriptor: answer.fd, peerIsGone: answer.revents != 0,
                received: UInt64(exactly: CLinux_bytes_received(answer.fd)))
        }
    }
}
