import Glibc
import PushRandom
import PushTime
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import CarillonClient

@Suite(.waits) struct SpoolTests {
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
            let read = files.read(upTo: 10, bytes: .max).records
            #expect(read.map { $0.number } == Array(1...10) && read[0].request.envelope == request(1).envelope)
            #expect(files.acknowledge([1, 2, 3, 5]) == 97)
        }
        try await with(settings(directory)) { files in
            let rest = files.read(upTo: 1_000, bytes: .max).records
            #expect(rest.map { $0.request.id } == (4...100).map { "m-\($0)" })
            #expect(files.append([request(101)]) == [nil])
            #expect(files.read(upTo: 9, bytes: .max).records.map { $0.number } == [101])
            #expect(files.acknowledge(Array(4...101)) == 0)
        }
        try await with(settings(directory)) { files in
            #expect(files.count == 0 && files.read(upTo: 9, bytes: .max).records.isEmpty)
            let left = try SpoolFile.numbers(in: settings(directory).directory)
            #expect(left.isEmpty)
            #expect(files.append([request(1)]) == [nil])
            #expect(files.read(upTo: 9, bytes: .max).records.map { $0.number } == [102], "a number is never used again")
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
                let ids = files.read(upTo: 9, bytes: .max).records.map { $0.request.id }
                #expect(ids == ["m-1", "m-2"])
                #expect(files.append([request(7)]) == [nil])
                #expect(files.read(upTo: 9, bytes: .max).records.map { $0.request.id } == ["m-7"])
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

    /// Returns the places of the records in a file.
    private func places(in path: String) -> [Int] {
        let bytes = DiskFile.read(path, from: 0, count: 1 << 20)
        var places: [Int] = []
        var at = 0
        while let (_, end) = SpoolRecord.read(bytes, at: at) {
            places.append(at)
            at = end
        }
        return places
    }

    /// Changes one byte of a file.
    private func damage(_ path: String, at place: Int) throws {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var byte = try #require(DiskFile.read(descriptor, from: Int64(place), count: 1).first) ^ 0x10
        try #require(pwrite(descriptor, &byte, 1, off_t(place)) == 1)
    }

    @Test func `A damaged message is reported and costs no other one, and its file is kept`() async throws {
        let directory = try TemporaryDirectory()
        try await with(settings(directory)) { files in _ = files.append(requests(1...10)) }
        let path = SpoolFile.path(1, in: settings(directory).directory)
        try damage(path, at: places(in: path)[4] + 20)
        try await with(settings(directory)) { files in
            #expect(files.cutBytes == 0 && files.count == 10)
            let page = files.read(upTo: 100, bytes: .max)
            #expect(page.records.map { $0.number } == [1, 2, 3, 4, 6, 7, 8, 9, 10] && page.lost == [5...5])
            #expect(page.problem == nil && files.count == 9)
            #expect(files.acknowledge(page.records.map { $0.number }) == 0)
        }
        #expect(access(path, F_OK) != 0 && access("\(path).damaged", F_OK) == 0)
        try await with(settings(directory)) { files in
            #expect(files.count == 0 && files.append([request(11)]) == [nil])
            #expect(files.read(upTo: 9, bytes: .max).records.map { $0.number } == [11])
        }
    }

    @Test func `A file that is broken in the middle, or gone, is reported and costs no other file`() async throws {
        let directory = try TemporaryDirectory()
        try await with(settings(directory)) { files in _ = files.append(requests(1...200)) }
        let firsts = try SpoolFile.numbers(in: settings(directory).directory)
        try #require(firsts.count >= 4)
        let path = SpoolFile.path(firsts[0], in: settings(directory).directory)
        // A length that is too large: the place of the next record is not known.
        try damage(path, at: places(in: path)[3] + 2)
        try #require(unlink(SpoolFile.path(firsts[2], in: settings(directory).directory)) == 0)
        try await with(settings(directory)) { files in
            let page = files.read(upTo: 1_000, bytes: .max)
            let (lost, gone) = (4...(firsts[1] - 1), firsts[2]...(firsts[3] - 1))
            #expect(page.lost == [lost, gone])
            let kept = (1...200).filter { !lost.contains($0) && !gone.contains($0) }
            #expect(page.records.map { $0.number } == kept)
            #expect(files.count == kept.count && files.acknowledge(kept) == 0)
        }
        let left = try SpoolFile.numbers(in: settings(directory).directory)
        #expect(left.isEmpty)
    }

    @Test(arguments: 0..<40)
    func `Whatever is damaged, each message comes back as it was or is reported`(_ seed: Int) async throws {
        var random = SeededRandom(seed: UInt64(seed))
        let directory = try TemporaryDirectory()
        let count = Int.random(in: 20...200, using: &random)
        try await with(settings(directory)) { files in _ = files.append(requests(1...count)) }
        let folder = settings(directory).directory
        let firsts = try SpoolFile.numbers(in: folder)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let path = SpoolFile.path(try #require(firsts.randomElement(using: &random)), in: folder)
            let size = DiskFile.read(path, from: 0, count: 1 << 20).count
            guard size > 0 else { continue }
            let place = Int.random(in: 0..<size, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            // Without its first file, a spool is one whose first messages are acknowledged.
            case 0 where path != SpoolFile.path(1, in: folder): unlink(path)
            case 1: truncate(path, off_t(place))
            default: try damage(path, at: place)
            }
        }
        try await with(settings(directory)) { files in
            var (numbers, lost) = ([UInt64](), Set<UInt64>())
            while true {
                let page = files.read(upTo: Int.random(in: 1...50, using: &random), bytes: .max)
                #expect(page.problem == nil)
                for numbers in page.lost { lost.formUnion(numbers) }
                for record in page.records {
                    #expect(record.request.envelope == request(Int(record.number)).envelope)
                }
                numbers += page.records.map { $0.number }
                if page.records.isEmpty, page.lost.isEmpty { break }
            }
            #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 } && lost.isDisjoint(with: numbers))
            // Only the end of the newest file is cut off, as after a kill.
            let top = max(numbers.last ?? 0, lost.max() ?? 0)
            #expect(lost.union(numbers) == (top > 0 ? Set(1...top) : []))
            #expect(files.count == numbers.count && files.acknowledge(numbers) == 0)
            #expect(files.append([request(1)]) == [nil])
        }
    }

    @Test func `A file that cannot be read now is read later`() async throws {
        let directory = try TemporaryDirectory()
        try await with(settings(directory)) { files in
            _ = files.append(requests(1...5))
            let path = SpoolFile.path(1, in: settings(directory).directory)
            #expect(rename(path, "\(path).aside") == 0 && symlink(path, path) == 0)
            let page = files.read(upTo: 9, bytes: .max)
            #expect(page.problem != nil && page.records.isEmpty && page.lost.isEmpty && files.count == 5)
            #expect(unlink(path) == 0 && rename("\(path).aside", path) == 0)
            #expect(files.read(upTo: 9, bytes: .max).records.map { $0.number } == Array(1...5))
        }
    }

    @Test(arguments: ["", "17", "9 0\n", "\u{0}\u{0}\u{0}"])
    func `With a torn cursor, messages come again, and none is missing`(_ text: String) async throws {
        let directory = try TemporaryDirectory()
        try await with(settings(directory)) { files in
            _ = files.append(requests(1...200))
            let page = files.read(upTo: 150, bytes: .max)
            _ = files.acknowledge(page.records.map { $0.number })
        }
        let first = try #require(try SpoolFile.numbers(in: settings(directory).directory).first)
        try #require(first > 1 && first <= 151)
        _ = try directory.write("spool/cursor", containing: text)
        try await with(settings(directory)) { files in
            #expect(files.count == Int(201 - first), "files that are gone do not count")
            #expect(files.read(upTo: 1_000, bytes: .max).records.map { $0.number } == Array(first...200))
        }
    }

    @Test func `Foreign files in the directory change nothing`() async throws {
        let directory = try TemporaryDirectory()
        try await with(settings(directory)) { _ in }
        let names = [
            "ffffffffffffffff.spool", "notes", "0000000000000000.spool", "x.spool", "00000000000000AB.spool",
            "+00000000000000a.spool",
        ]
        for name in names {
            _ = try directory.write("spool/\(name)", containing: "abc")
        }
        try await with(settings(directory)) { files in
            #expect(files.count == 0 && files.append([request(1)]) == [nil])
            #expect(files.read(upTo: 9, bytes: .max).records.map { $0.number } == [1])
        }
    }

    @Test func `A full spool refuses, and has room again after acknowledgments`() async throws {
        let directory = try TemporaryDirectory()
        try await with(settings(directory) { $0.maxBytes = 4_096 }) { files in
            let results = files.append(requests(1...100))
            let stored = results.filter { $0 == nil }.count
            #expect(stored > 20 && stored < 100 && results.last == .spoolFull)
            let read = files.read(upTo: 1_000, bytes: .max).records
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
            while case let some = files.read(upTo: 1, bytes: .max).records, !some.isEmpty {
                ids += some.map { $0.request.id }
            }
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
        _ = try directory.write("spool/version", containing: "3\n")
        let refusal = #expect(throws: ClientError.self) { try SpoolFiles(settings(directory)) }
        #expect("\(refusal.map { "\($0)" } ?? "")".contains("newer CarillonClient (version 3)"))
        _ = try directory.write("spool/version", containing: "1\n")
        try await with(settings(directory)) { _ in }
    }

    /// A record of version 1.
    private func oldRecord(_ number: UInt64, _ request: EncodedRequest) -> [UInt8] {
        var body: [UInt8] = []
        body.appendWord(number)
        body.append(request.payload == nil ? 0 : 1)
        body.appendText(request.id)
        body.appendText(request.app)
        body.appendBytes(request.envelope)
        if let payload = request.payload { body.appendBytes(payload) }
        let words = [UInt32(body.count), SpoolRecord.checksum(of: body)]
        return words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } } + body
    }

    @Test func `A spool of the first version is read and continued, and then is of this version`() async throws {
        let directory = try TemporaryDirectory()
        let folder = settings(directory).directory
        try #require(mkdir(folder, 0o700) == 0)
        let old = (1...3).flatMap { oldRecord(UInt64($0), request($0)) }
        _ = try directory.write("spool/0000000000000001.spool", bytes: old)
        let now = WallTime(seconds: 1_800_000_000)
        try await with(settings(directory)) { files in
            #expect(files.count == 3 && files.cutBytes == 0)
            #expect(files.append([request(4), request(5)], now: now) == [nil, nil])
        }
        try await with(settings(directory)) { files in
            let records = files.read(upTo: 9, bytes: .max).records
            #expect(records.map { $0.request.envelope } == requests(1...5).map { $0.envelope })
            #expect(records.map { $0.request.payload } == requests(1...5).map { $0.payload })
            let first = now - settings(directory).answerWithin
            #expect(records.map { $0.time } == [nil, nil, nil, first, first])
        }
        #expect(String(decoding: DiskFile.read("\(folder)/version", from: 0, count: 9), as: UTF8.self) == "2\n")
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
