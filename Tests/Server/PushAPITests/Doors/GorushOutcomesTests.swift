import FoundationEssentials
import PushLoop
import PushModel
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushAPI

/// The waits for outcomes (`doors.gorush.sync`).
@Suite(.waits) struct GorushOutcomesTests {
    /// A log without events, whose look-ups may take a time.
    private final class EmptyLog: EventLog {
        let time: Duration
        let looks = Locked((all: 0, now: 0, most: 0))

        init(time: Duration) { self.time = time }

        func read(since: UInt64, limit: Int) async throws -> LogPage {
            LogPage(segments: [], oldest: 1, newest: 0)
        }

        func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment] {
            looks.withLock { $0 = ($0.all + 1, $0.now + 1, max($0.most, $0.now + 1)) }
            defer { looks.withLock { $0.now -= 1 } }
            let end = MonotonicTime.current() + time
            await pace()
            await wait(while: MonotonicTime.current() < end)
            return []
        }
    }

    private static func outcomes(_ log: EmptyLog, wait: Duration) -> GorushOutcomes {
        GorushOutcomes(
            log: log, waiting: CommittedEvents(), identities: Identities(secret: Array(repeating: 1, count: 32))!,
            wait: wait)
    }

    private static func sent(_ count: Int) throws -> [GorushOutcomes.Sent] {
        let push = try #require(try GorushRequestTests.request(#""platform":1,"message":"m""#).pushes.first)
        return (0..<count).map { GorushOutcomes.Sent(push: push, id: MessageID("m\($0)")!) }
    }

    private static func logs(_ log: GorushLog) throws -> [GorushAnswer.Entry] {
        try JSONDecoder().decode(GorushAnswer.self, from: Data(log.answer(counts: 0).body)).logs
    }

    @Test("A wait ends at its time, also within a look at many messages")
    func deadline() async throws {
        // Each look-up takes at least as long as the wait.
        let log = EmptyLog(time: .milliseconds(20))
        let outcomes = Self.outcomes(log, wait: .milliseconds(20))
        let logs = try Self.logs(await outcomes.completed(GorushLog(), with: try Self.sent(100), for: .local))
        #expect(log.looks.withLock { $0.all } <= 1)
        #expect(logs.count == 100 && logs.allSatisfy { $0.type == .pending && $0.token == GorushRequestTests.token })
    }

    @Test("A number of requests wait, of which one looks at a time; for the others all is pending at once")
    func bounds() async throws {
        let log = EmptyLog(time: .zero)
        let outcomes = Self.outcomes(log, wait: .seconds(86_400))
        let sent = try Self.sent(2)
        let waits = (0..<GorushOutcomes.maxWaiting).map { _ in
            Task { await outcomes.completed(GorushLog(), with: sent, for: .local) }
        }
        await wait(while: outcomes.waitingCount < GorushOutcomes.maxWaiting)
        let logs = try Self.logs(await outcomes.completed(GorushLog(), with: sent, for: .local))
        #expect(logs.map(\.type) == [.pending, .pending])
        #expect(logs.allSatisfy { $0.error == "too many requests wait for outcomes" })
        await wait(while: log.looks.withLock { $0.all } < 2 * GorushOutcomes.maxWaiting)
        #expect(log.looks.withLock { $0.most } == 1)
        // A client that has gone makes room.
        for task in waits { task.cancel() }
        for task in waits { _ = await task.value }
        #expect(outcomes.waitingCount == 0)
    }

    @Test("One key waits with a quarter of the requests at most")
    func shares() async throws {
        let outcomes = Self.outcomes(EmptyLog(time: .zero), wait: .seconds(86_400))
        let (sent, share) = (try Self.sent(1), GorushOutcomes.maxWaiting / 4)
        let key = LongRequestQuota.Client(.tester("shop", roles: [.push]), at: .local)
        let waits = (0..<share).map { _ in
            Task { await outcomes.completed(GorushLog(), with: sent, for: key) }
        }
        await wait(while: outcomes.waitingCount < share)
        let refused = try Self.logs(await outcomes.completed(GorushLog(), with: sent, for: key))
        #expect(refused.map(\.error) == ["too many requests wait for outcomes"])
        let other = Task { await outcomes.completed(GorushLog(), with: sent, for: .local) }
        await wait(while: outcomes.waitingCount < share + 1)
        for task in waits + [other] { task.cancel() }
        for task in waits + [other] { _ = await task.value }
        #expect(outcomes.waitingCount == 0)
    }
}
