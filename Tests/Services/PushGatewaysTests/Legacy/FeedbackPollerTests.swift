import APNs
import FoundationEssentials
import PushGateways
import PushLoop
import PushModel
import PushTransport
import TestSupport
import TestTraits
import Testing

private func gone(_ number: UInt64) -> FeedbackTuple {
    var token = [UInt8](repeating: 0x0a, count: 32)
    for index in 0..<8 { token[index] = UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * index)) }
    return FeedbackTuple(time: UInt32(1_700_000_000 + number), token: Address(bytes: token)!)
}

private let app = AppID("shop")!

/// Records batches, or fails the given number of times.
private final class RecordingSink: FeedbackSink {
    struct Refused: Error {}

    let batches = EventRecorder<[FeedbackTuple]>()
    let calls = EventRecorder<Int>()
    private let refusals: Locked<Int>
    private let beforeTaking: @Sendable ([FeedbackTuple]) -> Void

    init(refusing refusals: Int = 0, beforeTaking: @escaping @Sendable ([FeedbackTuple]) -> Void = { _ in }) {
        self.refusals = Locked(refusals)
        self.beforeTaking = beforeTaking
    }

    func take(_ tuples: [FeedbackTuple], of app: AppID) async throws {
        beforeTaking(tuples)
        calls.record(tuples.count)
        let isRefused = refusals.withLock { left in
            left -= 1
            return left >= 0
        }
        if isRefused { throw Refused() }
        batches.record(tuples)
    }

    var taken: [FeedbackTuple] { batches.events.flatMap { $0 } }

    func until(_ count: Int) async {
        await batches.wait { $0.reduce(0) { $0 + $1.count } >= count }
    }
}

/// Tests of the poller against the simulated feedback service, over real TLS.
@Suite(.waits) struct FeedbackPollerTests {
    private static let quiet = Logger("feedback", to: LogOutput(descriptor: 2, level: .error))

    private func poller(
        _ apple: LegacyApple, _ spool: FeedbackSpool, _ sink: RecordingSink, at endpoint: HostPort? = nil,
        _ change: (inout FeedbackPoller.Settings) -> Void = { _ in }
    ) throws -> FeedbackPoller {
        var settings = FeedbackPoller.Settings(
            tls: try LegacyApple.clientTLS(), serverName: "127.0.0.1", resolver: apple.resolver)
        settings.schedule.jitter = .zero
        settings.schedule.sinkBackoff.first = .milliseconds(10)
        settings.connectTimeout = .seconds(300)
        settings.silenceLimit = .seconds(300)
        change(&settings)
        return FeedbackPoller(
            app: app, on: apple.clientLoop, to: endpoint ?? apple.feedback, settings: settings, spool: spool,
            sink: sink,
            log: Self.quiet)
    }

    @Test func `Tuples are on disk before the sink receives them, and are removed when it has taken them`() async throws
    {
        let directory = try TemporaryDirectory()
        try await withLegacyApple { apple in
            await apple.fillFeedback(0..<2500)
            let spool = FeedbackSpool(directory: directory.path, app: app, pool: apple.pool)
            let path = spool.path
            let sink = RecordingSink { tuples in
                let spooled = FileManager.default.contents(atPath: path).map { [UInt8]($0) } ?? []
                #expect(FeedbackFile.holds(tuples, spooled))
            }
            let poller = try poller(apple, spool, sink)
            await poller.start()
            await sink.until(2500)
            await poller.stop()
            #expect(Set(sink.taken) == Set((0..<2500).map { gone($0) }) && sink.taken.count == 2500)
            #expect(sink.batches.events.allSatisfy { $0.count <= 1000 })
            #expect(!FileManager.default.fileExists(atPath: path))
            let status = await poller.status
            #expect(status.received == 2500 && status.taken == 2500 && status.lost == 0 && !status.isBehind)
        }
    }

    @Test func `A list that ends within a tuple yields the tuples before, and is counted`() async throws {
        let directory = try TemporaryDirectory()
        try await withLegacyApple(script: #"{ rules: [{ on: "feedback", half_frame: true }] }"#) { apple in
            await apple.fillFeedback(0..<500)
            let spool = FeedbackSpool(directory: directory.path, app: app, pool: apple.pool)
            let sink = RecordingSink()
            let poller = try poller(apple, spool, sink)
            await poller.start()
            await sink.until(499)
            await wait(while: await poller.status.truncated == 0)
            await poller.stop()
            #expect(sink.taken.count == 499)
        }
    }

