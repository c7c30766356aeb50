import PushLoop
import PushModel
import PushStore
import PushWire
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI

@Suite(.waits) struct ReadEventsTests {
    private func page(_ scene: PipelineScene, _ query: String) async throws -> EventPage {
        let answer = try await scene.control.client.send("GET", to: "/v1/events" + query)
        #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        return try #require(EventPage(lines: answer))
    }

    private func seqs(_ page: EventPage) -> [UInt64] { page.lines.compactMap { EventRecord($0)?.seq } }

    /// Commits segments of ten events each: alternately a `sent` event of shop and a `rejected` event of news.
    private func fill(_ events: FakeEvents, segments: Int = 10) {
        for segment in 0..<segments {
            events.commit(at: Int64(segment)) { writer, now in
                for index in 0..<10 {
                    let app = index % 2 == 0 ? PipelineScene.shop : PipelineScene.news
                    writer.add(
                        index % 2 == 0
                            ? .sent(providerID: nil)
                            : .rejected(Refusal(status: 410, reason: "Unregistered"), deactivates: nil),
                        of: LogWriter.message("m\(segment)-\(index)", app: app), to: PipelineScene.id(1), at: now)
                }
            }
        }
    }

    @Test func `The lines equal those that the event bus publishes`() async throws {
        try await withPipeline { scene in
            let segment = scene.events.commit { writer, now in
                writer.add(.sent(providerID: nil), of: LogWriter.message("m"), to: PipelineScene.id(1), at: now + 38)
            }
            var line: [UInt8] = []
            var text = EventText()
            try segment.walk { event, apps, bytes in
                text.append(event, of: apps, texts: bytes, to: &line)
                return true
            }
            let answer = try await scene.control.client.send("GET", to: "/v1/events?since=0")
            let event = String(decoding: line, as: UTF8.self)
            #expect(String(decoding: answer.body, as: UTF8.self) == "\(event)\n")
            #expect(answer.headers["Carillon-Next"] == "1" && answer.headers["Carillon-Oldest"] == "1")
            #expect(answer.headers["Carillon-Newest"] == "1" && answer.headers["Carillon-More"] == "false")
            #expect(answer.headers["Content-Type"] == "application/x-ndjson; charset=utf-8")
            #expect(event.contains("\"device\":\"\(PipelineScene.id(1))\"") && event.contains("\"latency_ms\":38"))
        }
    }

    @Test func `Events can be read by time, including both ends`() async throws {
        try await withPipeline { scene in
            fill(scene.events, segments: 40)
            let start = FakeEvents.start
            let middle = try await page(scene, "?since_at=\(start + 10)&until_at=\(start + 12)")
            #expect(seqs(middle) == Array(101...130) && !middle.hasMore && middle.next == middle.newest)
            #expect(seqs(try await page(scene, "?since_at=\(start + 38)")) == Array(381...400))
            #expect(seqs(try await page(scene, "?until_at=\(start)")) == Array(1...10))
            #expect(seqs(try await page(scene, "?since_at=\(start + 100)")).isEmpty)
            let some = try await page(scene, "?since_at=\(start + 10)&limit=5")
            #expect(seqs(some) == Array(101...105) && some.hasMore)
        }
    }

    @Test func `The position of a time in a long log is found with few reads`() async throws {
        let events = FakeEvents()
        for segment in 0..<400 {
            events.commit(at: Int64(segment) * 1000) { writer, now in
                for _ in 0..<100 { writer.add(.connectionUp, at: now) }
            }
        }
        let reader = EventReader(log: events)
        for segment in [0, 1, 57, 200, 399] {
            let low = try await reader.number(before: FakeEvents.start + Int64(segment) * 1000)
            let first = UInt64(segment) * 100 + 1
            #expect(low < first && first - low <= 5101, "\(segment): \(low)")
        }
        #expect(events.state.withLock { $0.reads } < 60)
    }

    @Test func `Events are read in order, by page and by prefix`() async throws {
        try await withPipeline { scene in
            fill(scene.events)
            var all: [UInt64] = []
            var at: UInt64 = 0
            repeat {
                let page = try await page(scene, "?since=\(at)&limit=7")
                #expect(page.lines.count <= 7)
                all += seqs(page)
                at = page.next
                if !page.hasMore { break }
            } while true
            #expect(all == Array(1...100) && at == 100)
            let shop = try await page(scene, "?prefix=delivery%2Fshop%2F")
            #expect(seqs(shop) == Array(stride(from: 1, through: 100, by: 2)))
            let none = try await page(scene, "?prefix=delivery/shop/rejected&since=50")
            #expect(none.lines.isEmpty && none.next == 100 && !none.hasMore)
            #expect(seqs(try await page(scene, "?prefix=delivery/news/rejected&since=95")) == [96, 98, 100])
        }
    }

