package import PushLoop
package import PushTransport

/// The simulated push service on sockets: HTTP/2 over TLS. It belongs to its event loop.
package final class WebPushService {
    package struct Options: Sendable {
        package var host = "127.0.0.1"
        package var port: UInt16 = 0
        package var identity: TLSIdentity
        /// The maximum number of open streams of a connection.
        package var streamLimit: UInt32 = 100

        package init(identity: TLSIdentity) {
            self.identity = identity
        }
    }

    let loop: EventLoop
    let options: Options
    package var machine = WebPushMachine()
    private let tls: TLSContext
    private var listener: TCPListener?
    private var sessions: [ObjectIdentifier: WebPushSession] = [:]

    /// Listens on the port. Must be called on the event loop.
    package init(on loop: EventLoop, options: Options) throws {
        self.loop = loop
        self.options = options
        tls = try .server(TLSServerConfiguration(identity: options.identity, alpn: ["h2"]))
        listener = try TCPListener(on: loop, at: HostPort(host: options.host, port: options.port)) {
            [unowned self] in arrived($0)
        }
        // An address that stands for all of the machine is not one that a sender can connect to.
        let isAny = ["0.0.0.0", "::"].contains(options.host)
        machine.origin = "https://\(HostPort(host: isAny ? "localhost" : options.host, port: port))"
    }

    package var port: UInt16 { listener?.address.port ?? 0 }

    /// Closes the port and all connections at once.
    package func stop() {
        listener?.close()
        listener = nil
        for session in sessions.values { session.abort() }
        sessions = [:]
    }

    package var connectionCount: Int { sessions.count }

    private func arrived(_ socket: consuming Socket) {
        let state = machine.arrive()
        if state.isRefused {
            socket.refuse()
            return
        }
        guard let engine = try? TLSEngine(context: tls, role: .server) else { return }
        let session = WebPushSession(socket, tls: engine, state: state, of: self)
        sessions[ObjectIdentifier(session)] = session
    }

    func ended(_ session: WebPushSession) {
        sessions[ObjectIdentifier(session)] = nil
    }
}