    @Test func `Tuples that the sink does not take wait in the spool, for this run or the next`() async throws {
        let directory = try TemporaryDirectory()
        try await withLegacyApple { apple in
            await apple.fillFeedback(0..<3000)
            let spool = FeedbackSpool(directory: directory.path, app: app, pool: apple.pool)
            let stubborn = RecordingSink(refusing: .max)
            let first = try poller(apple, spool, stubborn)
            await first.start()
            await stubborn.calls.wait(count: 3)
            await wait(while: await first.status.received < 3000)
            await first.stop()
            let status = await first.status
            #expect(stubborn.taken.isEmpty && status.isBehind && status.lost == 0 && status.polls == 1)
            // A new object with the same file, as after a crash.
            let again = FeedbackSpool(directory: directory.path, app: app, pool: apple.pool)
            let hesitant = RecordingSink(refusing: 2)
            let second = try poller(apple, again, hesitant)
            await second.start()
            await hesitant.until(3000)
            await second.stop()
            #expect(Set(hesitant.taken) == Set((0..<3000).map { gone($0) }))
            #expect(!FileManager.default.fileExists(atPath: again.path))
        }
    }

    @Test func `An endless list is read at the sink's pace and stopped at any time`() async throws {
        let directory = try TemporaryDirectory()
        let tuple: [UInt8] = [0, 0, 0, 1, 0, 4, 1, 2, 3, 4]
        let bytes = Array(repeatElement(tuple, count: 1000).joined())
        try await TalkingPeer.run(sending: bytes, endlessly: true) { apple, endpoint in
            let spool = FeedbackSpool(directory: directory.path, app: app, pool: apple.pool)
            let sink = RecordingSink()
            let poller = try poller(apple, spool, sink, at: endpoint) { $0.batchSize = 500 }
            await poller.start()
            await sink.until(50_000)
            await poller.stop()
            let status = await poller.status
            #expect(status.received == status.taken && Int(status.taken) == sink.taken.count && status.lost == 0)
            #expect(sink.batches.events.allSatisfy { $0.count <= 500 })
        }
    }

    @Test func `Garbage is skipped, and malformed tokens are counted`() async throws {
        let directory = try TemporaryDirectory()
        let bytes: [UInt8] =
            [0, 0, 0, 1, 0, 0] + [0, 0, 0, 2, 0, 1, 0xaa] + [0, 0, 0, 3, 1, 0] + [UInt8](repeating: 7, count: 256)
        try await TalkingPeer.run(sending: bytes + Array("HTTP/1.1 400 Bad Request".utf8)) { apple, endpoint in
            let spool = FeedbackSpool(directory: directory.path, app: app, pool: apple.pool)
            let sink = RecordingSink()
            let poller = try poller(apple, spool, sink, at: endpoint)
            await poller.start()
            await wait(while: await poller.status.malformed == 0)
            await poller.stop()
            let status = await poller.status
            #expect(sink.taken == [FeedbackTuple(time: 2, token: Address(bytes: [0xaa])!)])
            #expect(status.malformed == 3 && status.truncated == 1)
        }
    }

    @Test func `Polls of a silent and of an unreachable service fail`() async throws {
        let directory = try TemporaryDirectory()
        let script = #"{ rules: [{ on: "feedback", silence: true }] }"#
        try await withLegacyApple(script: script, clientClock: .manual()) { apple in
            let spool = FeedbackSpool(directory: directory.path, app: app, pool: apple.pool)
            let silent = try poller(apple, spool, RecordingSink()) { $0.silenceLimit = .seconds(60) }
            await silent.start()
            await apple.until { $0.connectionCount == 1 }
            while await silent.status.failedPolls == 0 { await apple.clientLoop.advance(by: .seconds(60)) }
            await silent.stop()
            let nobody = try poller(apple, spool, RecordingSink(), at: HostPort(host: "127.0.0.1", port: 1))
            await nobody.start()
            await wait(while: await nobody.status.failedPolls == 0)
            await nobody.stop()
        }
    }

    @Test func `A poller that waits for its time stops at once, also while a peer is silent`() async throws {
        let directory = try TemporaryDirectory()
        try await withLegacyApple(script: #"{ rules: [{ on: "feedback", silence: true }] }"#) { apple in
            let spool = FeedbackSpool(directory: directory.path, app: app, pool: apple.pool)
            let waiting = try poller(apple, spool, RecordingSink()) { $0.schedule.jitter = .seconds(1_000_000) }
            await waiting.start()
            await waiting.stop()
            let reading = try poller(apple, spool, RecordingSink())
            await reading.start()
            await apple.until { $0.connectionCount == 1 }
            await reading.stop()
            #expect(await reading.status.failedPolls == 0)
        }
    }
}

