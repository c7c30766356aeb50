import FoundationEssentials
import PushAPI
import PushTime
import Testing

@Suite struct StatsHistoryTests {
    private func sample(_ at: Int64, sent: UInt64, counts: [UInt64] = [0, 0, 0]) -> StatsHistory.Sample {
        var sample = StatsHistory.Sample(
            at: WallTime(milliseconds: at), latency: Latency(bounds: [10, 20], counts: counts))
        (sample.accepted, sample.sent, sample.waiting, sample.oldestWaitingMilliseconds) = (sent / 2, sent, 7, 900)
        return sample
    }

    @Test func `The last minute adds up what happened in its points`() {
        var history = StatsHistory()
        #expect(history.lastMinute.sent == 0)
        // Two seconds apart; ten are sent in each of them.
        for index in 0...40 {
            var sample = sample(Int64(index) * 2000, sent: UInt64(index) * 10)
            sample.deferred = UInt64(index) * 3
            (sample.lostAnswers, sample.unknown) = (UInt64(index) * 2, UInt64(index))
            history.add(sample)
        }
        #expect(history.lastMinute.sent == 300)
        #expect(history.lastMinute.rejected == 0)
        #expect(history.lastMinute.deferred == 90 && history.lastMinute.lostAnswers == 60)
        #expect(history.points.last?.unknown == 0.5)
    }

    @Test func `A point has the rates since the sample before, and the levels`() throws {
        var history = StatsHistory()
        history.add(sample(1000, sent: 100, counts: [5, 5, 0]))
        #expect(history.points.isEmpty, "one sample has no rate")
        history.add(sample(3000, sent: 104, counts: [5, 9, 0]))
        let point = try #require(history.points.first)
        #expect(history.points.count == 1 && point.at == WallTime(milliseconds: 3000))
        #expect(point.sent == 2 && point.accepted == 1 && point.rejected == 0)
        #expect(point.waiting == 7 && point.oldestWaitingMilliseconds == 900)
        #expect(point.p50 == 15 && point.p99 == 19.9)
    }

    @Test func `Nothing answered has no quantile, and a clock that was set back has no point`() throws {
        var history = StatsHistory()
        history.add(sample(5000, sent: 10))
        history.add(sample(7000, sent: 12))
        #expect(history.points.map { $0.p50 } == [nil])
        history.add(sample(1000, sent: 14))
        history.add(sample(1000, sent: 15))
        #expect(history.points.count == 1)
        history.add(sample(3000, sent: 17))
        #expect(history.points.map { $0.sent } == [1, 1])
    }

    @Test func `The number of points is bounded, and the oldest leave first`() {
        var history = StatsHistory()
        for number in 0...Int64(3 * StatsHistory.maxPoints) { history.add(sample(2000 * number, sent: 0)) }
        #expect(history.points.count == StatsHistory.maxPoints)
        #expect(history.points.last?.at == WallTime(milliseconds: 6000 * Int64(StatsHistory.maxPoints)))
        #expect(zip(history.points, history.points.dropFirst()).allSatisfy { $0.at < $1.at })
    }

    @Test func `The past is in the answer that asks for it, and not in that of a key of some apps`() async throws {
        try await StoreScene.run { scene in
            func history(_ query: String, apps: String? = nil) async throws -> [StatsAnswer.Point]? {
                let answer = try await scene.send("GET", "/v1/stats\(query)", roles: "observe", apps: apps)
                return try JSONDecoder().decode(StatsAnswer.self, from: Data(answer.body)).history
            }
            let asked = try await history("?history=true")
            let (silent, refused) = try await (history(""), history("?history=false"))
            let limited = try await history("?history=true", apps: "shop")
            #expect(asked == [StoreScene.point] && silent == nil && refused == nil && limited == nil)
        }
    }
}
