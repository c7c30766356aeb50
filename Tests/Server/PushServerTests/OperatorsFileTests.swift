import Glibc
import PushLoop
import PushModel
import PushStore
import PushTime
import TestSupport
import Testing

@testable import PushServer

/// The file that keeps the events of operators.
@Suite struct OperatorsFileTests {
    private static func line(_ number: Int, app: String = "shop") -> [UInt8] {
        let time = WallTime.current().milliseconds
        let text = String(repeating: "x", count: 400)
        return Array(
            """
            {"v":1,"seq":\(number),"prev":0,"ts":\(time),"family":"operator","app":"\(app)","kind":"pause","what":"\(text)"}
            """.utf8)
    }

    @Test func `Pages of a large file are small pieces of work, and together they have every event once`() async throws
    {
        let directory = try TemporaryDirectory()
        let pool = BlockingPool(name: "files", threadCount: 1, queueLimit: 16)
        let file = OperatorsFile(in: directory.path, retention: .seconds(86_400), on: pool, now: { .current() })
        #expect(try await file.open() == 0)
        let count = 9000
        // The first event and the last one are the only ones of their apps.
        let apps = [1: "first", count: "rare"]
        let lines = (1...count).map { Self.line($0 * 3, app: apps[$0] ?? "shop") }
        for start in stride(from: 0, to: count, by: 500) { try await file.add(Array(lines[start..<start + 500])) }
        // What is there already is not added again.
        try await file.add([lines[0], lines[count - 1]])

        let again = OperatorsFile(in: directory.path, retention: .seconds(86_400), on: pool, now: { .current() })
        #expect(try await again.open() == UInt64(count * 3))
        for file in [file, again] {
            var (found, since): ([[UInt8]], UInt64) = ([], 0)
            while true {
                let page = try await file.page(
                    prefix: "operator/", apps: nil, since: since, span: .init(), limit: 700, ofLast: false)
                found += page.lines
                since = page.last
                if !page.hasMore { break }
            }
            #expect(found == lines)
            // A page without a match says how far it has come.
            let rare = try await file.page(
                prefix: "operator/rare/", apps: nil, since: 0, span: .init(), limit: 5, ofLast: false)
            #expect(rare.lines.isEmpty && rare.hasMore && rare.last > 0 && rare.last < UInt64(count * 3))
            let last = try await file.page(
                prefix: "operator/", apps: nil, since: 0, span: .init(), limit: 3, ofLast: true)
            #expect(last.lines == Array(lines.suffix(3)))
            // Those of other apps count to no limit.
            for (apps, expected) in [(["rare", "first"], [lines[0], lines[count - 1]]), (["none", "-"], [])] {
                let apps = apps.compactMap { AppID($0) }
                let page = try await file.page(
                    prefix: "operator/", apps: apps, since: 0, span: .init(), limit: 2, ofLast: true)
                #expect(page.lines == expected)
                let first = try await file.page(
                    prefix: "operator/", apps: apps, since: 0, span: .init(), limit: 2, ofLast: false)
                #expect(first.lines == Array(expected.prefix(1)) && first.hasMore)
            }
            // The last ones are looked for up to the beginning.
            let first = try await file.page(
                prefix: "operator/first/", apps: nil, since: 0, span: .init(), limit: 3, ofLast: true)
            #expect(first.lines == [lines[0]] && first.last == UInt64(count * 3))
            let rest = try await file.page(
                prefix: "operator/", apps: nil, since: UInt64(count * 3 - 5), span: .init(), limit: 100, ofLast: false)
            #expect(rest.lines == Array(lines.suffix(2)) && !rest.hasMore)
        }
        await pool.shutDown()
    }

