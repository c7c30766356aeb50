import APNs
import FoundationEssentials
import Glibc
import PushGateways
import PushLogic
import PushLoop
import PushModel
import PushRandom
import PushTransport
import PushWire

/// Sends notifications, each to its own device token, through a real gateway and its connections, and measures the time and
/// memory that this process used.
struct GatewayBench: Sendable {
    var endpoint: HostPort
    var trust: String
    var count: Int
    var connections: Int
    /// A key that the push service accepts, and its ids. If nil, a new key is generated, for services that do not check
    /// tokens.
    var key: (path: String, keyID: String, teamID: String)?

    struct Result: Sendable {
        var count: Int
        var ok: Int
        var seconds: Double
        var microsecondsEach: Double
        var peakMegabytes: Double
        /// The number of notifications that were sent again, because their outcome was unknown or a retry was requested.
        var resent: Int
        /// The reasons for connections that failed.
        var faults: [String]
    }

    func run() async throws -> Result {
        let tls = try TLSContext.client(TLSClientConfiguration(trust: .only([.file(trust)]), alpn: ["h2"]))
        let pool = BlockingPool(name: "resolve", threadCount: 1, queueLimit: 16)
        let resolver = NameResolver(pool: pool)
        let connection = GatewayConnection.Settings(tls: tls, resolver: resolver, wallClock: WallTime.current) {
            [authority = endpoint.description] in
            APNsWriter(authority: authority, topic: "com.example.shop", token: $0)
        }
        var settings = GatewaySettings(
            app: AppID("bench")!, endpoint: endpoint, reasons: .apns, resolver: resolver,
            connect: { GatewayConnection($0, settings: connection) })
        settings.policy.minimum = connections
        settings.policy.maximum = connections
        settings.policy.connects = .unlimited
        let token = try providerToken()
        let loop = EventLoop(name: "gateway")
        let result = await withCheckedContinuation { continuation in
            loop.execute { [settings] in
                let load = Load(self, on: loop) { continuation.resume(returning: $0) }
                load.start(settings, token: token)
            }
        }
        await loop.shutDown()
        await pool.shutDown()
        return result
    }

    private func providerToken() throws -> ProviderToken {
        let (keyID, teamID) = (key?.keyID ?? "ABC123DEFG", key?.teamID ?? "DEF123GHIJ")
        let signer = try key.map { try ES256PrivateKey(pem: .file($0.path)) } ?? .generate()
        let now = WallTime.current().seconds
        guard let text = ProviderTokenText(keyID: keyID, teamID: teamID, issuedAt: now) else {
            throw Failure(.badInput, "'--key-id' and '--team-id' must each have 10 characters of A to Z and 0 to 9")
        }
        return ProviderToken(
            text: Secret(text.text(signature: try signer.sign(text.signingInput))),
            generation: 1, mintedAt: .current())
    }

    /// Submits deliveries up to the credit of the gateway, and counts their outcomes. Used on the loop only.
    private final class Load {
        private let plan: GatewayBench
        private let loop: EventLoop
        private let done: (Result) -> Void
        private let message: Message
        private var gateway: Gateway?
        /// The numbers of notifications to send again, because their outcome was unknown or a retry was requested.
        private var again: [UInt64] = []
        private var submitted: UInt64 = 0
        private var next = 0
        private var ended = 0
        private var ok = 0
        private var resent = 0
        private var faults: [String] = []
        private var startedAt = MonotonicTime.current()
        private var startedCPU = Load.cpuSeconds()

        init(_ plan: GatewayBench, on loop: EventLoop, done: @escaping (Result) -> Void) {
            self.plan = plan
            self.loop = loop
            self.done = done
            message = Message(
                id: MessageID("bench")!, app: AppID("bench")!, expiry: .at(UnixSeconds(1_900_000_000)),
                payload: Array(
                    """
                    {"aps":{"alert":{"title":"Order 4711","body":"Your order has left our warehouse and reaches you \
                    between 9 and 11 tomorrow."},"sound":"default","badge":3,"thread-id":"orders"},"order":"4711-1"}
                    """.utf8))
        }

        func start(_ settings: GatewaySettings, token: ProviderToken) {
            let tokens = TokenSource(
                subscribe: { loop, take in
                    loop.execute { take(.success(token)) }
                    return {}
                }, refused: { _ in }, mintedTooOften: {})
            let box = LoopBound(self, on: loop)
            gateway = Gateway(
                on: loop, connectionLoops: [loop], settings: settings,
                client: GatewayClient(on: loop) { box.wrapped.take($0) }, tokens: tokens)
        }

        private func take(_ report: GatewayReport) {
            for one in report.deliveries {
                switch one.outcome {
                case .sent:
                    ok += 1
                    ended += 1
                case .unknown, .retry:
                    resent += 1
                    again.append(one.delivery.ticket)
                case .rejected, .expired, .expiredBecause, .superseded, .suppressed, nil:
                    ended += 1
                }
            }
            for event in report.events { note(event) }
            guard ended < plan.count else { return finish() }
            give(Int(clamping: Int64(report.taken) + Int64(report.credit) - Int64(submitted)))
        }

        private func note(_ event: GatewayEvent) {
            switch event {
            case .down(_, _, let end, _, _) where ![.byUs, .goAway].contains(end.kind): fault(end.message)
            case .credentialFailed(let halt):
                fault(halt.message)
                ended = plan.count
            case .breakerOpened(_, .unreachable):
                fault("\(plan.endpoint) cannot be reached")
                ended = plan.count
            default: break
            }
        }

        private func fault(_ text: String) {
            if faults.count < 10, !faults.contains(text) { faults.append(text) }
        }

        private func give(_ room: Int) {
            let count = min(room, again.count + plan.count - next)
            guard count > 0, let gateway else { return }
            var batch: [Delivery] = []
            batch.reserveCapacity(count)
            while batch.count < count, let number = again.popLast() { batch.append(delivery(number)) }
            let fresh = count - batch.count
            for number in next..<next + fresh { batch.append(delivery(UInt64(number))) }
            next += fresh
            submitted += UInt64(count)
            gateway.submit(batch)
        }

        private func delivery(_ number: UInt64) -> Delivery {
            // A notification keeps its token and apns-id when it is sent again, because both identify it.
            var random = SeededRandom(seed: number)
            let token = Address(words: (number, random.next(), random.next(), random.next()))
            return Delivery(
                ticket: number, message: message, token: token,
                deliveryID: DeliveryID(high: random.next(), low: random.next()))
        }

        private func finish() {
            guard let gateway = gateway.take() else { return }
            let result = Result(
                count: plan.count, ok: ok, seconds: (MonotonicTime.current() - startedAt).inSeconds,
                microsecondsEach: (Self.cpuSeconds() - startedCPU) / Double(plan.count) * 1e6,
                peakMegabytes: Self.peakMegabytes(), resent: resent, faults: faults)
            let box = LoopBound((done, result), on: loop)
            Task {
                await gateway.drain(within: .seconds(5))
                await box.with { $0.0($0.1) }
            }
        }

        private static func cpuSeconds() -> Double {
            var usage = rusage()
            getrusage(RUSAGE_SELF.rawValue, &usage)
            func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
            return seconds(usage.ru_utime) + seconds(usage.ru_stime)
        }

        private static func peakMegabytes() -> Double {
            var usage = rusage()
            getrusage(RUSAGE_SELF.rawValue, &usage)
            return Double(usage.ru_maxrss) / 1024
        }
    }
}
