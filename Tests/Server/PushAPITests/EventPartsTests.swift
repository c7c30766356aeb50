import Foundation
import PushLoop
import PushModel
import PushStore
import PushTime
import PushWire
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI

/// Tests of `GET /v1/events` in a cluster, whose log has several parts.
@Suite(.waits) struct EventPartsTests {
    private struct Number: Hashable, Comparable {
        let part: Int
        let seq: UInt64

        static func < (left: Number, right: Number) -> Bool { (left.part, left.seq) < (right.part, right.seq) }
    }

    private func page(_ scene: PipelineScene, _ query: String) async throws -> EventPage {
        let answer = try await scene.control.client.send("GET", to: "/v1/events" + query)
        #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        return try #require(EventPage(lines: answer))
    }

    private func numbers(_ lines: [[UInt8]]) -> [Number] {
        lines.compactMap { EventRecord($0) }.map { Number(part: $0.part, seq: $0.seq) }
    }

    /// Commits segments of four events to the parts 0, 1 and 3 of four in turn, and returns the number of each event.
    @discardableResult
    private func fill(_ events: FakeEvents, segments: Int) -> [Number] {
        var numbers: [Number] = []
        for segment in 0..<segments {
            let part = [0, 1, 3][segment % 3]
            let first = events.commit(at: Int64(segment), part: part) { writer, now in
                for app in [PipelineScene.shop, PipelineScene.news, PipelineScene.shop, PipelineScene.shop] {
                    writer.add(accepted: LogWriter.message("m\(segment)", app: app), named: 1, at: now)
                }
            }.first
            numbers += (0..<4).map { Number(part: part, seq: EventNumber.within(first) + $0) }
        }
        return numbers
    }

    @Test(arguments: [3, 7, 50, 10_000])
    func `Pages by a place have each event once, in the order of its part`(_ limit: Int) async throws {
        try await withPipeline(parts: 4) { scene in
            let all = fill(scene.events, segments: 60)
            var seen: [Number] = []
            var place = "0"
            while true {
                let page = try await page(scene, "?since=\(place)&limit=\(limit)")
                #expect(page.lines.count <= limit)
                #expect(
                    page.newestPlace.description == "0:80,1:80,3:80"
                        && page.oldestPlace.description == "0:1,1:1,2:1,3:1")
                seen += numbers(page.lines)
                place = page.nextPlace.description
                if !page.hasMore { break }
            }
            #expect(place == "0:80,1:80,3:80")
            #expect(seen.sorted() == all.sorted())
            for part in 0..<4 {
                let own = seen.filter { $0.part == part }
                #expect(own == own.sorted())
            }
            // One page has the events in the order of their times, as they were committed.
            if limit == 10_000 { #expect(seen == all) }
            let news = try await page(scene, "?since=1:70&prefix=message/news/")
            #expect(news.lines.count == 20 + 2 + 20)
        }
    }

    /// A part with many events does not keep the others out of a page.
    @Test func `Each part has its share of a page`() async throws {
        try await withPipeline(parts: 4) { scene in
            scene.events.commit { writer, now in
                for _ in 0..<1000 { writer.add(.connectionUp, at: now) }
            }
            scene.events.commit(at: 1, part: 3) { writer, now in
                for _ in 0..<5 { writer.add(.connectionUp, at: now) }
            }
            let page = try await page(scene, "?since=0&limit=20")
            #expect(page.lines.count == 20 && page.hasMore)
            #expect(numbers(page.lines).count { $0.part == 3 } == 5)
        }
    }

    @Test func `The last events of all parts are in the order of their times`() async throws {
        try await withPipeline(parts: 4) { scene in
            let all = fill(scene.events, segments: 600)
            let last = try await page(scene, "?last=50")
            #expect(numbers(last.lines) == Array(all.suffix(50)))
            #expect(last.nextPlace == last.newestPlace && last.nextPlace.description == "0:800,1:800,3:800")
            let none = try await page(scene, "?last=0")
            #expect(none.lines.isEmpty && none.nextPlace == last.nextPlace)
            let start = FakeEvents.start
            let middle = try await page(scene, "?since_at=\(start + 300)&until_at=\(start + 302)")
            #expect(numbers(middle.lines) == Array(all[1200..<1212]))
        }
    }

