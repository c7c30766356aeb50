import PushGateways
import PushLogic
import PushLoop
import PushModel
import PushTime
import PushTransport
import TestSupport

@testable import PushSimulator
@testable import WebPush

/// A pool, its owner, and simulated push services, each of which is an origin, over real sockets with TLS.
///
/// The owner does what a gateway and a router do: what was not sent, was refused for now or has an unknown outcome is
/// handed over again.
final class OriginScene: Sendable {
    /// What has happened to one delivery.
    struct Fate {
        let subscription: String
        var accepted = 0
        var unknown = 0
        var refusals: [Refusal] = []
        var isHeld = true
    }

    let near = EventLoop(name: "pool")
    let far = EventLoop(name: "origins")
    private let threads = BlockingPool(name: "unused", threadCount: 1, queueLimit: 0)
    let services: [LoopBound<WebPushService>]
    let ports: [UInt16]
    let permit = SendingPermit()
    let reports = EventRecorder<ConnectionReport>()
    private let fates = Locked<[UInt64: Fate]>([:])
    /// What the pool offers, less what it has.
    private let room = Locked((credit: 0, held: 0))
    /// Whether the owner still hands over what comes back.
    private let isOpen = Locked(true)
    private let held: Locked<OriginPool?> = Locked(nil)
    private let key = VAPIDKey(try! ES256PrivateKey.generate())

    var pool: OriginPool { held.withLock { $0! } }

    private init(origins: Int) async throws {
        let far = far
        services = try await far.run {
            try (0..<origins).map { _ in
                LoopBound(
                    try WebPushService(
                        on: far, options: WebPushService.Options(identity: TestCertificates.shared.serverIdentity)),
                    on: far)
            }
        }
        var ports: [UInt16] = []
        for service in services { ports.append(await service.with { $0.port }) }
        self.ports = ports
    }

    /// Runs a test with so many origins.
    static func run(
        origins: Int, patterns: [String] = [],
        trust: TLSTrust = TestCertificates.shared.trust,
        tuning: (inout OriginPool.Settings) -> Void = { _ in },
        connection: (inout ConnectionSettings) -> Void = { _ in },
        _ body: (OriginScene) async throws -> Void
    ) async throws {
        let scene = try await OriginScene(origins: origins)
        let outcome: Result<Void, any Error>
        do {
            try scene.open(patterns: patterns, trust: trust, tuning: tuning, connection: connection)
            outcome = .success(try await body(scene))
        } catch {
            outcome = .failure(error)
        }
        scene.isOpen.withLock { $0 = false }
        scene.pool.close()
        await scene.reports.wait { $0.contains { if case .closed? = $0.event { true } else { false } } }
        for service in scene.services { await service.with { $0.stop() } }
        for loop in [scene.near, scene.far] { await loop.shutDown() }
        await scene.threads.shutDown()
        try outcome.get()
    }

    private func open(
        patterns: [String], trust: TLSTrust, tuning: (inout OriginPool.Settings) -> Void,
        connection: (inout ConnectionSettings) -> Void
    ) throws {
        var rules = OriginRules()
        rules.patterns = ports.map { "127.0.0.1:\($0)" } + patterns
        rules.privateNetworks = [try AddressRange("127.0.0.0/8")]
        let tls = try OriginTLS { try .client(TLSClientConfiguration(trust: trust, alpn: $0)) }
        var own = ConnectionSettings(
            endpoint: HostPort(host: "origins", port: 443), tls: tls.http2, resolver: NameResolver(pool: threads),
            permit: permit, wallClock: WallTime.current, connectTimeout: .seconds(300), answerTimeout: .seconds(300),
            pingAfter: .seconds(300), pingTimeout: .seconds(300))
        connection(&own)
        let tokens = VAPIDTokens(key: key, subject: "mailto:ops@example.com", wallClock: own.wallClock)
        var settings = OriginPool.Settings(
            tls: tls, resolver: NameResolver(pool: threads), rules: rules, connection: own,
            writer: { [own] in WebPushWriter(origin: $0, tokens: tokens, wallClock: own.wallClock) })
        settings.lookUp = { host, completion in
            completion(.success(host.host.hasSuffix("127.0.0.1") ? ["127.0.0.1"] : []))
        }
        // What the origins of these tests do would else hold them up for seconds.
        settings.limits.health.pause = Backoff(first: .milliseconds(5), maxDelay: .milliseconds(20))
        settings.limits.health.reconnect = Backoff(first: .milliseconds(5), maxDelay: .milliseconds(20))
        settings.limits.health.maxAsked = .milliseconds(20)
        tuning(&settings)
        let pool = OriginPool(
            ConnectionRequest(
                id: ConnectionID(1), loop: near, address: HostPort(host: "origins", port: 443), serverName: "origins",
                token: nil, outlet: ConnectionOutlet(on: near) { [self] in take($0) }), settings: settings)
        held.withLock { $0 = pool }
    }

    // MARK: Origins

    func faults(_ script: String, at origin: Int) async {
        let answer = await services[origin].with {
            $0.machine.control(ControlRequest(method: "PUT", path: "/webpush/faults", body: Array(script.utf8)))
        }
        precondition(answer.status == 200, String(decoding: answer.body, as: UTF8.self))
    }

    /// Returns what an origin has recorded.
    func records(of origin: Int) async -> [WebPushRecord] { await services[origin].with { Array($0.machine.log.kept) } }

