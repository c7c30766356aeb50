import TestSupport
import Testing

@testable import PushTransport

@Suite struct HTTP1ResponseMachineTests {
    private static let golden =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\ncontent-length: 9\r\n\r\n{\"a\":\"\r\n}"
    private static let whole = HTTP1Response(
        status: 200, headers: ["Content-Type": "application/json", "content-length": "9"],
        body: Array("{\"a\":\"\r\n}".utf8))

    private func read(_ pieces: [[UInt8]], ends: Bool) throws -> HTTP1Response? {
        var machine = HTTP1ResponseMachine()
        for piece in pieces {
            if let answer = try machine.received(piece) { return answer }
        }
        return ends ? try machine.ended() : nil
    }

    @Test func `A response may be split at any byte`() throws {
        let bytes = Array(Self.golden.utf8)
        for split in 0...bytes.count {
            #expect(try read([Array(bytes[..<split]), Array(bytes[split...])], ends: false) == Self.whole)
        }
        #expect(try read(bytes.map { [$0] }, ends: false) == Self.whole)
    }

    @Test func `An incomplete response is refused`() {
        let bytes = Array(Self.golden.utf8)
        for length in 0..<bytes.count {
            #expect(throws: HTTP1ResponseMachine.Fault.self) { try read([Array(bytes[..<length])], ends: true) }
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n", 200),
        ("HTTP/1.1 503 No\r\n\r\n", 503), ("HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n", 200),
    ])
    func `A body that nobody reads is dropped, whatever its length`(head: String, status: Int) throws {
        var machine = HTTP1ResponseMachine(readsBody: false)
        #expect(machine.head == nil)
        #expect(try machine.received(Array(head.utf8)) == nil)
        #expect(machine.head?.status == status)
        let piece = [UInt8](repeating: 0x78, count: HTTP1ResponseMachine.unreadLimit - 1)
        #expect(try machine.received(piece) == nil)
        let response = try machine.received([0x78])
        #expect(response?.status == status && response?.body == [])
    }

    @Test func `A short body that nobody reads completes the response`() throws {
        var machine = HTTP1ResponseMachine(readsBody: false)
        #expect(try machine.received(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no".utf8)) == nil)
        #expect(try machine.received(Array("k".utf8))?.status == 200)
    }

    @Test func `Without a length, the end of the connection completes the response`() throws {
        let text = Array("HTTP/1.0 500 Oops\r\n\r\nsorry".utf8)
        #expect(try read([text], ends: false) == nil)
        #expect(try read([text], ends: true) == HTTP1Response(status: 500, body: Array("sorry".utf8)))
        #expect(try read([Array("HTTP/1.1 204 \r\n\r\n".utf8)], ends: false) == HTTP1Response(status: 204, body: []))
    }

    @Test(arguments: [
        "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Hints\r\nLink: </a>\r\nContent-Length: 7\r\n\r\n",
        String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 300),
    ])
    func `Interim responses are dropped, wherever their bytes are split`(interim: String) throws {
        let bytes = Array((interim + Self.golden).utf8)
        for split in stride(from: 0, through: bytes.count, by: max(1, bytes.count / 200)) {
            #expect(try read([Array(bytes[..<split]), Array(bytes[split...])], ends: false) == Self.whole)
        }
        #expect(try read(bytes.map { [$0] }, ends: false) == Self.whole)
        #expect(try read([Array("\(interim)HTTP/1.1 204 No\r\n\r\n".utf8)], ends: false)?.status == 204)
    }

    @Test func `Blanks around a value are no part of it`() throws {
        let text = "HTTP/1.1 503 No\r\nRetry-After:\t120 \t\r\nX: \t\r\nY:  a b\t\r\nContent-Length: 0 \r\n\r\n"
        let response = try #require(try read([Array(text.utf8)], ends: false))
        #expect(["Retry-After", "X", "Y"].map { response.headers[$0] } == ["120", "", "a b"])
    }

    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    @Test func `A response in chunks may be split at any byte`() throws {
        let text = "\(Self.chunked)5;x=\"y\"\r\nhel\r\n\r\nA \r\n0123456789\r\n000\r\nTrailer: x\r\n\r\n"
        let bytes = Array(text.utf8)
        for split in 0...bytes.count {
            let response = try read([Array(bytes[..<split]), Array(bytes[split...])], ends: false)
            #expect(response?.body == Array("hel\r\n0123456789".utf8))
        }
        #expect(try read(bytes.map { [$0] }, ends: false)?.status == 200)
    }

