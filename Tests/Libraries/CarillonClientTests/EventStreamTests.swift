import TestSupport
import TestTraits
import Testing

@testable import CarillonClient

/// Tests of subscriptions with a scripted publisher.
@Suite(.waits) struct EventStreamTests {
    private func client(_ fake: FakeEvents, _ change: (inout ClientSettings) -> Void = { _ in }) throws
        -> CarillonClient
    {
        var settings = ClientSettings(endpoints: ["tcp://127.0.0.1:1"], events: [fake.publish], replay: [fake.replay])
        change(&settings)
        return try CarillonClient(settings)
    }

    /// Reads a number of events and leaves the loop.
    private func take(_ count: Int, of stream: EventStream) async throws -> [Int64] {
        var numbers: [Int64] = []
        for try await event in stream {
            numbers.append(event.number)
            if numbers.count == count { break }
        }
        return numbers
    }

    @Test func `The past comes from the next endpoint if the first does not answer`() async throws {
        let fake = try await FakeEvents()
        await fake.happen(30, isLost: true)
        let client = try client(fake) { $0.replay = ["tcp://127.0.0.1:1", fake.replay] }
        let reading = Task { try await take(40, of: client.events("delivery/", from: .beginning)) }
        await fake.subscriptions.wait(count: 2)
        await fake.happen(10)
        #expect(try await reading.value == Array(1...40))
        await client.shutdown()
        await fake.stop()
    }

    @Test func `Two publishers of one log lead to each event once`() async throws {
        let (one, two) = (try await FakeEvents(), try await FakeEvents())
        let client = try client(one) { $0.events.append(two.publish) }
        let reading = Task { try await take(40, of: client.events("delivery/", from: .beginning)) }
        await one.subscriptions.wait(count: 2)
        await two.subscriptions.wait(count: 2)
        for _ in 0..<4 {
            await two.happen(10)
            await one.happen(10)
        }
        #expect(try await reading.value == Array(1...40))
        await client.shutdown()
        await one.stop()
        await two.stop()
    }

    @Test func `Events of the past and of now are there once, and lost ones are replayed`() async throws {
        let fake = try await FakeEvents()
        await fake.happen(30, isLost: true)
        let client = try client(fake)
        let reading = Task { try await take(100, of: client.events("delivery/", from: .beginning)) }
        await fake.subscriptions.wait(count: 2)
        await fake.heartbeat()
        await fake.requests.wait(count: 1)
        await fake.happen(20)
        await fake.happen(10, isLost: true)
        await fake.happen(5, "message/shop/accepted")
        await fake.happen(20)
        await fake.happen(20, isLost: true)
        await fake.heartbeat()
        await fake.heartbeat()
        #expect(try await reading.value == Array(1...60) + Array(66...105))
        await client.shutdown()
        await fake.stop()
    }

    @Test func `An event has its members`() async throws {
        let fake = try await FakeEvents()
        await fake.happen(1, "message/shop/completed")
        let client = try client(fake)
        let reading = Task {
            var iterator = client.events(from: .beginning).makeAsyncIterator()
            return try await iterator.next()
        }
        await fake.subscriptions.wait(count: 2)
        await fake.heartbeat()
        let event = try #require(try await reading.value)
        #expect(event.kind == .messageCompleted && event.app == "shop" && event.messageID == "m-1")
        #expect(event.counts == ["sent": 1] && event.milliseconds == 5 && event.status == nil)
        #expect(event["v"] == 1 && event["none"] == nil)
        await client.shutdown()
        await fake.stop()
    }

    @Test func `Leaving the loop ends one subscription, and the cursor continues behind the last event`() async throws {
        let fake = try await FakeEvents()
        let directory = try TemporaryDirectory()
        let stream = { (client: CarillonClient) in client.events("delivery/", from: .cursor("\(directory.path)/cursor"))
        }
        await fake.happen(100, isLost: true)
        let first = try client(fake)
        await fake.beat()
        #expect(try await take(40, of: stream(first)) == Array(1...40))
        #expect(try await take(1, of: stream(first)) == [41])
        #expect(try await take(9, of: stream(first)) == Array(42...50))
        await first.shutdown()
        let second = try client(fake)
        #expect(try await take(50, of: stream(second)) == Array(51...100))
        await second.shutdown()
        await fake.stop()
    }

