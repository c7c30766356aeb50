import Glibc
package import PushLoop

/// A listener that accepts TCP connections, or those of a Unix socket, on a loop. Confined to that loop.
package final class TCPListener {
    /// The maximum number of accepted connections per event, so that a flood of connections does not delay the open
    /// ones.
    private static let acceptsPerTurn = 64

    /// The time without accepts after one has failed.
    private static let pauseAfterFailure: Duration = .milliseconds(100)

    package let address: SocketAddress
    private let loop: EventLoop
    private var socket: Socket
    private var watch: Watch?
    private let accepted: (consuming Socket) -> Void
    /// Called when an accept has failed.
    private let failed: () -> Void
    private var hasFailed = false {
        didSet { updateInterest() }
    }

    /// Binds and listens. Port 0 selects any free port; ``address`` contains the chosen one.
    package convenience init(
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
            self.init(on: loop, listening: socket, at: bound, accepted: accepted)
        } catch {
            throw TCPError(listening: endpoint, error: error)
        }
    }

    /// Accepts the connections of a socket that listens already.
    init(
        on loop: EventLoop, listening socket: consuming Socket, at address: SocketAddress,
        failed: @escaping () -> Void = {}, accepted: @escaping (consuming Socket) -> Void
    ) {
        let descriptor = socket.descriptor
        self.socket = socket
        self.address = address
        self.loop = loop
        self.accepted = accepted
        self.failed = failed
        let watch = Watch(descriptor, on: loop) { [unowned self] _ in acceptWaiting() }
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
        didSet { updateInterest() }
    }

    private func updateInterest() {
        watch?.interest = isPaused || hasFailed ? [] : .readable
    }

    private func acceptWaiting() {
        for _ in 0..<Self.acceptsPerTurn where watch != nil && !isPaused && !hasFailed {
            do {
                guard let connection = try socket.accept() else { return }
                connection.sendWithoutDelay()
                accepted(connection)
            } catch {
                // Out of descriptors or memory. The connections wait in the kernel. An immediate retry would only keep
                // the loop busy, so wait for open connections to end.
                hasFailed = true
                loop.schedule(after: Self.pauseAfterFailure) { [weak self] in self?.hasFailed = false }
                failed()
                return
            }
        }
    }
}
