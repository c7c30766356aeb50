import FoundationEssentials
import Glibc
import PushAPI
import PushTime
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import carillon

@Suite(.waits) struct StatsVerbTests {
    private static let start: WallTime = 1_767_225_600_000

    /// Two responses, two seconds apart.
    static func answers() -> [StatsAnswer] {
        var first = StatsAnswer(at: start + 60_000, startedAt: start, ready: true)
        first.version = "0.1.0"
        first.intake = .init(accepted: 1000, duplicate: 0, rejected: 3, busy: 0)
        first.backlog = .init(
            waiting: 1234, scheduled: 7, nextDue: start + 3_600_000, oldestWaitingMilliseconds: 75_400)
        var shop = StatsAnswer.App(app: "shop", state: "up")
        (shop.connections, shop.credit, shop.queue, shop.inFlight) = (2, 900, 17, 12)
        (shop.sent, shop.rejected, shop.retries, shop.unknown) = (5000, 10, 0, 1)
        shop.latency = Latency(bounds: [10, 20, 50], counts: [100, 0, 0, 0])
        first.apps = [shop]
        var ledger = StatsAnswer.Ledger()
        (ledger.events, ledger.oldest, ledger.newest) = (6000, 1, 1_234_567)
        (ledger.lastCommitMilliseconds, ledger.bytes) = (1.25, 3 << 20)
        first.ledger = ledger
        first.registry = .init(devices: 250_000, inactive: 1200)
        first.events = .init(subscriptions: 2, published: 6000)
        var second = first
        second.at += 2000
        second.intake = .init(accepted: 3000, duplicate: 1, rejected: 3, busy: 0)
        second.apps[0].sent = 29_800
        second.apps[0].latency = Latency(bounds: [10, 20, 50], counts: [100, 80, 15, 5])
        second.ledger?.events = 6100
        second.events?.published = nil
        return [first, second]
    }