    @Test func `One subscription at a time uses a cursor, and a damaged cursor is an error`() async throws {
        let fake = try await FakeEvents()
        let directory = try TemporaryDirectory()
        let client = try client(fake)
        let path = "\(directory.path)/cursor"
        let waiting = Task { try await take(1, of: client.events(from: .cursor(path))) }
        await fake.subscriptions.wait(count: 2)
        await #expect(throws: EventError.cursor("another subscription uses the cursor \(path)")) {
            try await take(1, of: client.events(from: .cursor(path)))
        }
        waiting.cancel()
        #expect(try await waiting.value == [])
        let damaged = try directory.write("damaged", containing: "{\"base\":")
        await #expect(throws: EventError.self) { try await take(1, of: client.events(from: .cursor(damaged))) }
        let newer = try directory.write("newer", containing: #"{"v":2,"base":7}"#)
        let refusal = await #expect(throws: EventError.self) {
            try await take(1, of: client.events(from: .cursor(newer)))
        }
        #expect("\(refusal.map { "\($0)" } ?? "")".contains("newer CarillonClient (version 2)"))
        await client.shutdown()
        await #expect(throws: EventError.self) { try await take(1, of: client.events(from: .cursor(path))) }
        await fake.stop()
    }

    @Test func `A slow consumer gets everything, and what waits for it is bounded`() async throws {
        let fake = try await FakeEvents()
        let client = try client(fake) { $0.maxBufferedEventBytes = 50_000 }
        var iterator = client.events("delivery/", from: .beginning).makeAsyncIterator()
        let starting = Task { await fake.subscriptions.wait(count: 2) }
        let first = Task { @MainActor in
            await fake.subscriptions.wait(count: 2)
            await fake.happen(10, size: 1_000)
            await fake.heartbeat()
        }
        #expect(try await iterator.next()?.number == 1)
        _ = await (starting.value, first.value)
        // 40 MB are far more than all buffers hold, also those of the kernel: most of it is dropped on the way, and
        // asked for again.
        for _ in 0..<400 { await fake.happen(20, size: 5_000) }
        await fake.beat()
        for number in 2...Int64(8_010) {
            guard try await iterator.next()?.number == number else {
                Issue.record("an event is missing or twice before \(number)")
                break
            }
        }
        #expect(fake.requests.events.count > 1)
        await client.shutdown()
        #expect(try await iterator.next() == nil)
        await fake.stop()
    }

    @Test func `What waits is bounded, also if it has no events`() async {
        let buffer = EventBuffer(limit: 10_000)
        let count = (1...1_000).prefix { buffer.add([.mark($0, part: 0)]) }.count
        #expect((10..<999).contains(count))
        let batch = await buffer.next()
        #expect(batch.resumes && batch.deliveries.count == count + 1)
        #expect(buffer.add([.mark(2_000, part: 0)]))
    }

    @Test func `Garbage from both sockets loses and adds nothing`() async throws {
        var random = SystemRandomNumberGenerator()
        let noise = (0..<100).map { _ in
            (0..<Int.random(in: 0...200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        let fake = try await FakeEvents()
        await fake.spoilReplays(with: [])
        let client = try client(fake)
        let reading = Task { try await take(60, of: client.events(from: .beginning)) }
        await fake.subscriptions.wait(count: 2)
        await fake.happen(20, isLost: true)
        for bytes in noise {
            await fake.publish([bytes])
            await fake.publish([Array("heartbeat".utf8), bytes])
            await fake.publish([Array("delivery/shop/sent".utf8), bytes])
            await fake.publish([bytes, bytes, bytes])
        }
        await fake.happen(20)
        await fake.happen(20)
        // The publisher may drop what exceeds its queue, also the last events and a heartbeat.
        await fake.beat()
        #expect(try await reading.value == Array(1...60))
        await client.shutdown()
        await fake.stop()
    }

    @Test func `Events that retention dropped are a gap, once, and the cursor continues behind it`() async throws {
        let fake = try await FakeEvents()
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/cursor"
        await fake.happen(100, isLost: true)
        await fake.beat()
        let first = try client(fake)
        #expect(try await take(10, of: first.events("delivery/", from: .cursor(path))) == Array(1...10))
        await first.shutdown()
        await fake.forget(before: 50)
        let second = try client(fake)
        await #expect(throws: EventError.gap(from: 11, to: 49)) {
            try await take(1, of: second.events("delivery/", from: .cursor(path)))
        }
        await second.shutdown()
        // Also after a restart, the gap is behind the cursor.
        let third = try client(fake)
        #expect(try await take(51, of: third.events("delivery/", from: .cursor(path))) == Array(50...100))
        await third.shutdown()
        await fake.stop()
    }

    @Test func `What is dropped while a consumer is slow is a gap`() async throws {
        let fake = try await FakeEvents()
        let client = try client(fake)
        var iterator = client.events("delivery/", from: .beginning).makeAsyncIterator()
        let starting = Task {
            await fake.subscriptions.wait(count: 2)
            await fake.happen(10)
        }
        #expect(try await iterator.next()?.number == 1)
        await starting.value
        await fake.happen(30, isLost: true)
        await fake.forget(before: 35)
        await fake.happen(10)
        for number in 2...Int64(10) { #expect(try await iterator.next()?.number == number) }
        await #expect(throws: EventError.gap(from: 11, to: 34)) { try await iterator.next() }
        let position = iterator.position
        await fake.beat()
        #expect(try await take(16, of: client.events("delivery/", from: .after(position))) == Array(35...50))
        await client.shutdown()
        await fake.stop()
    }

    @Test func `What a consumer takes after the end of the client is behind the cursor`() async throws {
        let fake = try await FakeEvents()
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/cursor"
        await fake.happen(100, isLost: true)
        await fake.beat()
        let first = try client(fake)
        var numbers: [Int64] = []
        for try await event in first.events("delivery/", from: .cursor(path)) {
            numbers.append(event.number)
            if numbers.count == 10 { await first.shutdown() }
            if numbers.count == 40 { break }
        }
        #expect(numbers == Array(1...40))
        let second = try client(fake)
        #expect(try await take(60, of: second.events("delivery/", from: .cursor(path))) == Array(41...100))
        await second.shutdown()
        await fake.stop()
    }

    @Test func `A cursor is stored while events wait, not only when there are none`() async throws {
        let fake = try await FakeEvents()
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/cursor"
        await fake.happen(100, isLost: true)
        await fake.beat()
        let client = try client(fake) { $0.cursorInterval = .zero }
        var iterator = client.events("delivery/", from: .cursor(path)).makeAsyncIterator()
        for number in 1...Int64(30) { #expect(try await iterator.next()?.number == number) }
        func stored() -> EventPosition? {
            EventPosition(String(decoding: DiskFile.read(path, from: 0, count: 1 << 16), as: UTF8.self))
        }
        // The write is under way on another thread. The last event is not taken yet.
        await wait(while: stored()?.isMissing(29, of: "delivery/shop/sent") ?? true)
        #expect(stored()?.isMissing(30, of: "delivery/shop/sent") == true)
        await client.shutdown()
        await fake.stop()
    }

    @Test func `A cursor that cannot be written ends the stream with an error`() async throws {
        let fake = try await FakeEvents()
        let directory = try TemporaryDirectory()
        let client = try client(fake)
        await fake.beat()
        let reading = Task {
            try await take(.max, of: client.events("delivery/", from: .cursor("\(directory.path)/none/cursor")))
        }
        await fake.subscriptions.wait(count: 2)
        let happening = Task {
            while !Task.isCancelled {
                await fake.happen(1)
                await pace()
            }
        }
        await #expect {
            try await reading.value
        } throws: { error in
            if case EventError.cursor(let detail) = error { detail.contains("cannot write the cursor") } else { false }
        }
        happening.cancel()
        await happening.value
        await client.shutdown()
        await fake.stop()
    }

    @Test(arguments: ["", "{}", "{\"base\":1", "{\"base\":-1,\"topics\":{}}", "\u{0}\u{0}\u{0}\u{0}", "7"])
    func `A torn cursor is an error, and not a beginning`(_ text: String) async throws {
        let fake = try await FakeEvents()
        let directory = try TemporaryDirectory()
        let path = try directory.write("cursor", containing: text)
        let client = try client(fake)
        await #expect {
            try await take(1, of: client.events("delivery/", from: .cursor(path)))
        } throws: { error in
            if case EventError.cursor(let detail) = error { detail.contains("damaged") } else { false }
        }
        await client.shutdown()
        await fake.stop()
    }
}
