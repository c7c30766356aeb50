import FoundationEssentials
import PushLoop
import PushModel
import PushStore
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI

/// Long searches end with their clients, wait for their turns, and have a budget.
@Suite(.waits) struct SearchTests {
    /// A registry in which no device matches, however many pages are read. A page may take until its task is cancelled.
    private final class EndlessRegistry: DeviceRegistry {
        struct Counts {
            var pages = 0
            var cancelled = 0
        }

        let inactive: any DeviceSet = NoDevices()
        let ofOtherKinds: any DeviceSet = NoDevices()
        let counts = Locked(Counts())
        let waits: Bool

        init(waits: Bool) { self.waits = waits }

        func page(
            of audience: Audience, app: AppID, kind: AddressKind, wording: Wording?, after: AudienceCursor?, limit: Int
        ) async throws -> AudiencePage {
            counts.withLock { $0.pages += 1 }
            guard waits else { return AudiencePage(devices: [], next: AudienceCursor("more")) }
            let isOver = Latch()
            await withTaskCancellationHandler {
                await isOver.wait()
            } onCancel: {
                isOver.open()
            }
            counts.withLock { $0.cancelled += 1 }
            throw CancellationError()
        }

        func sightings(of devices: [DeviceID]) async throws -> [Sighting?] { devices.map { _ in nil } }
    }

    private static let app = AppID("shop")!

    @Test func `A count ends with its client`() async throws {
        let registry = EndlessRegistry(waits: true)
        let count = AnyEndpoint(raw: CountAudience(audiences: AudienceCount(registry), apps: .sample(nil)))
        try await withControl(more: { _ in [count] }) { control in
            let body = #"{"app":"shop","to":{"all":true}}"#
            let client = try control.raw()
            try client.send(
                "POST /v1/audience HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            await wait(while: registry.counts.withLock { $0.pages } == 0)
            client.close()
            await wait(while: registry.counts.withLock { $0.cancelled } == 0)
        }
    }

    @Test func `A count of devices that do not match ends, and says that it is not complete`() async throws {
        let registry = EndlessRegistry(waits: false)
        let answer = try await AudienceCount(registry).count(
            PushRequest(Message(id: MessageID("m")!, app: Self.app, payload: []), to: .everyone))
        #expect(answer.count == 0 && !answer.isComplete && registry.counts.withLock { $0.pages } == 100)
    }

    /// A log of several parts without an index of names. Each search takes until all are over, and finds nothing.
    private final class SlowLog: EventLog {
        let partCount = 16
        let isOver = Locked(false)
        let running = Locked((now: 0, most: 0))

        func read(since: UInt64, limit: Int) async throws -> LogPage { throw CancellationError() }
        func bounds() async throws -> [LogBounds] { [] }

        func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment] {
            running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            await wait(while: !isOver.withLock { $0 })
            running.withLock { $0.now -= 1 }
            return []
        }

        func trace(_ subject: TraceSubject, after: UInt64, limit: Int) async throws -> [LogSegment] { [] }
    }

    @Test func `Of a flood of unknown ids, few read the log of a cluster at once, and most are refused`() async throws {
        let log = SlowLog()
        let lookup = MessageLookup(
            history: MessageHistory(log: log),
            obstacles: ObstacleSearch(
                devices: FakeDevices(Identities(secret: Array(repeating: 1, count: 32))!), live: nil),
            apps: .sample(nil), searches: .ofNames(in: log))
        let refused = Locked(0)
        await withTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    do {
                        let found = try await lookup.one(MessageID("unknown-\(number)")!, app: nil)
                        #expect(found.isEmpty)
                    } catch {
                        #expect((error as? Problem)?.code == .unavailable)
                        refused.withLock { $0 += 1 }
                    }
                }
            }
            // 4 search, and 64 wait.
            await wait(while: refused.withLock { $0 } < 132)
            log.isOver.withLock { $0 = true }
        }
        #expect(refused.withLock { $0 } == 132 && log.running.withLock { $0.most } == 4)
    }

    @Test func `Searches beyond the limit wait, those beyond the queue are refused, and cancelled ones leave it`()
        async throws
    {
        let searches = SearchQueue(1, maxWaiting: 1)
        let (end, order) = (Latch(), Locked<[String]>([]))
        let first = Task {
            try await searches.run {
                order.withLock { $0.append("first") }
                await end.wait()
            }
        }
        await wait(while: order.withLock { $0.isEmpty })
        let second = Task { try await searches.run { order.withLock { $0.append("second") } } }
        // The second one takes the only place of the queue as soon as it runs.
        await wait(while: searches.waitingCount == 0)
        let refused = await #expect(throws: Problem.self) { try await searches.run {} }
        #expect(refused?.code == .unavailable && refused?.retryAfterMilliseconds == 1000)
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        let third = Task { try await searches.run { order.withLock { $0.append("third") } } }
        await wait(while: searches.waitingCount == 0)
        end.open()
        try await first.value
        try await third.value
        #expect(order.withLock { $0 } == ["first", "third"])
        try await searches.run {}
    }
}
