import Glibc
import PushRandom
import TestSupport
import Testing

@testable import CarillonClient

@Suite(.timeLimit(.minutes(10))) struct SpoolTests {
    private func settings(_ directory: TemporaryDirectory, _ change: (inout SpoolSettings) -> Void = { _ in })
        -> SpoolSettings
    {
        var settings = SpoolSettings(directory: "\(directory.path)/spool")
        settings.segmentBytes = 4_096
        change(&settings)
        return settings
    }

    private func requests(_ numbers: ClosedRange<Int>) -> [EncodedRequest] { numbers.map { request($0) } }

    private func request(_ number: Int, size: Int = 20) -> EncodedRequest {
        let envelope = "{\"id\":\"m-\(number)\",\"x\":\"\(String(repeating: "a", count: size))\"}"
        return EncodedRequest(
            .push, id: "m-\(number)", app: "shop", envelope: Array(envelope.utf8),
            payload: number % 2 == 0 ? Array("{}".utf8) : nil)
    }

    /// Opens a spool, and ends its thread afterwards.
    @discardableResult
    private func with<Result>(_ settings: SpoolSettings, _ body: (SpoolFiles) throws -> Result) async throws -> Result {
        let files = try SpoolFiles(settings)
        let result = Swift.Result { try body(files) }
        files.close()
        await files.executor.shutDown()
        return try result.get()
    }

    @Test func `Messages come back in their order after a restart, without those that were acknowledged`() async throws
    {
        let directory = try TemporaryDirectory()
        try await with(settings(directory)) { files in
            #expect(files.append(requests(1...100)).allSatisfy { $0 == nil })
            let read = files.read(upTo: 10, bytes: .max)
            #expect(read.map { $0.number } == Array(1...10) && read[0].request.envelope == request(1).envelope)
            #expect(files.acknowledge([1, 2, 3, 5]) == 97)
        }
        try await with(settings(directory)) { files in
            let rest = files.read(upTo: 1_000, bytes: .max)
            #expect(rest.map { $0.request.id } == (4...100).map { "m-\($0)" })
            #expect(files.append([request(101)]) == [nil])
            #expect(files.read(upTo: 9, bytes: .max).map { $0.number } == [101])
            #expect(files.acknowledge(Array(4...101)) == 0)
        }
        try await with(settings(directory)) { files in
            #expect(files.count == 0 && files.read(upTo: 9, bytes: .max).isEmpty)
            let left = try SpoolFile.numbers(in: settings(directory).directory)
            #expect(left.isEmpty)
            #expect(files.append([request(1)]) == [nil])
            #expect(files.read(upTo: 9, bytes: .max).map { $0.number } == [102], "a number is never used again")
        }
    }

    @Test func `A record that was not written completely is cut off, at each length`() async throws {
        for cut in stride(from: 1, to: 58, by: 3) {
            let directory = try TemporaryDirectory()
            try await with(settings(directory)) { files in
                _ = files.append(requests(1...3))
            }
            let path = SpoolFile.path(1, in: settings(directory).directory)
            let size = DiskFile.read(path, from: 0, count: 1 << 20).count
            #expect(truncate(path, off_t(size - cut)) == 0)
            try await with(settings(directory)) { files in
                let ids = files.read(upTo: 9, bytes: .max).map { $0.request.id }
                #expect(ids == ["m-1", "m-2"])
                #expect(files.append([request(7)]) == [nil])
                #expect(files.read(upTo: 9, bytes: .max).map { $0.request.id } == ["m-7"])
            }
        }
    }

    @Test func `A damaged byte never makes another message`() async throws {
        let directory = try TemporaryDirectory()
        try await with(settings(directory)) { files in _ = files.append(requests(1...5)) }
        let path = SpoolFile.path(1, in: settings(directory).directory)
        let whole = DiskFile.read(path, from: 0, count: 1 << 20)
        let known = Set(requests(1...5).map { $0.envelope })
        for place in whole.indices {
            var bytes = whole
            bytes[place] ^= 0x10
            var at = 0
            while let (record, end) = SpoolRecord.read(bytes, at: at) {
                #expect(known.contains(record.request.envelope))
                at = end
            }
            #expect(at <= place, "nothing is read from behind the damage")
        }
    }

    @Test func `A full spool refuses, and has room again after acknowledgments`() async throws {
        let directory = try TemporaryDirectory()
        try await with(settings(directory) { $0.maxBytes = 4_096 }) { files in
            let results = files.append(requests(1...100))
            let stored = results.filter { $0 == nil }.count
            #expect(stored > 20 && stored < 100 && results.last == .spoolFull)
            let read = files.read(upTo: 1_000, bytes: .max)
            #expect(read.count == stored)
            #expect(files.acknowledge(read.map { $0.number }) == 0)
            #expect(files.append([request(200)]) == [nil])
        }
    }

    @Test func `A large message has a place, also one that exceeds a file`() async throws {
        let directory = try TemporaryDirectory()
        try await with(settings(directory) { $0.maxBytes = 1 << 24 }) { files in
            #expect(files.append([request(1), request(2, size: 3 << 20), request(3)]) == [nil, nil, nil])
            var ids: [String] = []
            while case let some = files.read(upTo: 1, bytes: .max), !some.isEmpty { ids += some.map { $0.request.id } }
            #expect(ids == ["m-1", "m-2", "m-3"])
        }
        try await with(settings(directory) { $0.maxBytes = 1 << 24 }) { files in #expect(files.count == 3) }
    }

    @Test func `One process at a time uses a spool`() async throws {
        let directory = try TemporaryDirectory()
        try await with(settings(directory)) { _ in
            #expect(throws: ClientError.self) { try SpoolFiles(settings(directory)) }
        }
        try await with(settings(directory)) { _ in }
    }

    @Test func `A spool of a later version is refused by name`() async throws {
        let directory = try TemporaryDirectory()
        try await with(settings(directory)) { _ in }
        _ = try directory.write("spool/version", containing: "2\n")
        let refusal = #expect(throws: ClientError.self) { try SpoolFiles(settings(directory)) }
        #expect("\(refusal.map { "\($0)" } ?? "")".contains("newer CarillonClient (version 2)"))
        _ = try directory.write("spool/version", containing: "1\n")
        try await with(settings(directory)) { _ in }
    }

    @Test(arguments: 0..<20)
    func `The bookkeeping keeps its promises on a random walk`(_ seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        var machine = SpoolMachine(maxBytes: 5_000, segmentBytes: 700, segments: [], cursor: 1, last: 0)
        var stored: Set<UInt64> = []
        var removed: Set<UInt64> = []
        for _ in 0..<2_000 {
            if random.unit() < 0.5 {
                let number = machine.next
                let length = Int.random(in: 1...400, using: &random)
                if machine.add(length) == .full {
                    #expect(machine.bytes + Int64(length) > 5_000)
                } else {
                    stored.insert(number)
                }
                #expect(machine.bytes <= 5_000)
            } else if let number = stored.randomElement(using: &random) {
                stored.remove(number)
                _ = machine.acknowledge(number)
                #expect(machine.cursor == stored.min() ?? machine.next)
            }
            if random.unit() < 0.2 {
                for segment in machine.removeDone() {
                    #expect(removed.insert(segment.first).inserted)
                    #expect(stored.allSatisfy { $0 >= machine.segments.first?.first ?? machine.next })
                }
            }
            #expect(machine.count >= UInt64(stored.count))
        }
    }
}
