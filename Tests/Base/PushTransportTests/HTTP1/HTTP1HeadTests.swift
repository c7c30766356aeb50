import PushLoop
import PushTime
import TestSupport
import Testing

@testable import PushTransport

@Suite struct HTTP1HeadTests {
    private func head(_ text: String, limits: HTTP1Limits = HTTP1Limits()) throws(HTTP1Refusal) -> HTTP1Head {
        try HTTP1Head(Array(text.utf8), limits: limits)
    }

    /// Signatures cover the target and the values as they were sent.
    @Test("Target and values are kept as they were sent") func keepsTheBytesAsSent() throws {
        let head = try head(
            "POST /v1/%61pps/a%2Fb?x=%7E&y=a+b&&z HTTP/1.1\r\nHost: x\r\n"
                + "Signature-Input:  carillon=(\"@method\"  \"@path\");created=1 \t\r\nsignature: carillon=:+/==:\r\n"
                + "Content-Digest: sha-256=:YQ==:\r\nContent-Digest: sha-512=:Yg==:\r\nContent-Length: 1\r\n")
        func text(_ bytes: ArraySlice<UInt8>?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }
        #expect(head.target == "/v1/%61pps/a%2Fb?x=%7E&y=a+b&&z")
        #expect(text(head.encodedTarget) == head.target)
        #expect(text(head.encodedPath) == "/v1/%61pps/a%2Fb")
        #expect(head.path == ["v1", "apps", "a/b"])
        #expect(head.query.map(\.value) == ["~", "a b", ""])
        #expect(head.headers["SIGNATURE-INPUT"] == "carillon=(\"@method\"  \"@path\");created=1")
        #expect(text(head.headers.bytes(of: "Signature")) == "carillon=:+/==:")
        #expect(head.headers.bytes(of: "Signatur") == nil)
        #expect(head.headers.all("content-digest") == ["sha-256=:YQ==:", "sha-512=:Yg==:"])
        #expect(head.headers.isRepeated("content-digest"))
        #expect(!head.headers.isRepeated("signature"))
    }

    @Test(
        "A target has a query if it has a question mark",
        arguments: [
            ("/", false), ("/?", true), ("/a?b", true), ("/a?b?c", true), ("/a.b/c?..", true),
        ])
    func findsTheQuery(target: String, hasQuery: Bool) throws {
        let head = try head("GET \(target) HTTP/1.1\r\nHost: x\r\n")
        #expect(head.hasQuery == hasQuery)
        #expect(head.encodedPath.elementsEqual(target.prefix { $0 != "?" }.utf8))
    }

    /// Values are examined several bytes at a time, so that a byte is tried at each position.
    @Test("A control character is refused at each position of a value") func refusesControlCharacters() throws {
        for byte in UInt8.min...UInt8.max {
            for position in 1..<18 {
                var text = Array("GET / HTTP/1.1\r\nHost: x\r\nX: ".utf8)
                let start = text.count
                text += Array("abcdefghijklmnopqrs\r\n".utf8)
                text[start + position] = byte
                let isAllowed = byte == 0x09 || (0x20..<0x7f).contains(byte)
                let isParsed = (try? HTTP1Head(text, limits: HTTP1Limits())) != nil
                #expect(isParsed == isAllowed, "byte \(byte) at \(position)")
            }
        }
    }

    @Test("Fields made by hand equal parsed ones") func comparesFields() throws {
        let parsed = try head("GET / HTTP/1.1\r\nHost: x\r\nA:  b\r\n").headers
        var made: HTTP1Headers = ["Host": "x"]
        #expect(parsed != made)
        made.add("A", value: "b")
        #expect(parsed == made)
        #expect(parsed.fields == made.fields)
        #expect(parsed.fields.map(\.name) == ["Host", "A"])
        #expect(HTTP1Headers().isEmpty && !made.isEmpty)
    }

    @Test("The limit of a body may depend on the head") func asksForTheLimitOfABody() {
        var limits = HTTP1Limits()
        limits.bodyBytes = 4
        limits.bodyLimit = { $0.path == ["large"] && $0.headers["Content-Type"] == "application/x-ndjson" ? 8 : 4 }
        func status(_ path: String, _ type: String, _ body: String) -> Int {
            var machine = HTTP1RequestMachine(limits: limits)
            var queue = ByteQueue()
            queue.append(Array("POST \(path) HTTP/1.1\r\nHost: x\r\nContent-Type: \(type)\r\n\(body)".utf8))
            while true {
                switch machine.next(&queue) {
                case .request(_, let body): return body.count
                case .refused(let refusal, _): return refusal.status
                case .needsMore: return 0
                case .expectsContinue: continue
                }
            }
        }
        let (ndjson, json) = ("application/x-ndjson", "application/json")
        #expect(status("/large", ndjson, "Content-Length: 8\r\n\r\n12345678") == 8)
        #expect(status("/large", ndjson, "Content-Length: 9\r\n\r\n") == 413)
        #expect(status("/large", json, "Content-Length: 8\r\n\r\n") == 413)
        #expect(status("/small", ndjson, "Content-Length: 8\r\n\r\n") == 413)
        let chunks = "Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n3\r\n678\r\n0\r\n\r\n"
        #expect(status("/large", ndjson, chunks) == 8)
        #expect(status("/small", ndjson, chunks) == 413)
        limits.bodyLimit = { _ in .max }
        #expect(status("/", json, "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n") == 413)
        #expect(status("/", json, "Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n") == 413)
        #expect(status("/", json, "Content-Length: 9223372036854775807\r\n\r\n") == 413)
        limits.bodyLimit = { _ in -1 }
        #expect(status("/", json, "Content-Length: 1\r\n\r\n1") == 413)
    }

    @Test("Every byte is classified as RFC 9110 does") func classifiesBytes() {
        let symbols = Set("!#$%&'*+-.^_`|~".utf8)
        for byte in UInt8.min...UInt8.max {
            let isLetterOrDigit =
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"):
                    true
                default: false
                }
            #expect(isTokenByte(byte) == (isLetterOrDigit || symbols.contains(byte)), "\(byte)")
        }
    }

    @Test(
        "Dates have the form of RFC 9110",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (951_827_696, "Tue, 29 Feb 2000 12:34:56 GMT"),
            (1_795_313_619, "Sun, 22 Nov 2026 02:13:39 GMT"),
        ])
    func rendersDates(second: Int64, text: String) {
        #expect(HTTP1Date.text(second) == text)
        var date = HTTP1Date()
        let line = date.line(at: WallTime(milliseconds: second * 1000 + 999))
        #expect(String(decoding: line, as: UTF8.self) == "Date: \(text)\r\n")
        // A clock that jumps back.
        #expect(date.line(at: WallTime(milliseconds: second * 1000 - 1)) != line)
        #expect(date.line(at: WallTime(milliseconds: second * 1000)) == line)
    }

    /// The method is packed into a number, which must not make another method of a longer one.
    @Test(
        "Only known methods are accepted",
        arguments: ["GETGET", "XHEAD", "XXXXXXXXGET", "\u{7e}\u{7e}GET", "OPTIONSX", "P", "CONNECTCONNECT"])
    func refusesOtherMethods(method: String) {
        #expect(throws: HTTP1Refusal.self) { _ = try head("\(method) / HTTP/1.1\r\nHost: x\r\n") }
    }
}