    @Test func `A long poll ends with an event of this node, and sees those of others`() async throws {
        try await withPipeline(parts: 4) { scene in
            fill(scene.events, segments: 3)
            let own = Task { try await page(scene, "?since=0:4,1:4,3:4&wait=3600") }
            await wait(while: scene.events.waiting.waiting == 0)
            scene.events.commit(part: 3) { writer, now in writer.add(.connectionUp, at: now) }
            #expect(numbers(try await own.value.lines) == [Number(part: 3, seq: 5)])
            let other = Task { try await page(scene, "?since=0:4,1:4,3:5&wait=3600") }
            await wait(while: scene.events.waiting.waiting == 0)
            scene.events.commit(part: 2, isForeign: true) { writer, now in writer.add(.connectionUp, at: now) }
            let found = try await other.value
            #expect(
                numbers(found.lines) == [Number(part: 2, seq: 1)] && found.nextPlace.description == "0:4,1:4,2:1,3:5")
        }
    }

    /// A client that reconnects with the last id that it has got continues behind it.
    @Test func `A live stream has places as ids`() async throws {
        try await withPipeline(parts: 4) { scene in
            let all = fill(scene.events, segments: 30)
            nonisolated(unsafe) let client = try scene.control.raw()
            nonisolated(unsafe) let again = try scene.control.raw()
            let head = "Host: x\r\nAccept: text/event-stream\r\n"
            try client.send("GET /v1/events?since=1:8 HTTP/1.1\r\n\(head)\r\n")
            let text = try await read(client) { $0.count("data: ") == 112 }
            let id = try #require(text.split(separator: "\n").last { $0.hasPrefix("id: ") }?.dropFirst(4))
            #expect(LogPosition(id.filter { $0 != "\r" })?.description == "0:40,1:40,3:40")
            let wanted = all.filter { $0.part != 1 || $0.seq > 8 }
            #expect(try seen(text).sorted() == wanted.sorted())
            try again.send(
                "GET /v1/events HTTP/1.1\r\n\(head)Last-Event-ID: \(id.filter { $0 != "\r" })\r\n\r\n")
            scene.events.commit(part: 2, isForeign: true) { writer, now in writer.add(.connectionUp, at: now) }
            let rest = try await read(again) { $0.contains("data: ") && $0.hasSuffix("\n\n\r\n") }
            #expect(try seen(rest) == [Number(part: 2, seq: 1)] && rest.contains("id: 0:40,1:40,2:1,3:40\n"))
        }
    }

    /// The messages of each part are merged by their times, and each is on one page.
    @Test(arguments: [1, 7, 200]) func `Messages of all parts are listed, the latest first`(_ limit: Int) async throws {
        try await withPipeline(parts: 4) { scene in
            fill(scene.events, segments: 30)
            var seen: [MessageSummary] = []
            var after = ""
            while true {
                let answer = try await scene.control.client.send("GET", to: "/v1/messages?limit=\(limit)\(after)")
                #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
                let page = try JSONDecoder().decode(MessageListAnswer.self, from: Data(answer.body))
                #expect(page.messages.count <= limit)
                seen += page.messages
                let members = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
                guard let next = members?["next"] as? String else { break }
                after = "&after=\(next)"
            }
            let names = seen.map { "\($0.app) \($0.id)" }
            #expect(seen.count == 60 && Set(names).count == 60)
            let times = seen.map { $0.acceptedAt?.milliseconds ?? 0 }
            #expect(times == times.sorted(by: >))
            #expect(seen.allSatisfy { $0.part != 0 && $0.seq ?? 0 <= 40 })
            #expect(Set(seen.map(\.part)) == [nil, 1, 3])
        }
    }

    @Test func `A delivery is traced, whatever part it is in`() async throws {
        try await withPipeline(parts: 4) { scene in
            fill(scene.events, segments: 9)
            scene.events.commit(part: 2) { writer, now in
                writer.add(.sent(providerID: nil), of: LogWriter.message("traced"), to: PipelineScene.id(1), at: now)
            }
            let answer = try await scene.control.client.send(
                "GET", to: "/v1/trace?apns_id=\(DeliveryID(high: 1, low: 2))")
            let page = try #require(EventPage(trace: answer.body))
            #expect(answer.status == 200 && numbers(page.lines) == [Number(part: 2, seq: 1)])
            #expect(!page.leavesOut.events)
            let list = try await scene.control.client.send("GET", to: "/v1/apps/shop/messages/traced/deliveries")
            let text = String(decoding: list.body, as: UTF8.self)
            #expect(text.contains(#""part":2"#) && text.contains(#""seq":1"#), "\(text)")
        }
    }

    private func seen(_ text: String) throws -> [Number] {
        numbers(text.split(separator: "\n").filter { $0.hasPrefix("data: ") }.map { Array($0.utf8.dropFirst(6)) })
    }

    private func read(_ client: sending RawClient, until isMet: @escaping @Sendable (String) -> Bool) async throws
        -> String
    {
        nonisolated(unsafe) let client = client
        return try await BlockingPool(name: "raw", threadCount: 1, queueLimit: 1).run {
            var text = ""
            while !isMet(text) { text += String(decoding: try client.some(), as: UTF8.self) }
            return text
        }
    }
}

extension String {
    fileprivate func count(_ word: String) -> Int {
        var (count, rest) = (0, self[...])
        while let range = rest.firstRange(of: word) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
