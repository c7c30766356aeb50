import FoundationEssentials
import Glibc
import PushGateways
import PushLoop
import PushModel
import PushTransport

/// Sends so many notifications, each to a token of its own, through real gateway connections, and measures what this
/// process spent on them.
struct GatewayBench: Sendable {
    var place: HostPort
    var trust: String
    var count: Int
    var connections: Int

    struct Result: Sendable {
        var count: Int
        var ok: Int
        var seconds: Double
        var microsecondsEach: Double
        var peakMegabytes: Double
        /// Why a connection ended before the work was done.
        var faults: [String]
    }

    func run() async throws -> Result {
        let tls = try TLSContext.client(TLSClientConfiguration(trust: .only([.file(trust)]), alpn: ["h2"]))
        let pool = BlockingPool(name: "resolve", threadCount: 1, queueLimit: 16)
        let settings = GatewayConnection.Settings(
            topic: "com.example.shop", authority: place.description, tls: tls, resolver: NameResolver(pool: pool))
        let token = try Self.providerToken()
        let loop = EventLoop(name: "gateway")
        let result = await withCheckedContinuation { continuation in
            loop.execute {
                let load = Load(self, on: loop) { continuation.resume(returning: $0) }
                load.start(settings, token)
            }
        }
        await loop.shutDown()
        await pool.shutDown()
        return result
    }

    /// Signed like a real one; whoever measures does not look at whose key it is.
    private static func providerToken() throws -> ProviderToken {
        let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"ABC123DEFG"}"#.utf8))
        let claims = Base64URL.encode(Array(#"{"iss":"DEF123GHIJ","iat":\#(WallTime.current().seconds)}"#.utf8))
        let signature = try ES256PrivateKey.generate().sign(Array("\(header).\(claims)".utf8))
        return ProviderToken(
            text: Secret("\(header).\(claims).\(Base64URL.encode(signature))"), keyID: "ABC123DEFG",
            teamID: "DEF123GHIJ", generation: 1, mintedAt: .current())
    }

    /// Keeps every connection full and counts what comes back. On the loop only.
    private final class Load {
        private let plan: GatewayBench
        private let loop: EventLoop
        private let done: (Result) -> Void
        private let message: Message
        private var connections: [ConnectionID: any PushConnection] = [:]
        private var next = 0
        private var ended = 0
        private var ok = 0
        private var faults: [String] = []
        private var startedAt = MonotonicTime.current()
        private var startedCPU = Load.cpuSeconds()
        private var result: Result?

        init(_ plan: GatewayBench, on loop: EventLoop, done: @escaping (Result) -> Void) {
            self.plan = plan
            self.loop = loop
            self.done = done
            message = Message(
                id: MessageID("bench")!, app: AppID("bench")!, expiresAt: 1_900_000_000,
                payload: Array(
                    """
                    {"aps":{"alert":{"title":"Order 4711","body":"Your order has left our warehouse and reaches you \
                    between 9 and 11 tomorrow."},"sound":"default","badge":3,"thread-id":"orders"},"order":"4711-1"}
                    """.utf8))
        }

        func start(_ settings: GatewayConnection.Settings, _ token: ProviderToken) {
            for number in 1...plan.connections {
                let box = LoopBound(self, on: loop)
                let outlet = ConnectionOutlet(on: loop) { box.wrapped.take($0) }
                let request = ConnectionRequest(
                    id: ConnectionID(UInt32(number)), loop: loop, address: plan.place, serverName: plan.place.host,
                    token: token, outlet: outlet)
                connections[request.id] = GatewayConnection(request, settings: settings)
            }
        }

        private func take(_ report: ConnectionReport) {
            for one in report.ended {
                if case .accepted = one.ending { ok += 1 }
            }
            ended += report.ended.count
            switch report.event {
            case .ready(let limit):
                // A quarter more than may be in flight, so that a connection can go on while its report is read.
                give(limit + limit / 4, to: report.connection)
            case .closed(let end):
                connections[report.connection] = nil
                if ended < plan.count { faults.append(end.message) }
            default:
                give(report.ended.count, to: report.connection)
            }
            if ended == plan.count || connections.isEmpty { finish() }
        }

        private func give(_ count: Int, to id: ConnectionID) {
            let count = min(count, plan.count - next)
            guard count > 0, let connection = connections[id] else { return }
            var batch: [Delivery] = []
            batch.reserveCapacity(count)
            for number in next..<next + count { batch.append(delivery(UInt64(number))) }
            next += count
            connection.deliver(batch)
        }

        private func delivery(_ number: UInt64) -> Delivery {
            let a = Self.mix(number)
            let token = DeviceToken(words: (number, a, Self.mix(a), ~a))
            return Delivery(
                ticket: number, message: message, token: token, apnsID: APNSID(high: a, low: Self.mix(~number)))
        }

        private static func mix(_ number: UInt64) -> UInt64 {
            var value = number &+ 0x9e37_79b9_7f4a_7c15
            value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
            value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
            return value ^ value >> 31
        }

        private func finish() {
            if result == nil {
                result = Result(
                    count: plan.count, ok: ok, seconds: (MonotonicTime.current() - startedAt).inSeconds,
                    microsecondsEach: (Self.cpuSeconds() - startedCPU) / Double(plan.count) * 1e6,
                    peakMegabytes: Self.peakMegabytes(), faults: faults)
            }
            for connection in connections.values { connection.drain() }
            guard connections.isEmpty, let result else { return }
            done(result)
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