    func connections(of origin: Int) async -> Int { await services[origin].with { $0.connectionCount } }

    /// Makes subscriptions at an origin, and a delivery to each.
    func deliveries(_ count: Int, to origin: Int, from first: UInt64) async throws -> [Delivery] {
        try deliveries(await services[origin].with { Self.subscriptions(count, at: &$0.machine) }, from: first)
    }

    /// Makes subscriptions, in the form of browsers.
    static func subscriptions(_ count: Int, at machine: inout WebPushMachine) -> [[UInt8]] {
        let answer = machine.control(
            ControlRequest(method: "POST", path: "/subscriptions", query: "count=\(count)"))
        return answer.body.split(separator: 10).map(Array.init)
    }

    /// Returns a delivery to each subscription.
    func deliveries(_ lines: [[UInt8]], from first: UInt64) throws -> [Delivery] {
        return try lines.enumerated().map { index, line in
            let address = try WebPushCodec().address(String(decoding: line, as: UTF8.self))
            return delivery(first + UInt64(index), to: address)
        }
    }

    func delivery(_ ticket: UInt64, to address: Address, expiresAt: Int64? = nil) -> Delivery {
        let message = Message(
            id: MessageID("m-\(ticket)")!, app: OriginDeliveries.app, expiry: Expiry(expiresAt: expiresAt),
            payload: Array(#"{"n":\#(ticket)}"#.utf8))
        return Delivery(
            ticket: ticket, message: message, token: address, deliveryID: DeliveryID(high: 0, low: ticket))
    }

    // MARK: The owner

    /// The number of deliveries that a gateway would hand over now.
    var credit: Int { room.withLock { max(0, $0.credit - $0.held) } }

    func deliver(_ deliveries: [Delivery]) {
        room.withLock { $0.held += deliveries.count }
        fates.withLock { fates in
            for delivery in deliveries {
                fates[delivery.ticket] = Fate(subscription: Self.subscription(delivery.token))
            }
        }
        pool.deliver(deliveries)
    }

    private static func subscription(_ address: Address) -> String {
        let endpoint = address.bytes.prefix(address.identityByteCount ?? 0)
        return String(decoding: endpoint, as: UTF8.self).split(separator: "/").last.map(String.init) ?? ""
    }

    private func take(_ report: ConnectionReport) {
        var again: [Delivery] = []
        room.withLock { room in
            room.held -= report.ended.count
            switch report.event {
            case .ready(let limit)?, .limitChanged(let limit)?: room.credit = limit
            default: break
            }
        }
        fates.withLock { fates in
            for ended in report.ended {
                let ticket = ended.delivery.ticket
                precondition(fates[ticket]?.isHeld == true, "\(ticket) has ended twice")
                fates[ticket]?.isHeld = false
                switch ended.result {
                case .accepted:
                    fates[ticket]?.accepted += 1
                    continue
                case .unknown: fates[ticket]?.unknown += 1
                case .notProcessed: break
                case .refused(let refusal):
                    fates[ticket]?.refusals.append(refusal)
                    guard ReasonTable.webPush.disposition(of: refusal) == .retry else { continue }
                }
                again.append(ended.delivery)
            }
        }
        reports.record(report)
        guard !again.isEmpty, isOpen.withLock({ $0 }) else { return }
        _ = near.schedule(after: .milliseconds(2)) { [self, again] in
            guard isOpen.withLock({ $0 }) else { return }
            fates.withLock { fates in for delivery in again { fates[delivery.ticket]?.isHeld = true } }
            room.withLock { $0.held += again.count }
            pool.deliver(again)
        }
    }

    /// Hands over nothing more.
    func stopOwner() { isOpen.withLock { $0 = false } }

    func fates(_ tickets: Range<UInt64>) -> [Fate] {
        fates.withLock { fates in tickets.compactMap { fates[$0] } }
    }

    /// Returns what has happened to deliveries besides their acceptance.
    func troubles(_ tickets: Range<UInt64>) -> [String] {
        fates(tickets).flatMap { fate in
            fate.refusals.map { "\($0.status) \($0.reason?.rawValue ?? "")" }
                + Array(repeating: "unknown", count: fate.unknown)
        }
    }

    func accepted(_ tickets: Range<UInt64>) -> Int { fates(tickets).count { $0.accepted > 0 } }

    func waitUntilAccepted(_ tickets: Range<UInt64>) async {
        await wait(while: accepted(tickets) < tickets.count)
    }

    /// Returns what is wrong: a delivery that was not accepted exactly once, or one that the origin has taken more often
    /// than the unknown outcomes explain.
    func faults(_ tickets: Range<UInt64>, at origin: Int) async -> [String] {
        faults(tickets, in: await records(of: origin))
    }

    func faults(_ tickets: Range<UInt64>, in records: [WebPushRecord]) -> [String] {
        let taken = Dictionary(grouping: records.filter(\.isAccepted)) { record in
            record.subscription.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        return fates(tickets).enumerated().compactMap { index, fate in
            let count = taken[fate.subscription]?.count ?? 0
            if fate.accepted == 1, (1...1 + fate.unknown).contains(count) { return nil }
            return "\(index): accepted \(fate.accepted) times, taken \(count) times, unknown \(fate.unknown) times"
        }
    }
}