    @Test func `The last events are found from the end of the log`() async throws {
        try await withPipeline { scene in
            #expect(try await page(scene, "?last=5").lines.isEmpty)
            fill(scene.events, segments: 1200)
            let last = try await page(scene, "?last=25")
            #expect(seqs(last) == Array(11_976...12_000) && last.next == 12_000 && last.newest == 12_000)
            #expect(seqs(try await page(scene, "?last=3&prefix=delivery/news/")) == [11_996, 11_998, 12_000])
            // This needs more than one stretch of the log.
            #expect(seqs(try await page(scene, "?last=7000")) == Array(5001...12_000))
            scene.events.forget(1100)
            #expect(seqs(try await page(scene, "?last=9999")) == Array(11_001...12_000))
            let nothing = try await page(scene, "?last=0")
            #expect(nothing.lines.isEmpty && nothing.newest == 12_000)
        }
    }

    @Test func `A caller of some apps gets as many of their events, however many others there are`() async throws {
        try await StoreScene.run { scene in
            let apps =
                Array(repeating: StoreScene.news, count: 2) + Array(repeating: StoreScene.shop, count: 200) + [nil]
            _ = await scene.ledger.note(apps.map { EventDraft(.operatorPause, app: $0) })
            func found(_ query: String, apps: String?) async throws -> [String] {
                let answer = try await scene.send("GET", "/v1/events" + query, roles: "observe", apps: apps)
                return answer.text.split(separator: "\n").map { EventRecord(Array($0.utf8))?.app ?? "-" }
            }
            for query in [
                "?last=100", "?last=2", "?last=100&prefix=operator/", "?since=0&limit=2", "?since=0&limit=100",
            ] {
                let own = try await found(query, apps: "news")
                #expect(own == ["news", "news"], "\(query)")
                #expect(try await found(query, apps: "nobody").isEmpty, "\(query)")
            }
            #expect(try await found("?last=100&prefix=operator/shop/", apps: "news").isEmpty)
            #expect(try await found("?last=300", apps: "shop,news").count == 202)
            #expect(try await found("?last=300", apps: nil).count == 203)
        }
    }

    @Test func `A request for deleted events returns the oldest ones that exist`() async throws {
        try await withPipeline { scene in
            fill(scene.events)
            scene.events.forget(3)
            let rest = try await page(scene, "?since=4")
            #expect(rest.oldest == 31 && seqs(rest).first == 31 && rest.lines.count == 70)
        }
    }

    @Test func `A damaged segment is skipped and reported`() async throws {
        try await withPipeline { scene in
            fill(scene.events)
            scene.events.damage(4)
            let all = try await page(scene, "?since=0")
            #expect(all.damaged == [41] && all.next == 100)
            #expect(seqs(all).filter { $0 > 50 } == Array(51...100))
            let waited = try await page(scene, "?since=40&prefix=message/&wait=3600")
            #expect(waited.damaged == [41])
        }
    }

    @Test func `A long poll is answered by a matching event and by no other`() async throws {
        try await withPipeline { scene in
            fill(scene.events, segments: 1)
            let isAnswered = Locked(false)
            let answer = Task {
                defer { isAnswered.withLock { $0 = true } }
                return try await page(scene, "?since=10&prefix=message/shop/&wait=3600")
            }
            await wait(while: scene.events.waiting.waiting == 0 && !isAnswered.withLock({ $0 }))
            let reads = scene.events.state.withLock { $0.reads }
            // The request reads these events; none matches its prefix, so it continues to wait.
            fill(scene.events, segments: 1)
            await wait(while: scene.events.state.withLock({ $0.reads }) < reads + 2 && !isAnswered.withLock({ $0 }))
            scene.events.commit { writer, now in writer.add(accepted: LogWriter.message("m"), named: 1, at: now) }
            let found = try await answer.value
            #expect(seqs(found) == [21] && found.next == 21)
            // When its time is over, the answer says how far it has read.
            let nothing = try await page(scene, "?since=0&prefix=device/&wait=1")
            #expect(nothing.lines.isEmpty && nothing.next == 21)
        }
    }

    @Test func `The number of waiting requests is bounded, and other requests are answered`() async throws {
        try await withPipeline { scene in
            // These use raw sockets, because the client has two threads only.
            var waiters: [RawClient] = []
            for _ in 0..<ReadEvents.maxWaiting {
                let raw = try scene.control.raw()
                try raw.send("GET /v1/events?since=0&wait=3600 HTTP/1.1\r\nHost: x\r\n\r\n")
                waiters.append(raw)
            }
            await wait(while: scene.events.waiting.waiting < ReadEvents.maxWaiting)
            let answer = try await scene.control.client.send("GET", to: "/v1/events?since=0&wait=3600")
            #expect(answer.status == 429)
            let now = try await page(scene, "?since=0")
            #expect(now.lines.isEmpty)
            fill(scene.events, segments: 1)
            // The answers come from tasks, which need the threads of the cooperative pool.
            nonisolated(unsafe) let clients = waiters
            let statuses = try await BlockingPool(name: "raw", threadCount: 1, queueLimit: 1).run {
                try clients.map { try $0.answer().status }
            }
            #expect(statuses == Array(repeating: 200, count: ReadEvents.maxWaiting))
        }
    }

