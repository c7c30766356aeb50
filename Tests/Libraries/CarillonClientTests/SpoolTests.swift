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
            #expect(files.acknowledge([1, 2, 3, 5]) == 96)
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

    /// Returns the numbers of the records that a reader finds in a file.
    private func numbers(in descriptor: CInt, size: Int) -> [UInt64] {
        var reader = SpoolReader(descriptor, from: 0, number: 1, size: Int64(size))
        var numbers: [UInt64] = []
        while true {
            switch reader.next() {
            case .record(let record): numbers.append(record.number)
            case .damaged: break
            case .broken, .gaveUp, .failed, .end: return numbers
            }
        }
    }

    @Test func `Each bit that is flipped costs the message that it is in, and no other`() async throws {
        let directory = try TemporaryDirectory()
        let whole = (1...10).map { number in
            var bytes: [UInt8] = []
            SpoolRecord.append(
                request(number, size: 0), number: UInt64(number), time: WallTime(seconds: 1_800_000_000), to: &bytes)
            return bytes
        }
        let file = try directory.write("file", bytes: whole.flatMap { $0 })
        let descriptor = open(file, O_RDWR | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let size = whole.map { $0.count }.reduce(0, +)
        var place = 0
        for (hit, record) in whole.enumerated() {
            let others = (1...10).filter { $0 != UInt64(hit) + 1 }
            for byte in record {
                for bit in 0..<8 {
                    var flipped = byte ^ (1 << UInt8(bit))
                    try #require(pwrite(descriptor, &flipped, 1, off_t(place)) == 1)
                    let found = numbers(in: descriptor, size: size)
                    if found != others { Issue.record("bit \(bit) of byte \(place) leaves \(found)") }
                }
                var byte = byte
                try #require(pwrite(descriptor, &byte, 1, off_t(place)) == 1)
                place += 1
            }
        }
    }

    @Test func `Damage in the newest file is reported, and only a torn end is cut off`() async throws {
        let directory = try TemporaryDirectory()
        try await with(settings(directory)) { files in _ = files.append(requests(1...10)) }
        let path = SpoolFile.path(1, in: settings(directory).directory)
        let places = places(in: path)
        // The length of one message, and the texts of two that lie side by side.
        for place in [places[2] + 2, places[5] + 30, places[6] + 30] { try damage(path, at: place) }
        #expect(truncate(path, off_t(places[9] + 20)) == 0)
        try await with(settings(directory)) { files in
            #expect(files.cutBytes == 20)
            let page = files.read(upTo: 100, bytes: .max)
            #expect(page.records.map { $0.number } == [1, 2, 4, 5, 8, 9] && page.lost == [3...3, 6...7])
            #expect(files.append([request(10)]) == [nil])
            #expect(files.read(upTo: 9, bytes: .max).records.map { $0.number } == [10])
            #expect(files.acknowledge([1, 2, 4, 5, 8, 9, 10]) == 0)
        }
        #expect(access(path, F_OK) != 0 && access("\(path).damaged", F_OK) == 0)
    }

    @Test func `What lies within a damaged message is not taken for a message, however much there is`() async throws {
        let directory = try TemporaryDirectory()
        let settings = settings(directory) { $0.segmentBytes = 1 << 24 }
        let path = SpoolFile.path(1, in: settings.directory)
        try await with(settings) { files in
            _ = files.append(requests(1...2))
            // An earlier record, and heads with a number that may follow, each of a record up to the end.
            var payload = DiskFile.read(path, from: 0, count: 1 << 20)
            var left = 1 << 18
            while left > 100 {
                payload += (0..<4).map { UInt8(truncatingIfNeeded: left >> (8 * $0)) } + [1, 2, 3, 4]
                payload.appendWord(5)
                left -= 16
            }
            let forged = EncodedRequest(.push, id: "m-3", app: "shop", envelope: Array("{}".utf8), payload: payload)
            #expect(files.append([forged] + requests(4...5)) == [nil, nil, nil])
        }
        let place = places(in: path)[2]
        try damage(path, at: place + 1)
        try await with(settings) { files in
            #expect(files.cutBytes == 0 && files.count == 3, "what is not found counts as one")
            #expect(files.append([request(9)]) == [nil])
        }
        try await with(settings) { files in
            let firsts = try SpoolFile.numbers(in: settings.directory)
            #expect(firsts == [1, 4], "nothing is written behind it")
            let page = files.read(upTo: 100, bytes: .max)
            #expect(page.records.map { $0.request.id } == ["m-1", "m-2", "m-9"] && page.lost == [3...3])
            #expect(files.acknowledge(page.records.map { $0.number }) == 0)
        }
        #expect(access(path, F_OK) != 0 && access("\(path).damaged", F_OK) == 0)
    }

    @Test func `If it cannot be stored which files are removed, those that are first are removed`() async throws {
        let directory = try TemporaryDirectory()
        let folder = settings(directory).directory
        try await with(settings(directory)) { files in
            _ = files.append(requests(1...200))
            let firsts = try SpoolFile.numbers(in: folder)
            try #require(firsts.count >= 4)
            func exists(_ index: Int) -> Bool { access(SpoolFile.path(firsts[index], in: folder), F_OK) == 0 }
            // A file cannot take the name of a directory.
            #expect(mkdir("\(folder)/removed", 0o700) == 0)
            _ = files.read(upTo: 1_000, bytes: .max)
            _ = files.acknowledge(Array(firsts[2]..<firsts[3]))
            #expect(exists(2) && files.takeProblem()?.contains("/removed: ") == true)
            _ = files.acknowledge(Array(firsts[0]..<firsts[1]))
            #expect(!exists(0) && exists(1) && exists(2))
            #expect(files.takeProblem() == nil, "it is reported once")
            #expect(rmdir("\(folder)/removed") == 0)
            _ = files.acknowledge([firsts[1]])
            #expect(exists(1) && !exists(2) && files.takeProblem() == nil)
        }
        try await with(settings(directory)) { files in
            let page = files.read(upTo: 1_000, bytes: .max)
            #expect(page.lost.isEmpty && page.records.count == files.count)
        }
    }

    @Test func `Nothing is appended until what a failed append has left is cut off`() async throws {
        let directory = try TemporaryDirectory()
        let path = SpoolFile.path(1, in: settings(directory).directory)
        try await with(settings(directory)) { files in _ = files.append(requests(1...3)) }
        let half = Array(DiskFile.read(path, from: 0, count: 50))
        try await with(settings(directory)) { files in
            // On this device, writing fails, and so does cutting off.
            #expect(rename(path, "\(path).aside") == 0 && symlink("/dev/full", path) == 0)
            for _ in 0..<2 {
                guard case .spoolFailed? = files.append([request(4)]).first.flatMap({ $0 }) else {
                    Issue.record("the append did not fail")
                    return
                }
            }
            #expect(unlink(path) == 0 && rename("\(path).aside", path) == 0)
            let descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
            #expect(half.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } == half.count)
            close(descriptor)
            #expect(files.append([request(4)]) == [nil])
            let page = files.read(upTo: 9, bytes: .max)
            #expect(page.records.map { $0.number } == [1, 2, 3, 4] && page.lost.isEmpty)
        }
        try await with(settings(directory)) { files in
            #expect(files.cutBytes == 0)
            #expect(files.read(upTo: 9, bytes: .max).records.map { $0.request.id } == (1...4).map { "m-\($0)" })
        }
    }

    @Test func `A file that is broken in the middle, or gone, is reported and costs no other file`() async throws {
        let directory = try TemporaryDirectory()
        try await with(settings(directory)) { files in _ = files.append(requests(1...200)) }
        let firsts = try SpoolFile.numbers(in: settings(directory).directory)
        try #require(firsts.count >= 4)
        let path = SpoolFile.path(firsts[0], in: settings(directory).directory)
        // A length that is too large: the next record is searched for.
        try damage(path, at: places(in: path)[3] + 2)
        try #require(unlink(SpoolFile.path(firsts[2], in: settings(directory).directory)) == 0)
        try await with(settings(directory)) { files in
            let page = files.read(upTo: 1_000, bytes: .max)
            let gone = firsts[2]...(firsts[3] - 1)
            #expect(page.lost == [4...4, gone])
            let kept = (1...200).filter { $0 != 4 && !gone.contains($0) }
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

    /// Returns the machine after a restart, with the acknowledgments that it has lost.
    private func reopened(_ machine: SpoolMachine, stored: Set<UInt64>) -> SpoolMachine {
        var other = SpoolMachine(
            maxBytes: machine.maxBytes, segmentBytes: machine.segmentBytes,
            segments: machine.segments.map { .init(first: $0.first, bytes: $0.bytes) }, cursor: machine.cursor,
            last: machine.next - 1, removed: machine.removed)
        #expect(other.count >= UInt64(stored.count) && other.next == machine.next && other.cursor == machine.cursor)
        for segment in machine.segments {
            for number in max(segment.first, other.cursor)..<(segment.end ?? machine.next)
            where !stored.contains(number) {
                _ = other.acknowledge(number)
            }
        }
        return other
    }

    @Test func `A message that waits for long keeps one file, and not those behind it`() async throws {
        let directory = try TemporaryDirectory()
        let settings = settings(directory) { $0.maxBytes = 1 << 16 }
        try await with(settings) { files in
            for round in 0..<40 {
                #expect(files.append(requests(1 + 50 * round...50 * (round + 1))).allSatisfy { $0 == nil })
                let numbers = files.read(upTo: 1_000, bytes: .max).records.map { $0.number }
                #expect(files.acknowledge(numbers.filter { $0 != 7 }) == 1)
            }
            let left = try SpoolFile.numbers(in: settings.directory)
            #expect(left.count == 2)
        }
        try await with(settings) { files in
            let page = files.read(upTo: 10_000, bytes: .max)
            #expect(page.lost.isEmpty && page.records.contains { $0.number == 7 })
            #expect(page.records.first?.number == 7 && page.records.last?.number == 2_000)
            #expect(page.records.count < 150 && files.count == page.records.count)
            #expect(files.acknowledge(page.records.map { $0.number }) == 0)
            #expect(files.append([request(1)]) == [nil])
            #expect(files.read(upTo: 9, bytes: .max).records.map { $0.number } == [2_001])
        }
    }

    @Test func `A kill before the removal of a file that is done leaves nothing to push twice`() async throws {
        let directory = try TemporaryDirectory()
        let folder = settings(directory).directory
        var second: UInt64 = 0
        try await with(settings(directory)) { files in
            _ = files.append(requests(1...200))
            let firsts = try SpoolFile.numbers(in: folder)
            try #require(firsts.count >= 4)
            second = firsts[1]
            #expect(link(SpoolFile.path(second, in: folder), "\(folder)/aside") == 0)
            let numbers = files.read(upTo: 1_000, bytes: .max).records.map { $0.number }
            _ = files.acknowledge(numbers.filter { $0 >= second && $0 < firsts[2] })
            #expect(access(SpoolFile.path(second, in: folder), F_OK) != 0)
        }
        #expect(rename("\(folder)/aside", SpoolFile.path(second, in: folder)) == 0)
        try await with(settings(directory)) { files in
            #expect(access(SpoolFile.path(second, in: folder), F_OK) != 0)
            let page = files.read(upTo: 1_000, bytes: .max)
            #expect(page.lost.isEmpty && !page.records.contains { $0.number == second })
            #expect(page.records.count == files.count)
        }
        // Without the numbers of what was removed, the gap counts as lost, and all else is pushed.
        _ = try directory.write("spool/removed", containing: "7\n1 2\n")
        try await with(settings(directory)) { files in
            let page = files.read(upTo: 1_000, bytes: .max)
            #expect(page.lost.first?.lowerBound == second && page.lost.count == 1)
            #expect(page.records.count == files.count)
        }
    }

    /// Messages of several apps, which are their ids' first letters.
    private func messages(_ text: String) -> [EncodedRequest] {
        text.enumerated().map { place, app in
            EncodedRequest(.push, id: "\(app)-\(place + 1)", app: "\(app)", envelope: Array("{}".utf8))
        }
    }

    @Test func `The messages of a busy app are passed over, and come in their order when it has room`() async throws {
        let directory = try TemporaryDirectory()
        let (a, c) = (IDKey("a"), IDKey("c"))
        try await with(settings(directory)) { files in
            _ = files.append(messages("aabacacbca"))
            func ids(_ room: [IDKey: Int], upTo limit: Int = 100) -> [String] {
                files.read(upTo: limit, bytes: .max, room: room).records.map { $0.request.id }
            }
            #expect(ids([a: 1, c: 0]) == ["a-1", "b-3", "b-8"])
            #expect(ids([a: 0, c: 0]).isEmpty)
            _ = files.append(messages("abc"))
            #expect(ids([a: 0, c: 0]) == ["b-2"], "those of other apps that come later go out")
            #expect(ids([a: 2, c: 0]) == ["a-2", "a-4"])
            files.giveBack([2, 4], of: a)
            #expect(ids([a: 0]) == ["c-5", "c-7", "c-9", "c-3"])
            #expect(ids([:], upTo: 3) == ["a-2", "a-4", "a-6"])
            #expect(ids([:]) == ["a-10", "a-1"] && ids([:]).isEmpty)
            #expect(files.parked.isEmpty && files.count == 13)
            #expect(files.acknowledge(Array(1...13)) == 0)
        }
    }

    @Test func `Each app that was passed over gets a part of what is read`() async throws {
        let directory = try TemporaryDirectory()
        try await with(settings(directory)) { files in
            _ = files.append(messages(String(repeating: "ac", count: 50)))
            #expect(files.read(upTo: 1_000, bytes: .max, room: [IDKey("a"): 0, IDKey("c"): 0]).records.isEmpty)
            func apps(upTo limit: Int, bytes: Int) -> [String] {
                files.read(upTo: limit, bytes: bytes).records.map { $0.request.app }.sorted()
            }
            #expect(apps(upTo: 6, bytes: .max) == ["a", "a", "a", "c", "c", "c"])
            // Each has two bytes.
            #expect(apps(upTo: .max, bytes: 12) == ["a", "a", "a", "c", "c", "c"])
            _ = files.append(messages(String(repeating: "b", count: 50)))
            #expect(apps(upTo: 8, bytes: .max) == ["a", "a", "b", "b", "b", "b", "c", "c"])
            #expect(apps(upTo: .max, bytes: 16) == ["a", "a", "b", "b", "b", "b", "c", "c"])
        }
    }

    @Test func `With records that are given back, those of their apps go that wait behind them`() async throws {
        let directory = try TemporaryDirectory()
        try await with(settings(directory)) { files in
            _ = files.append(messages("abaab"))
            var spooling = Spooling(files, settings: settings(directory))
            spooling.ready = Array(files.read(upTo: 9, bytes: .max).records.dropFirst(2))
            let a = IDKey("a")
            var returned = [a: [UInt64(1)]]
            spooling.beginReturning(&returned)
            #expect(returned == [a: [1, 3, 4]] && spooling.ready.map { $0.number } == [5])
            #expect(spooling.returning == [a: 1])
            spooling.endReturning(returned.keys)
            #expect(spooling.returning.isEmpty)
        }
    }

    @Test func `The apps that are passed over are bounded in number, and none is forgotten`() async throws {
        let directory = try TemporaryDirectory()
        let apps = (0..<SpoolFiles.maxParked + 20).map { "app-\($0)" }
        try await with(settings(directory)) { files in
            _ = files.append(apps.map { EncodedRequest(.push, id: "1", app: $0, envelope: [1]) })
            let busy = Dictionary(uniqueKeysWithValues: apps.map { (IDKey($0), 0) })
            let page = files.read(upTo: 1_000, bytes: .max, room: busy)
            #expect(page.records.isEmpty && page.parked.count == SpoolFiles.maxParked && !page.hasMore)
            var found: [String] = []
            while case let page = files.read(upTo: 50, bytes: .max), !page.records.isEmpty || page.hasMore {
                found += page.records.map { $0.request.app }
            }
            #expect(Set(found) == Set(apps) && found.count == apps.count)
        }
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
                    let end = segment.end ?? machine.next
                    #expect(!stored.contains { $0 >= segment.first && $0 < end })
                }
                // All files but the newest have a record that is open.
                #expect(
                    machine.segments.dropLast().allSatisfy { segment in
                        stored.contains { $0 >= segment.first && $0 < segment.end ?? machine.next }
                    })
                #expect(machine.removed.count <= machine.segments.count)
                if !machine.segments.isEmpty { machine = reopened(machine, stored: stored) }
            }
            #expect(machine.count == UInt64(stored.count))
            #expect(stored.allSatisfy { machine.isFree($0) })
        }
    }
}