    @Test func `The screen shows rates between two responses`() async throws {
        try await withPipeline(statistics: Self.answers()) { scene in
            let ended = try await scene.run("stats", "--interval", "100ms")
            #expect(
                ended.output == """
                    Carillon 0.1.0, ready, up 1m 2s, 2026-01-01T00:01:02.000Z

                      intake   accepted 1,000/s, duplicate 0.5/s, rejected 0/s, busy 0/s
                      backlog  1,234 waiting, the oldest for 1m 15s, 7 scheduled, next due at 2026-01-01T01:00:00.000Z

                      app   state  conns  credit  queue  in flight  sent      rejected  retries  unknown  p50   p99
                      shop  up     2      900     17     12         12,400/s  0/s       0/s      0/s      16ms  >50ms

                      ledger     events 50/s, last commit 1.3ms, 3.0 MiB on disk, healthy
                                 kept: events 1 to 1,234,567
                      registry   250,000 devices, 1,200 inactive
                      event bus  2 subscriptions, published -

                    """, "\(ended.output)")
            #expect(ended.errors == "" && ended.status == 0)
        }
    }

    @Test func `A response with only the required members is displayed`() async throws {
        try await withPipeline { scene in
            let ended = try await scene.run("stats", "--interval", "100ms")
            #expect(ended.output == "Carillon, ready, up 1s, 1970-01-01T00:00:02.000Z\n\n  There are no apps.\n\n")
            let json = try await scene.run("stats", "--json")
            #expect(
                json.output == "{\"apps\":[],\"obstacles\":[],\"ready\":true,\"started_at\":1000,\"taken_at\":2000}\n")
        }
    }

    @Test func `The screen shows why Carillon is not ready and that the ledger cannot write`() async throws {
        var answer = StatsAnswer(at: 2000, startedAt: 1000, ready: false)
        answer.obstacles = ["shop: the credential was refused\u{1b}[31m"]
        var ledger = StatsAnswer.Ledger()
        ledger.fault = "the disk is full"
        answer.ledger = ledger
        let text = StatsScreen(Terminal(descriptor: -1)).text(answer, since: nil)
        #expect(text.contains(", not ready, ") && text.contains("\n  shop: the credential was refused?[31m\n"))
        #expect(text.contains("events -, last commit -, - on disk, cannot write: the disk is full"))
    }

    @Test func `After a restart, totals are shown instead of rates`() {
        var (first, second) = (Self.answers()[0], Self.answers()[1])
        first.startedAt = first.startedAt - 1
        #expect(StatsScreen(Terminal(descriptor: -1)).text(second, since: first).contains("accepted 3,000, "))
        first = Self.answers()[0]
        second.intake?.accepted = 1
        #expect(StatsScreen(Terminal(descriptor: -1)).text(second, since: first).contains("accepted 1, "))
    }

    @Test func `The option --watch prints blocks without a terminal until Ctrl-C`() async throws {
        try await withPipeline(statistics: Self.answers()) { scene in
            let child = try ChildProcess(
                ChildProcess.carillon,
                ["stats", "--watch", "--interval", "100ms", "--data", scene.control.data])
            var screens = 0
            while screens < 3, let line = try await child.line() {
                #expect(!line.contains("\u{1b}"))
                if line.hasPrefix("Carillon 0.1.0, ready") { screens += 1 }
            }
            child.send(SIGINT)
            #expect(try await child.end().status == 0)
            let machine = try ChildProcess(
                ChildProcess.carillon,
                ["stats", "--watch", "--json", "--interval", "100ms", "--data", scene.control.data])
            for _ in 0..<2 { #expect(try await machine.line()?.hasPrefix("{\"apps\":[{\"app\":\"shop\"") == true) }
            machine.send(SIGTERM)
            #expect(try await machine.end().status == 0)
        }
    }

    @Test func `A response is unchanged after encoding and decoding`() throws {
        for answer in Self.answers() {
            let bytes = APIAnswer.json(answer).body
            #expect(try JSONDecoder().decode(StatsAnswer.self, from: Data(bytes)) == answer)
        }
    }

    static let quantiles: [([UInt64], Double, Double?, Bool)] = [
        ([0, 0, 0], 0.5, nil, false), ([1, 0, 0], 0.5, 10, false), ([100, 0, 0], 0.5, 5, false),
        ([0, 10, 0], 0.5, 15, false), ([50, 50, 0], 0.99, 19.8, false), ([1, 0, 1], 0.99, 20, true),
        ([0, 0, 3], 0.5, 20, true), ([5, 0, 5], 0.5, 10, false),
    ]

    @Test(arguments: quantiles) func `Quantiles of a histogram are interpolated`(
        _ counts: [UInt64], _ share: Double, _ value: Double?, _ isMore: Bool
    ) {
        let found = Latency(bounds: [10, 20], counts: counts).quantile(share)
        #expect(found.map { ($0.milliseconds * 1000).rounded() / 1000 } == value)
        #expect((found?.isMore ?? false) == isMore)
    }

    @Test func `Histograms that do not match have no difference and no quantile`() {
        let latency = Latency(bounds: [10, 20], counts: [1, 2, 3])
        #expect(latency.since(Latency(bounds: [10, 30], counts: [0, 0, 0])) == nil)
        #expect(latency.since(Latency(bounds: [10, 20], counts: [0, 0])) == nil)
        #expect(latency.since(Latency(bounds: [10, 20], counts: [2, 0, 0])) == nil)
        #expect(latency.since(Latency(bounds: [10, 20], counts: [1, 1, 1]))?.counts == [0, 1, 2])
        #expect(Latency(bounds: [], counts: [3]).quantile(0.5) == nil)
        #expect(Latency(bounds: [10, 20], counts: [3]).quantile(0.5) == nil)
    }

    @Test(arguments: [
        (0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-1000, "-1,000"), (-100, "-100"),
    ])
    func `Numbers are grouped by thousands`(_ number: Int, _ text: String) {
        #expect(StatsScreen.number(number) == text)
    }

    @Test(arguments: [
        (0.0, "0"), (0.01, "<0.1"), (0.5, "0.5"), (9.96, "10"), (12_400.4, "12,400"), (.nan, "-"), (1e300, "-"),
    ])
    func `Rates below 10 have one decimal`(_ rate: Double, _ text: String) { #expect(StatsScreen.rate(rate) == text) }

    @Test(arguments: [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 << 30, "3.0 GiB")] as [(UInt64, String)])
    func `Sizes have a binary unit`(_ bytes: UInt64, _ text: String) { #expect(StatsScreen.size(bytes) == text) }
}