    static let refused: [(String, String)] = [
        ("?since=x", "since: a whole number"), ("?wait=3601", "wait: a whole number from 0 to 3600"),
        ("?limit=0", "limit: a whole number"), ("?last=5&since=1", "last cannot be combined with since"),
        ("?prefix=\(String(repeating: "a", count: 129))", "prefix: the text has 129 bytes"),
        ("?sinc=1", "did you mean \"since\""),
        ("?since=99999999999999999999", "since: a whole number"),
    ]

    /// A client that has the head of a live stream gets each event from then on, however late its task runs.
    @Test func `The head of a live stream is sent when its place is known`() async throws {
        try await withPipeline { scene in
            nonisolated(unsafe) let client = try scene.control.raw()
            scene.events.beforeBounds.withLock {
                $0 = {
                    // The loop has done what came before this request.
                    _ = try await scene.control.client.send("GET", to: "/healthz")
                    #expect(client.isQuiet)
                    scene.events.commit { $0.add(.connectionUp, at: $1) }
                }
            }
            try client.send("GET /v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
            let pool = BlockingPool(name: "raw", threadCount: 1, queueLimit: 2)
            let read = { (end: String) in
                try await pool.run {
                    var text = ""
                    while !text.contains(end) { text += String(decoding: try client.some(), as: UTF8.self) }
                    return text
                }
            }
            #expect(try await read("\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
            scene.events.commit { $0.add(.connectionDown, at: $1) }
            let text = try await read("data: ")
            #expect(text.contains("event: connection.down\n") && !text.contains("event: connection.up\n"))
        }
    }

    @Test func `A live stream of a log that cannot be read is refused`() async throws {
        try await withPipeline { scene in
            nonisolated(unsafe) let client = try scene.control.raw()
            scene.events.beforeBounds.withLock { $0 = { throw RawClient.Failure(what: "the log is damaged") } }
            try client.send("GET /v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
            let answer = try await BlockingPool(name: "raw", threadCount: 1, queueLimit: 1).run { try client.answer() }
            #expect(answer.status == 500, "\(answer)")
        }
    }

    @Test func `A wrong query is answered with the reason`() async throws {
        try await withPipeline { scene in
            for (query, message) in Self.refused {
                let answer = try await scene.control.client.send("GET", to: "/v1/events" + query)
                #expect(
                    answer.status == 422
                        && String(decoding: answer.body, as: UTF8.self).contains(message.replacing("\"", with: "\\\"")))
            }
            for query in ["", "?message=a&device=b", "?device=xyz", "?device=\(PipelineScene.id(1))&app=shop"] {
                #expect(try await scene.control.client.send("GET", to: "/v1/trace" + query).status == 422)
            }
        }
    }
}

@Suite(.waits) struct CommittedEventsTests {
    @Test func `A waiter is woken by a newer event and by nothing else`() async {
        let events = CommittedEvents()
        async let waiting: Void = events.waitForEvents(after: LogPosition(after: 5), for: .seconds(1000))
        await wait(while: events.waiting == 0)
        events.committed(upTo: [5])
        #expect(events.waiting == 1)
        events.committed(upTo: [6])
        await waiting
        #expect(events.waiting == 0)
        // An event after 3 exists already, so this returns at once.
        await events.waitForEvents(after: LogPosition(after: 3), for: .seconds(1000))
    }

    @Test func `A wait ends when its time is over or its task is cancelled`() async {
        let events = CommittedEvents()
        await events.waitForEvents(after: LogPosition(after: 0), for: .milliseconds(1))
        let task = Task { await events.waitForEvents(after: LogPosition(after: 0), for: .seconds(1000)) }
        await wait(while: events.waiting == 0)
        task.cancel()
        await task.value
        let late = Task {
            await waitForCancellation()
            await events.waitForEvents(after: LogPosition(after: 0), for: .seconds(1000))
        }
        late.cancel()
        await late.value
        #expect(events.waiting == 0)
    }

    @Test func `All of many waiters are woken`() async {
        let events = CommittedEvents()
        await withTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    await events.waitForEvents(after: LogPosition(after: UInt64(number % 50)), for: .seconds(1000))
                }
            }
            for seq in 1...50 {
                events.committed(upTo: [UInt64(seq)])
                await pace()
            }
        }
        #expect(events.waiting == 0)
    }
}
