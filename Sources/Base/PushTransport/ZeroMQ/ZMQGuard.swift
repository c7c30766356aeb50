private import CLinux
import Glibc
import PushLoop

/// A guard of bound sockets: it counts their connections, leaves new ones waiting in the kernel while there are too
/// many, and ends connections that exceed their limits.
///
/// libzmq itself accepts connections until the process has no descriptors left, and then retries in a busy loop. So the
/// limit of connections must be lower than that of descriptors, and clearly lower, because the count lags slightly
/// behind libzmq's own thread.
///
/// Confined to the loop of its sockets. It is the monitor of each socket, so they cannot have another one.
package final class ZMQGuard {
    package enum Event: Hashable, Sendable {
        /// The gate was closed or opened.
        case gate(ConnectionGate)
        /// The given number of connections were stuck, and all connections of their socket were ended. The clients
        /// reconnect.
        case endedStuck(Int)
        /// A client was disconnected because it sent too much without completing a message, or while the socket was not
        /// read.
        case endedHoarding(address: String)
        /// libzmq itself refused a client in the handshake, without a question to the ``ZAPHandler``.
        case refusedHandshake(ZMQRefusedHandshake)
        /// The socket could not be bound after stuck connections were ended. The guard tries again.
        case cannotBind(ZMQError)
    }

    package private(set) var gate: ConnectionGate
    private var watched: [Watched] = []
    private let limits: ZMQConnectionLimits
    private let report: (Event) -> Void
    private var isCheckScheduled = false
    private var memoryGrowth: MemoryGrowthDetector
    /// Whether hoarding connections were ended and their memory must be returned to the system. Otherwise it would
    /// count as ordinary memory of the process, and the next hoarders could use as much again.
    private var hasEndedHoarders = false

    private final class Watched {
        weak var socket: ZMQSocket?
        var connections: WatchedConnections
        var isUnbound = false
        /// Whether the socket is not read and holds the maximum. New connections are then not accepted.
        var isFull = false
        /// Why the handshake failed whose connection is reported as ended next.
        var failure: ZMQRefusedHandshake.Cause?

        init(_ socket: ZMQSocket, limits: ZMQConnectionLimits) {
            self.socket = socket
            connections = WatchedConnections(limits: limits)
        }
    }

    /// - Parameter report: Called on the loop.
    package init(limits: ZMQConnectionLimits, report: @escaping (Event) -> Void = { _ in }) {
        gate = ConnectionGate(maxOpen: limits.connections)
        memoryGrowth = MemoryGrowthDetector(growth: limits.growth)
        self.limits = limits
        self.report = report
    }

    /// Starts to watch a socket. Call it before the socket is bound, or connections are missed.
    package func watch(_ socket: ZMQSocket) throws(ZMQError) {
        watched.removeAll { $0.socket.map(\.isClosed) ?? true }
        let one = Watched(socket, limits: limits)
        watched.append(one)
        socket.onSender = { [weak one] descriptor, bytes in one?.connections.countRead(bytes, from: descriptor) }
        try socket.monitor { [weak self] event in self?.take(event, of: one) }
    }

    /// Returns the number of open connections of a socket that libzmq has reported.
    package func open(of socket: ZMQSocket) -> Int {
        watched.first { $0.socket === socket }?.connections.descriptors.count ?? 0
    }

    private func take(_ event: ZMQMonitorEvent, of one: Watched) {
        switch event.kind {
        case .accepted:
            guard let descriptor = event.descriptor,
                one.connections.opened(descriptor, from: SocketAddress.peer(of: descriptor))
            else { return }
            if let socket = one.socket { scheduleCheck(on: socket.loop) }
            if gate.opened() { gateChanged() }
        case .handshakeSucceeded, .handshakeFailedAuthentication, .handshakeFailedNoDetail:
            one.connections.handshakeEnded()
        case .handshakeFailedProtocol(let code):
            one.connections.handshakeEnded()
            one.failure = ZMQRefusedHandshake.Cause(code)
        case .disconnected:
            reportRefusal(of: event.descriptor, of: one)
            if let descriptor = event.descriptor, one.connections.ended(descriptor), gate.ended() { gateChanged() }
        case .listening:
            // The socket was bound again while the gate is closed.
            setAccepting()
        // The connections end with the listener or the socket, even if libzmq does not report each of them.
        case .closed, .stopped:
            var opens = false
            for _ in 0..<one.connections.endedAll() { opens = gate.ended() || opens }
            if opens { gateChanged() }
        default: break
        }
    }

    /// Reports a connection that ends because libzmq refused its handshake.
    private func reportRefusal(of descriptor: CInt?, of one: Watched) {
        let isOther = descriptor.map { one.connections.isBeforeHandshake($0) } ?? false
        // Without a domain, libzmq also accepts clients of ZMTP 1 and 2, and does not report that they are ready.
        guard let socket = one.socket, !socket.domain.isEmpty,
            let cause = one.failure.take() ?? (isOther ? .otherProtocol : nil)
        else { return }
        let peer = descriptor.flatMap { one.connections.peer(of: $0) }
        report(.refusedHandshake(ZMQRefusedHandshake(domain: socket.domain, address: peer?.ip, cause: cause)))
    }

    private func gateChanged() {
        setAccepting()
        report(.gate(gate))
    }

    private func setAccepting() {
        for one in watched { one.socket?.isAccepting = !gate.isClosed && !one.isFull }
    }

    // MARK: Periodic checks

    /// Schedules the next check. The checks continue as long as there are connections.
    private func scheduleCheck(on loop: EventLoop) {
        guard !isCheckScheduled else { return }
        isCheckScheduled = true
        loop.schedule(after: limits.interval) { [weak self] in
            guard let self else { return }
            isCheckScheduled = false
            // The loop is not captured, because it retains its timers.
            guard let loop = watched.lazy.compactMap({ $0.socket?.loop }).first else { return }
            // libzmq has freed the memory since the last check. Returning it to the system blocks, so it does not run
            // on the loop.
            if hasEndedHoarders { _ = NamedThread(named: "give-back") { CLinux_return_free_memory() } }
            hasEndedHoarders = false
            let isTight = isTight()
            for one in watched { check(one, isTight: isTight, now: loop.now) }
            if gate.open > 0 || watched.contains(where: { $0.isUnbound || $0.isFull }) { scheduleCheck(on: loop) }
        }
    }

    /// Returns whether the connections have made the process grow by more than its limit.
    private func isTight() -> Bool {
        guard let memory = ProcessMetrics.residentBytes else { return false }
        return memoryGrowth.isExceeded(by: memory, unread: watched.reduce(0) { $0 + $1.connections.unread })
    }

    private func check(_ one: Watched, isTight: Bool, now: MonotonicTime) {
        guard let socket = one.socket, !socket.isClosed else { return }
        let readings = Self.readings(of: one.connections.descriptors)
        let findings = one.connections.evaluate(readings, at: now, isRead: !socket.isPaused, isTight: isTight)
        let isFull = socket.isPaused && (one.isFull || !findings.hoarding.isEmpty)
        if one.isFull != isFull {
            one.isFull = isFull
            setAccepting()
        }
        for descriptor in findings.hoarding {
            // Without a peer, the connection had ended before its event arrived.
            guard let peer = one.connections.peer(of: descriptor), socket.hangUp(on: descriptor, from: peer) else {
                continue
            }
            hasEndedHoarders = true
            report(.endedHoarding(address: peer.description))
        }
        guard one.isUnbound || findings.stuck >= limits.stuck else { return }
        let wasReported = one.isUnbound
        do throws(ZMQError) {
            one.isUnbound = true
            guard try socket.bindAnew() else { return one.isUnbound = false }
            one.isUnbound = false
            report(.endedStuck(findings.stuck))
        } catch {
            if !wasReported { report(.cannotBind(error)) }
        }
    }

    /// `POLLRDHUP` from bits/poll.h: the peer has closed the connection or its sending side.
    private static let readHangUp: Int16 = 0x2000

    /// Asks the kernel for the state of the descriptors. libzmq may have closed a descriptor meanwhile and reused its
    /// number for another connection. The next check corrects such a reading, and the other connection is not hung up
    /// on, because it has another peer.
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