    private static let hints = "HTTP/1.1 103 Hints\r\nX: \(String(repeating: "x", count: 9000))\r\n\r\n"

    static let faulty: [(String, String)] = [
        ("SSH-2.0-OpenSSH\r\n\r\n", "not an HTTP response"), ("HTTP/1.1\r\n\r\n", "not an HTTP response"),
        ("HTTP/2 200 OK\r\n\r\n", "not an HTTP response"), ("HTTP/1.1 abc OK\r\n\r\n", "not an HTTP response"),
        ("HTTP/1.1 101 Switching\r\n\r\n", "not an HTTP response"), ("HTTP/1.1 099 No\r\n\r\n", "not an HTTP response"),
        ("HTTP/1.1 100 Continue\r\n\r\n", "no response"), ("HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 2", "incomplete"),
        (String(repeating: "HTTP/1.1 102 On\r\n\r\n", count: 900), "too many interim responses"),
        ("\(hints)\(hints)HTTP/1.1 200 OK\r\n\r\n", "too many interim responses"),
        ("HTTP/1.1 +20 OK\r\n\r\n", "not an HTTP response"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1 1\r\n\r\n", "invalid Content-Length \"1 1\""),
        ("HTTP/1.1 200 OK\r\nContent-Length: \t \r\n\r\n", "invalid Content-Length \"\""),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "invalid Content-Length \"-1\""),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "invalid Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "invalid Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", "longer than its Content-Length"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "unsupported Transfer-Encoding"),
        ("\(chunked)zz\r\n", "invalid size"), ("\(chunked)\r\n", "invalid size"), ("\(chunked)1 x\r\n", "invalid size"),
        ("\(chunked)fffffffff\r\n", "invalid size"), ("\(chunked)ffffffff\r\n", "longer than 16 MiB"),
        ("\(chunked)1\nab", "CR LF"), ("\(chunked)1\r\nab\r\n", "longer than its size"),
        ("\(chunked)1\r\na\r\n", "incomplete"), ("\(chunked)0\r\n", "incomplete"),
        ("\(chunked)0\r\n\r\nmore", "after its end"), ("\(chunked)\(String(repeating: "1", count: 2000))", "no size"),
        ("\(chunked)0\r\n\(String(repeating: "a: b\r\n", count: 100))", "too many trailers"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "Content-Length and Transfer-Encoding"
        ),
        (String(repeating: "x", count: 20_000), "the header has no end"),
        ("HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n", "the header is too long"),
        ("", "no response"), ("HTTP/1.1 2", "the response is incomplete"),
    ]

    @Test(arguments: faulty) func `A malformed response is refused`(_ text: String, _ problem: String) throws {
        let fault = #expect(throws: HTTP1ResponseMachine.Fault.self) { try read([Array(text.utf8)], ends: true) }
        #expect(fault?.description.contains(problem) == true, "\(fault?.description ?? "")")
    }

    /// It is not an argument of a test, because the record of a run has the text of each.
    @Test func `A response of more than 16 MiB is refused`() throws {
        let text = Array("HTTP/1.1 200 OK\r\n\r\n".utf8) + Array(repeating: UInt8(ascii: "x"), count: 17 << 20)
        let fault = #expect(throws: HTTP1ResponseMachine.Fault.self) { try read([text], ends: true) }
        #expect(fault?.description.contains("the response is longer than 16 MiB") == true)
    }

    @Test func `Random bytes do not crash the parser`() {
        var random = SeededRandom(seed: 5)
        var (taken, refused) = (0, 0)
        for _ in 0..<5_000 {
            let bytes = random.mutate(Array(Self.golden.utf8), chance: 0.95)
            let split = Int.random(in: 0...bytes.count, using: &random)
            do {
                if try read([Array(bytes[..<split]), Array(bytes[split...])], ends: true) != nil { taken += 1 }
            } catch {
                refused += 1
            }
        }
        #expect(taken > 100 && refused > 100)
    }
}
