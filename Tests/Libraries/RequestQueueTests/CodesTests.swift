import Foundation
import Testing

@testable import RequestQueue

/// Dates, pauses and header fields.
@Suite struct CodesTests {
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Tue, 29 Feb 2028 23:59:59 GMT", 1_835_481_599), ("0", nil), ("", nil), ("-1", nil),
            ("Sun, 06 Nov 1994 08:49:37", nil), ("Sun, 06 Nov 1994 24:00:00 GMT", nil),
            ("Sun, 99 Nov 1994 08:49:37 GMT", nil), ("Sun, 06 Xxx 1994 08:49:37 GMT", nil),
            ("Sun, 06 Nov 1900 08:49:37 GMT", nil), ("Sun, 06 Nov 9999999999999 08:49:37 GMT", nil),
        ] as [(String, Int64?)])
    func `Dates of HTTP are read in three formats`(_ text: String, _ seconds: Int64?) {
        #expect(HTTPDate.seconds(text) == seconds)
    }

    @Test func `The days of a date are those of Foundation`() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "GMT"))
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        for day in stride(from: 0, to: 60_000, by: 37) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400)
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            let (year, month, number) = try (#require(parts.year), #require(parts.month), #require(parts.day))
            let text = "Mon, \(number < 10 ? "0" : "")\(number) \(names[month - 1]) \(year) 00:00:00 GMT"
            #expect(HTTPDate.seconds(text) == Int64(day) * 86_400)
        }
    }

    @Test func `Retry-After is seconds or a date`() {
        #expect(RetryAfter.pause("120", now: 0) == .seconds(120) && RetryAfter.pause(" 0 ", now: 0) == .zero)
        #expect(RetryAfter.pause("Thu, 01 Jan 1970 00:02:00 GMT", now: 60) == .seconds(60))
        #expect(RetryAfter.pause("Thu, 01 Jan 1970 00:02:00 GMT", now: 600) == .zero)
        #expect(RetryAfter.pause("99999999999999999999", now: 0) == .seconds(1_000_000_000))
        #expect(RetryAfter.pause("-5", now: 0) == nil && RetryAfter.pause("soon", now: 0) == nil)
    }

    @Test func `Pauses double up to the limit and vary by a half`() {
        var jitter = Jitter(seed: 7)
        for (failures, most) in [(1, 250), (2, 500), (3, 1000), (8, 30_000), (64, 30_000), (.max, 30_000)] {
            for _ in 0..<50 {
                let pause = Backoff.pause(
                    after: failures, first: .milliseconds(250), max: .seconds(30), jitter: &jitter)
                #expect(pause >= .milliseconds(most / 2) && pause <= .milliseconds(most), "\(failures): \(pause)")
            }
        }
    }

    @Test func `Fields that would add lines are refused`() throws {
        let url = try #require(URL(string: "https://a.example/"))
        for (name, value) in [
            ("X", "a\r\nY: b"), ("X\r\nY", "b"), ("", "b"), ("X Y", "b"), ("X", "\u{0}"), ("Host", "b"),
        ] {
            var request = Request.get(url)
            request.fields[name] = value
            #expect(request.fault?.code == .invalidRequest)
        }
        for text in ["ftp://a.example/", "https:///x", "file:///etc/passwd", "https://u:p@a.example/", "x"] {
            #expect(Request.get(try #require(URL(string: text))).fault?.code == .invalidRequest, "\(text)")
        }
        #expect(Request(.get, url: url, body: .data(Data("x".utf8))).fault?.code == .invalidRequest)
        #expect(Request.get(url).fault == nil)
    }

    @Test func `Messages have neither queries nor credentials`() throws {
        let url = try #require(URL(string: "https://user:secret@a.example/path?token=secret#secret"))
        #expect(url.plain == "https://a.example:443/path")
        #expect(Request.get(url).fault?.description.contains("secret") == false)
    }

    @Test func `Only Foundation is imported, so that Apple's platforms can compile the sources`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources/Libraries")
        var files = 0
        for target in ["RequestQueue", "DeviceRegistrar"] {
            let all = FileManager.default.enumerator(atPath: root.appendingPathComponent(target).path)?.allObjects ?? []
            for case let path as String in all where path.hasSuffix(".swift") {
                let text = try String(contentsOf: root.appendingPathComponent("\(target)/\(path)"), encoding: .utf8)
                files += 1
                var guarded: [String] = []
                for line in text.split(separator: "\n") {
                    for module in ["FoundationNetworking", "ActivityKit"]
                    where line.hasPrefix("#if canImport(\(module))") { guarded = [module] }
                    if line.hasPrefix("#endif") { guarded = [] }
                    guard line.contains("import "), let module = line.split(separator: " ").last,
                        line.hasPrefix("import ") || line.hasPrefix("public import ")
                            || line.hasPrefix("package import ")
                    else { continue }
                    let allowed = ["Foundation", "Dispatch", "RequestQueue"] + guarded
                    #expect(allowed.contains(String(module)), "\(target)/\(path): \(line)")
                }
            }
        }
        #expect(files > 20)
    }
}
