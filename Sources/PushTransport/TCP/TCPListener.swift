import Glibc
package import PushLoop

/// A listener that accepts TCP connections on a loop. Confined to that loop.
package final class TCPListener {
    /// The maximum number of accepted connections per event, so that a flood of connections does not delay the open
    /// ones.
    private static let acceptsPerTurn = 64

    package let address: SocketAddress
    private let loop: EventLoop
    private var socket: Socket
    private var watch: Watch?
    private let accepted: (consuming Socket) -> Void

    /// Binds and listens. Port 0 selects any free port; ``address`` contains the chosen one.
    package init(
        on loop: EventLoop, at endpoint: HostPort, backlog: CInt = 1024, accepted: @escaping (consuming Socket) -> Void
    ) throws(TCPError) {
        let host = endpoint.host == "localhost" ? "127.0.0.1" : endpoint.host
        guard let wanted = SocketAddress(ip: host, port: endpoint.port) else {
            throw TCPError(
                .badAddress, message: "cannot listen on \(endpoint): give a numeric address such as 127.0.0.1 or ::1")
        }
        do throws(SystemError) {
            let socket = try Socket.listening(at: wanted, backlog: backlog)
            guard let bound = SocketAddress.local(of: socket.descriptor) else { throw SystemError.current }
            self.socket = socket
            address = bound
        } catch {
            throw TCPError(listening: endpoint, error: error)
        }
        self.loop = loop
        self.accepted = accepted
        let watch = Watch(socket.descriptor, on: loop) { [unowned self] _ in acceptWaiting() }
        watch.interest = .readable
        self.watch = watch
    }

    /// Stops accepting. Accepted connections stay open. May be called twice.
    package func close() {
        watch?.cancel()
        watch = nil
        socket.close()
    }

    deinit {
        precondition(watch == nil, "a listener must be closed before it is released")
    }

    /// Whether accepting is paused. New connections then wait in the kernel, for example while there are too many.
    package var isPaused = false {
        didSet { watch?.interest = isPaused ? [] : .readable }
    }

    private func acceptWaiting() {
        for _ in 0..<Self.acceptsPerTurn where watch != nil && !isPaused {
            do {
                guard let connection = try socket.accept() else { return }
                connection.sendWithoutDelay()
                accepted(connection)
            } catch {
                // Out of descriptors or memory. The connections wait in the kernel. An immediate retry would only keep
                // the loop busy, so wait for open connections to end.
                isPaused = true
                loop.schedule(after: .milliseconds(100)) { [weak self] in
                    guard let self, watch != nil else { return }
                    isPaused = false
                }
                return
            }
        }
    }
}
