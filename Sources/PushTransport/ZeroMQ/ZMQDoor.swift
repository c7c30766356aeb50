import PushLoop

/// Counts the connections of bound sockets, and leaves new ones waiting in the kernel while there are too many.
///
/// libzmq itself accepts whatever comes until the process has no descriptors left, and then tries without a pause. So
/// there must be fewer connections than descriptors; and since the counting lags behind libzmq's own thread by a moment,
/// clearly fewer.
///
/// Confined to the loop of its sockets. It is the monitor of each, so nobody else may be.
package final class ZMQDoor {
    package private(set) var gate: ConnectionGate
    private var sockets: [WeakSocket] = []
    private let changed: (ConnectionGate) -> Void

    private struct WeakSocket {
        weak var socket: ZMQSocket?
    }

    /// - Parameter changed: called when the gate was closed or opened.
    package init(most: Int, changed: @escaping (ConnectionGate) -> Void = { _ in }) {
        gate = ConnectionGate(most: most)
        self.changed = changed
    }

    /// Watches a socket from now on. Before it is bound, or connections are missed.
    package func watch(_ socket: ZMQSocket) throws(ZMQError) {
        sockets.removeAll { $0.socket.map(\.isClosed) ?? true }
        sockets.append(WeakSocket(socket: socket))
        // Of this socket: with it they are gone, whether or not libzmq tells of each.
        var own = 0
        try socket.monitor { [weak self] event in
            guard let self else { return }
            switch event.kind {
            case .accepted:
                own += 1
                if gate.opened() { set() }
            case .disconnected where own > 0:
                own -= 1
                if gate.ended() { set() }
            case .listening:
                // Bound again while the gate is closed.
                if gate.isClosed { socketsAccept(false) }
            case .stopped:
                var opens = false
                while own > 0 {
                    own -= 1
                    opens = gate.ended() || opens
                }
                if opens { set() }
            default: break
            }
        }
    }

    private func set() {
        socketsAccept(!gate.isClosed)
        changed(gate)
    }

    private func socketsAccept(_ accept: Bool) {
        for one in sockets { one.socket?.isAccepting = accept }
    }
}