/// Reads a spool file byte by byte, according to its documented format. It shares no code with the spool.
enum FeedbackFile {
    static func holds(_ tuples: [FeedbackTuple], _ bytes: [UInt8]) -> Bool {
        var found: Set<FeedbackTuple> = []
        var offset = 0
        while offset < bytes.count {
            let length = Int(bytes[offset])
            guard offset + 9 + length <= bytes.count else { break }
            let time = bytes[offset + 1..<offset + 5].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            guard let token = Address(bytes: bytes[offset + 5..<offset + 5 + length]) else { break }
            found.insert(FeedbackTuple(time: time, token: token))
            offset += 9 + length
        }
        return found.isSuperset(of: tuples)
    }
}

@Suite(.waits) struct FeedbackSpoolTests {
    private func withSpool(limit: Int = 64 << 20, _ body: (FeedbackSpool, () -> FeedbackSpool) async throws -> Void)
        async throws
    {
        let directory = try TemporaryDirectory()
        let pool = BlockingPool(name: "spool", threadCount: 1, queueLimit: 4)
        let make = { FeedbackSpool(directory: directory.path, app: app, pool: pool, limit: limit) }
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(make(), make))
        } catch {
            outcome = .failure(error)
        }
        await pool.shutDown()
        try outcome.get()
    }

    private func all(_ spool: FeedbackSpool, by limit: Int = 1000) async throws -> (tuples: [FeedbackTuple], torn: Int)
    {
        var tuples: [FeedbackTuple] = []
        var offset: Int? = 0
        var torn = 0
        while let next = offset {
            let piece = try await spool.read(from: next, limit: limit)
            #expect(piece.tuples.count <= limit)
            tuples += piece.tuples
            torn = piece.torn
            offset = piece.next
        }
        return (tuples, torn)
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    @Test func `Appended tuples are read in batches, and clearing removes the file`() async throws {
        try await withSpool { spool, make in
            #expect(try await all(spool).tuples.isEmpty)
            // The file is longer than one read.
            let tuples = (0..<10_000).map { gone($0) }
            for start in stride(from: 0, to: 10_000, by: 2500) {
                try await spool.append(Array(tuples[start..<start + 2500]))
            }
            for limit in [999, 1000, .max] {
                #expect(try await all(make(), by: limit).tuples == tuples)
            }
            try await spool.clear()
            #expect(!FileManager.default.fileExists(atPath: spool.path))
            #expect(try await all(spool).tuples.isEmpty)
            try await spool.clear()
            try await spool.append([gone(1)])
            #expect(try await all(make()).tuples == [gone(1)])
        }
    }

    @Test func `After a crash at any byte the complete records are kept, and appending continues`() async throws {
        try await withSpool { spool, make in
            let tuples = (0..<5).map { gone($0) }
            try await spool.append(tuples)
            let bytes = [UInt8](FileManager.default.contents(atPath: spool.path)!)
            #expect(bytes.count == 5 * 41)
            for cut in 0...bytes.count {
                try write(Array(bytes[..<cut]), to: spool.path)
                let recovered = try await all(make(), by: 2)
                #expect(recovered.tuples == Array(tuples[..<(cut / 41)]) && recovered.torn == cut % 41)
                // A new spool that appends before it reads.
                try await make().append([gone(77)])
                let after = try await all(make(), by: 2)
                #expect(after.tuples == Array(tuples[..<(cut / 41)]) + [gone(77)] && after.torn == 0)
            }
        }
    }

    @Test func `A damaged record ends the reading and is reported`() async throws {
        try await withSpool { spool, make in
            try await spool.append((0..<5).map { gone($0) })
            var bytes = [UInt8](FileManager.default.contents(atPath: spool.path)!)
            bytes[41 * 2 + 10] ^= 1
            try write(bytes, to: spool.path)
            let recovered = try await all(make())
            #expect(recovered.tuples == [gone(0), gone(1)] && recovered.torn == 3 * 41)
        }
    }

    @Test func `A spool has a maximum size, and a path that cannot be written is reported`() async throws {
        try await withSpool(limit: 100) { spool, _ in
            try await spool.append([gone(1), gone(2)])
            await #expect(throws: FeedbackSpool.Failure.self) { try await spool.append([gone(3)]) }
            #expect(try await all(spool).tuples == [gone(1), gone(2)])
        }
        let pool = BlockingPool(name: "spool", threadCount: 1, queueLimit: 4)
        let nowhere = FeedbackSpool(directory: "/nonexistent/place", app: app, pool: pool)
        await #expect(throws: FeedbackSpool.Failure.self) { try await nowhere.append([gone(1)]) }
        await pool.shutDown()
    }
}
