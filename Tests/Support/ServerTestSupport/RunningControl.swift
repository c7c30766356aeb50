import Glibc
package import PushAPI
package import PushLoop
package import PushTransport
package import TestSupport

/// A control server with scripted gateways, in its own directory and on its own loop.
package struct RunningControl: Sendable {
    package let directory: TemporaryDirectory
    package let loop: EventLoop
    package let server: APIServer
    package let gateways: ScriptedGateways

    package var data: String { "\(directory.path)/data" }
    /// A client whose deadline is long enough for a machine that is busy with other tests.
    package var client: APIClient { APIClient(dataDirectory: data, deadline: .seconds(120)) }

    package func raw() throws -> RawClient { try RawClient(unixSocket: server.address) }
}

package func withControl(
    limits: HTTP1Limits = .controlSocket, clock: LoopClock = .monotonic,
    more endpoints: (EventLoop) -> [AnyEndpoint] = { _ in [] },
    body: (RunningControl) async throws -> Void
) async throws {
    let directory = try TemporaryDirectory()
    let data = "\(directory.path)/data"
    guard mkdir(data, 0o700) == 0 else { throw SystemError.current }
    let loop = EventLoop(name: "control-test", clock: clock)
    let gateways = ScriptedGateways()
    let server = try await APIServer(
        at: .socket(path: "\(data)/\(ControlSocket.fileName)"), on: loop, limits: limits,
        table: EndpointTable(GatewayEndpoints.all(gateways) + endpoints(loop)), access: ControlAccess())
    do {
        try await body(RunningControl(directory: directory, loop: loop, server: server, gateways: gateways))
    } catch {
        await server.stop(within: .zero)
        await loop.shutDown()
        throw error
    }
    await server.stop(within: .zero)
    await loop.shutDown()
}
