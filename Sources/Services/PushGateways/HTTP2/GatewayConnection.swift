package import PushLogic
import PushLoop
package import PushModel
package import PushTime
package import PushTransport

/// One HTTP/2 session with TLS to the push service: an actor on a loop around a `ConnectionMachine`.
///
/// A connection is used once. When it has closed, it is replaced and not opened again.
package actor GatewayConnection: PushConnection {
    package struct Settings: Sendable {
        /// Makes the writer of a connection, whose first token it gets.
        package var writer: @Sendable (ProviderToken?) -> any RequestWriter
        package var tls: TLSContext
        package var resolver: NameResolver
        package var wallClock: @Sendable () -> WallTime
        package var machine = ConnectionMachine.Settings()
        package var http2 = HTTP2ClientConnection.Options()

        package init(
            tls: TLSContext, resolver: NameResolver, wallClock: @escaping @Sendable () -> WallTime,
            writer: @escaping @Sendable (ProviderToken?) -> any RequestWriter
        ) {
            self.writer = writer
            self.tls = tls
            self.resolver = resolver
            self.wallClock = wallClock
        }
    }

    package nonisolated let id: ConnectionID
    private nonisolated let loop: EventLoop
    private var session: GatewaySession?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Starts to connect. May be called on any thread.
    package init(_ request: ConnectionRequest, settings: Settings) {
        id = request.id
        loop = request.loop
        onLoop { $0.session = GatewaySession(request, settings: settings) }
    }

    package nonisolated func deliver(_ deliveries: [Delivery]) {
        onLoop { $0.session?.deliver(deliveries) }
    }

    package nonisolated func use(_ token: ProviderToken) {
        onLoop { $0.session?.use(token) }
    }

    package nonisolated func drain() {
        onLoop { $0.session?.drain() }
    }

    package nonisolated func recall(_ number: UInt64) {
        onLoop { $0.session?.recall(number) }
    }

    package nonisolated func giveBack() {
        onLoop { $0.session?.giveBack() }
    }

    package nonisolated func close() {
        onLoop { $0.session?.close() }
    }

    package nonisolated func ping() {
        onLoop { $0.session?.ping() }
    }

    package func status() -> ConnectionStatus {
        session?.status ?? ConnectionStatus(id: id, state: .connecting, age: .zero)
    }

    /// Runs work on the loop in the order of the calls. It never runs within the caller's turn, because the session may
    /// be reporting to the caller.
    private nonisolated func onLoop(_ work: @escaping @Sendable (isolated GatewayConnection) -> Void) {
        loop.execute { self.assumeIsolated { work($0) } }
    }
}
