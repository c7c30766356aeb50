import PushConfiguration
import PushModel
import PushTime
import PushTransport
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI
@testable import PushStore

/// Registration without keys, for apps in the field.
@Suite(.waits) struct LegacyRegistrationTests {
    private static let path = "/old/apns_devices.json"

    /// Admits requests for what is open to all, as a server does without a key.
    private struct OpenAccess: RequestAccess {
        func admit(_ request: HTTP1Request, to operation: Operation) throws(Problem) -> Caller {
            guard operation.access == .open else { throw Problem(.unauthenticated, detail: "no key") }
            return .anyone
        }
    }

    /// Calls `body` with the port of a server without keys.
    private func withPort(_ scene: StoreScene, _ body: (UInt16) async throws -> Void) async throws {
        let legacy = RegisterLegacyDevice(StoreScene.shop, devices: scene.registry, apps: .sample([StoreScene.shop]))
        let server = try await APIServer(
            at: .port(HostPort(host: "127.0.0.1", port: 0), setting: "test", tls: nil), on: scene.loop,
            limits: HTTP1Limits(),
            table: EndpointTable([AnyEndpoint(legacy, as: RegisterLegacyDevice.operation.moved(to: Self.path))]),
            access: OpenAccess())
        let port = try #require(server.address.split(separator: ":").last.flatMap { UInt16($0) })
        do {
            try await body(port)
        } catch {
            await server.stop(within: .zero)
            throw error
        }
        await server.stop(within: .zero)
    }

    private static func form(_ body: String, type: String? = "application/x-www-form-urlencoded; charset=utf-8")
        -> String
    {
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\n" + (type.map { "Content-Type: \($0)\r\n" } ?? "")
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    @Test func `An app without a key registers its token and nothing else`() async throws {
        try await StoreScene.run { scene in
            try await withPort(scene) { port in
                let token = PipelineScene.token(1)
                let id = scene.ledger.identities.device(of: StoreScene.shop, token: token)
                // What else such an app sends is not read.
                let bodies = [
                    "token=\(token.hex)", "token=%3C\(token.hex)%3E&user=eve&tags=vip&model=iPhone4%2C1",
                    "token=zz", "user=eve", "token=\(token.hex)&token=\(token.hex)",
                ]
                let answers = try await scene.clients.run {
                    let client = try RawClient(port: port)
                    return try bodies.map { body in
                        try client.send(Self.form(body))
                        return try client.answer()
                    }
                }
                #expect(answers.map(\.status) == [200, 200, 422, 422, 200])
                #expect(answers[0].text == "{\"change\":\"registered\",\"device\":\"\(id)\"}\n")
                #expect(answers.allSatisfy { !$0.text.contains(token.hex) })
                let device = try await scene.registry.device(id)
                #expect(device?.user == nil && device?.tags == [] && scene.registry.status.registered == 1)
                let other = try await scene.clients.run {
                    let client = try RawClient(port: port)
                    try client.send(Self.form(#"{"token":"aa"}"#, type: "application/json"))
                    return try client.answer().status
                }
                #expect(other == 415)
            }
        }
    }

    @Test func `An address that registers too much has to wait`() async throws {
        try await StoreScene.run { scene in
            try await withPort(scene) { port in
                let answers = try await scene.clients.run {
                    let client = try RawClient(port: port)
                    return try (0..<200).map { number in
                        try client.send(Self.form("token=\(PipelineScene.token(UInt8(number)).hex)"))
                        return try client.answer()
                    }
                }
                let refused = answers.filter { $0.status == 429 }
                let statuses = answers.map(\.status)
                #expect(statuses.prefix(60) == ArraySlice(repeating: 200, count: 60))
                #expect(Set(statuses) == [200, 429])
                #expect(refused.allSatisfy { ($0.header("Retry-After").flatMap { Int($0) } ?? 0) >= 1 })
                #expect(scene.registry.status.registered == 200 - refused.count)
            }
        }
    }

    @Test func `Rates are per network, recover with time, and take bounded memory`() {
        var rates = AddressRates(burst: 3, interval: .seconds(1), limit: 100)
        var now = MonotonicTime(nanoseconds: 5_000_000_000)
        func take(_ host: String) -> Bool {
            rates.take(from: .address(host: host, port: 1), now: now) == nil
        }
        #expect((0..<5).map { _ in take("192.0.2.1") } == [true, true, true, false, false])
        #expect(take("192.0.2.2") && !take("::ffff:192.0.2.1"))
        #expect(rates.take(from: .address(host: "192.0.2.1", port: 2), now: now) == .seconds(1))
        now = now + .seconds(2)
        #expect((0..<3).map { _ in take("192.0.2.1") } == [true, true, false])
        #expect((0..<4).map { take("2001:db8:1:2:\($0)::1") } == [true, true, true, false])
        #expect(take("2001:db8:1:3::1"))
        for number in 0..<5000 { _ = take("10.0.\(number / 250).\(number % 250)") }
        #expect(rates.count <= 200)
        #expect((0..<1000).allSatisfy { _ in rates.take(from: .local, now: now) == nil })
        for host in ["", ":", "::", ":::::", ".", "a.b", "1.2.3.4:5"] { _ = take(host) }
    }
}