    @Test func `Those with the most lines lose their oldest ones first`() throws {
        // Of every ten lines, seven are of one key, two of another, and one of a user.
        let lines = (1...100).compactMap { number in
            let who = number % 10 < 7 ? "key:busy" : number % 10 < 9 ? "key:ops" : "uid:0"
            return OperatorsFile.Line(
                Array(
                    """
                    {"v":1,"seq":\(number),"ts":1,"family":"operator","app":"shop","kind":"pause","who":"\(who)"}
                    """.utf8))
        }
        func numbers(_ most: Int, of who: String? = nil) -> [UInt64] {
            OperatorsFile.shared(lines, most: most).filter { who == nil || $0.who == who }.map(\.seq)
        }
        func all(_ who: String) -> [UInt64] { lines.filter { $0.who == who }.map(\.seq) }
        #expect(lines.count == 100 && numbers(100) == Array(1...100) && numbers(1000) == Array(1...100))
        for (most, counts) in [(60, [30, 20, 10]), (40, [15, 15, 10]), (9, [3, 3, 3]), (2, [1, 0, 1])] {
            for (who, count) in zip(["key:busy", "key:ops", "uid:0"], counts) {
                #expect(numbers(most, of: who) == all(who).suffix(count), "\(most) \(who)")
            }
        }
        #expect(OperatorsFile.shared(lines.filter { $0.who == "uid:0" }, most: 4).map(\.seq) == [69, 79, 89, 99])
    }

    @Test func `What a failed write has left is removed before the next one`() async throws {
        let directory = try TemporaryDirectory()
        let pool = BlockingPool(name: "files", threadCount: 1, queueLimit: 16)
        let file = OperatorsFile(in: directory.path, retention: .seconds(86_400), on: pool, now: { .current() })
        _ = try await file.open()
        let lines = (1...3).map { Self.line($0) }
        try await file.add([lines[0]])
        // A file with two names is refused.
        let (path, other) = ("\(directory.path)/\(OperatorsFile.fileName)", "\(directory.path)/other")
        #expect(link(path, other) == 0)
        await #expect(throws: (any Error).self) { try await file.add([lines[1]]) }
        #expect(unlink(other) == 0)
        // This is what a full disk leaves of a line.
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        #expect(write(descriptor, "{\"v\":1", 6) == 6)
        close(descriptor)
        try await file.add([lines[1], lines[2]])

        let again = OperatorsFile(in: directory.path, retention: .seconds(86_400), on: pool, now: { .current() })
        #expect(try await again.open() == 3)
        for file in [file, again] {
            let page = try await file.page(prefix: "", apps: nil, since: 0, span: .init(), limit: 10, ofLast: false)
            #expect(page.lines == lines && !page.hasMore)
        }
        await pool.shutDown()
    }

    @Test func `The newest event of a file is found at its end, whatever is behind it`() async throws {
        let directory = try TemporaryDirectory()
        #expect(OperatorsFile.newest(in: directory.path) == 0)
        let pool = BlockingPool(name: "files", threadCount: 1, queueLimit: 16)
        let file = OperatorsFile(in: directory.path, retention: .seconds(86_400), on: pool, now: { .current() })
        _ = try await file.open()
        for start in stride(from: 1, through: 9000, by: 500) {
            try await file.add((start..<start + 500).map { Self.line($0) })
        }
        await pool.shutDown()
        #expect(OperatorsFile.newest(in: directory.path) == 9000)
        let path = "\(directory.path)/\(OperatorsFile.fileName)"
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        #expect(write(descriptor, "\n\n{\"seq\":-1", 12) == 12)
        close(descriptor)
        #expect(OperatorsFile.newest(in: directory.path) == 9000)
        #expect(truncate(path, 0) == 0)
        #expect(OperatorsFile.newest(in: directory.path) == 0)
    }

    @Test func `Events go by the clock by which the log ages, also if that of the computer is ahead`() async throws {
        let directory = try TemporaryDirectory()
        let pool = BlockingPool(name: "files", threadCount: 1, queueLimit: 16)
        let (retention, time) = (Duration.seconds(86_400), WallTime.current())
        let file = OperatorsFile(in: directory.path, retention: retention, on: pool, now: { time })
        _ = try await file.open()
        try await file.add([Self.line(1)])
        for (late, newest) in [(Duration.seconds(86_000), UInt64(1)), (.seconds(90_000), 0)] {
            let again = OperatorsFile(in: directory.path, retention: retention, on: pool, now: { time + late })
            #expect(try await again.open() == newest)
        }
        await pool.shutDown()
    }
}
