import FoundationEssentials
import PushLoop
import PushModel
import PushStore
import PushTransport
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI

/// Long searches end with their clients, and wait for their turns.
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
        let count = AnyEndpoint(
            raw: CountAudience(audiences: AudienceCount(registry), apps: .sample(nil)), in: SearchQueue(1))
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

    /// A long log in which nothing matches. Each read takes until all are over.
    private final class SlowLog: EventLog {
        private static let newest: UInt64 = 2_000_000
        private let segment: LogSegment
        /// One for each read; nil once all are over.
        private let latches = Locked<[Latch]?>([])
        let reads = Locked((now: 0, all: 0, cancelled: 0))

        init() {
            // Its events cannot be read, which costs nothing.
            segment = LogSegment(first: 1, count: 5000, time: FakeEvents.start, bytes: [])
        }

        func end() {
            for latch in latches.withLock({ $0.take() }) ?? [] { latch.open() }
        }

        private func hold() async {
            reads.withLock { ($0.now, $0.all) = ($0.now + 1, $0.all + 1) }
            await withTaskCancellationHandler {
                let latch = Latch()
                let isHeld = latches.withLock { $0?.append(latch) != nil }
                if isHeld { await latch.wait() }
            } onCancel: {
                reads.withLock { $0.cancelled += 1 }
            }
            reads.withLock { $0.now -= 1 }
        }

        func read(since: UInt64, limit: Int) async throws -> LogPage {
            await hold()
            let next = LogSegment(first: since + 1, count: segment.count, time: segment.time, bytes: segment.bytes)
            return LogPage(segments: [next], oldest: 1, newest: Self.newest)
        }

        func bounds() async throws -> [LogBounds] { [LogBounds(oldest: 1, newest: Self.newest)] }

        func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment] {
            try await trace(subject, after: 0, limit: limit)
        }

        func trace(_ subject: TraceSubject, after: UInt64, limit: Int) async throws -> [LogSegment] {
            await hold()
            return []
        }
    }

    static let reading = [
        "/v1/events?since=0&prefix=stream", "/v1/events?since=0&prefix=zz&limit=1", "/v1/events?last=1&prefix=zz",
        "/v1/trace?activity=ride&app=shop", "/v1/trace?apns_id=00000000-0000-0000-0000-000000000001",
        "/v1/trace?message=m", "/v1/trace?device=\(PipelineScene.id(1))", "/v1/devices/\(PipelineScene.id(1))/trace",
        "/v1/messages?user=ada", "/v1/messages/m?app=shop", "/v1/apps/shop/messages/m",
        "/v1/apps/shop/messages/m/deliveries", "/v1/users/ada",
    ]

    @Test(arguments: SearchTests.reading)
    func `Few requests read the log at once, and those whose clients have gone read no more`(path: String) async throws
    {
        let (log, searches) = (SlowLog(), SearchQueue(8, of: 64))
        let endpoints = { (loop: EventLoop) in
            PipelineEndpoints.reading(
                on: loop, streams: EventStreams(), devices: FakeDevices(PipelineScene.identities), events: log,
                waiting: CommittedEvents(), identities: PipelineScene.identities, apps: .sample([Self.app]),
                searches: searches)
        }
        try await withControl(more: endpoints) { control in
            var clients: [RawClient] = []
            let accept = path.hasSuffix("stream") ? "Accept: text/event-stream\r\n" : ""
            for _ in 0..<20 {
                clients.append(try control.raw())
                try clients.last?.send("GET \(path) HTTP/1.1\r\nHost: x\r\n\(accept)\r\n")
            }
            await wait(while: log.reads.withLock { $0.now } < 8 || searches.waitingCount < 12)
            for client in clients { client.close() }
            await wait(while: searches.waitingCount > 0 || log.reads.withLock { $0.cancelled } < 8)
            log.end()
            await wait(while: searches.runningCount > 0)
            #expect(log.reads.withLock { $0 } == (0, 8, 8))
        }
    }

    @Test func `A user without messages in a long log is answered after a part of it`() async throws {
        let (log, devices) = (SlowLog(), FakeDevices(PipelineScene.identities))
        log.end()
        let user = GetUser(devices: devices, history: MessageHistory(log: log), apps: .sample([Self.app]))
        try await withControl(more: { _ in [AnyEndpoint(user)] }) { control in
            let answer = try await control.client.send("GET", to: "/v1/users/ada")
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(answer.status == 200 && text.contains(#""messages":[],"next":"m-0-1000001""#), "\(text)")
            #expect(log.reads.withLock { $0.all } == 200)
        }
    }

    private static func client(_ key: String, at address: String) -> SearchQueue.Client {
        SearchQueue.Client(
            Caller(
                APIKey(
                    id: APIKeyID(String(repeating: key, count: 8))!, name: APIKeyName(key)!,
                    roles: RoleSet([.observe]), apps: nil, createdAt: FakeEvents.start)),
            at: .address(host: address, port: 1))
    }

    @Test func `Keys take turns, and one that waits with many searches leaves places to others`() async throws {
        let searches = SearchQueue(2, of: 32)
        let order = Locked<[String]>([])
        let (a, b) = (Self.client("a", at: "192.0.2.1"), Self.client("b", at: "192.0.2.2"))
        func search(_ name: String, of client: SearchQueue.Client) -> Task<Void, any Error> {
            Task {
                let place = try await searches.enter(for: client)
                order.withLock { $0.append(name) }
                place.leave()
            }
        }
        let running = try await searches.enter(for: a)
        var tasks: [Task<Void, any Error>] = []
        // One place of two is left, but not for this key.
        for number in 1...7 {
            tasks.append(search("a\(number)", of: a))
            await wait(while: searches.waitingCount < number)
        }
        let refused = await #expect(throws: Problem.self) { try await searches.enter(for: a) }
        #expect(refused?.code == .tooManyRequests && refused?.retryAfterMilliseconds == 1000)
        #expect(refused?.detail.hasPrefix("8 searches run or wait with this key") == true)
        let other = try await searches.enter(for: b)
        for (number, (name, client)) in [("b1", b), ("local", .local), ("b2", b)].enumerated() {
            tasks.append(search(name, of: client))
            await wait(while: searches.waitingCount < 8 + number)
        }
        running.leave()
        running.leave()
        await wait(while: order.withLock { $0.count } < 8)
        other.leave()
        for task in tasks { try await task.value }
        // All of the first key ended while the other one had its share.
        #expect(order.withLock { $0 } == ["a1", "local", "a2", "a3", "a4", "a5", "a6", "a7", "b1", "b2"])
        #expect(searches.runningCount == 0)
    }

    @Test func `With one place, each key has its turn`() async throws {
        let searches = SearchQueue(1, of: 32)
        let order = Locked<[String]>([])
        let (a, b) = (Self.client("a", at: "192.0.2.1"), Self.client("b", at: "192.0.2.2"))
        let running = try await searches.enter(for: a)
        var tasks: [Task<Void, any Error>] = []
        for (name, client) in [("a1", a), ("a2", a), ("a3", a), ("b1", b), ("b2", b), ("local", .local)] {
            let number = tasks.count + 1
            tasks.append(
                Task {
                    let place = try await searches.enter(for: client)
                    order.withLock { $0.append(name) }
                    place.leave()
                })
            await wait(while: searches.waitingCount < number)
        }
        running.leave()
        for task in tasks { try await task.value }
        #expect(order.withLock { $0 } == ["a1", "b1", "local", "a2", "b2", "a3"])
    }

    @Test func `Searches beyond the limit wait, those beyond the queue are refused, and cancelled ones leave it`()
        async throws
    {
        let searches = SearchQueue(1, of: 2)
        let first = try await searches.enter(for: .local)
        let second = Task { try await searches.enter(for: .local) }
        // The second one takes the only place of the queue as soon as it runs.
        await wait(while: searches.waitingCount == 0)
        await #expect(throws: Problem.self) { try await searches.enter(for: .local) }
        second.cancel()
        await #expect(throws: CancellationError.self) { _ = try await second.value }
        let third = Task { try await searches.enter(for: .local) }
        await wait(while: searches.waitingCount == 0)
        first.leave()
        try await third.value.leave()
        try await searches.enter(for: .local).leave()
        #expect(searches.runningCount == 0)
    }
}

extension SearchQueue.Client {
    static let local = SearchQueue.Client(.local, at: .local)
}
