import PushLoop
import PushTransport
import Synchronization
import TestSupport
import TestTraits
import Testing

/// The answers to requests that do not reach the handler, if the owner of the server writes them.
@Suite(.waits) struct HTTP1RefusalTests {
    private static func json(_ refusal: HTTP1Refusal, _ method: HTTP1Method?) -> HTTP1Response {
        let text = "{\"status\":\(refusal.status),\"method\":\"\(method?.rawValue ?? "-")\"}"
        return HTTP1Response(
            status: refusal.status, headers: ["Content-Type": "application/problem+json"], body: Array(text.utf8))
    }

    /// Requests, the status of their answer, and the method that the writer is given.
    private static let requests: [(String, Int, String)] = [
        ("BREW / HTTP/1.1\r\n\r\n", 501, "-"), ("\u{16}\u{3}\u{1}\r\n\r\n", 400, "-"),
        ("GET / HTTP/3.0\r\n\r\n", 505, "-"), ("CONNECT x:1 HTTP/1.1\r\n\r\n", 405, "-"),
        ("GET / HTTP/1.1\r\n\r\n", 400, "GET"), ("GET /../x HTTP/1.1\r\nHost: x\r\n\r\n", 400, "GET"),
        ("PUT / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n", 417, "PUT"),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 413, "POST"),
        ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400, "POST"),
        ("DELETE / HTTP/1.1\r\nX: \(String(repeating: "a", count: 17_000))\r\n\r\n", 431, "DELETE"),
        ("GET /\(String(repeating: "a", count: 17_000)) HTTP/1.1\r\nHost: x\r\n\r\n", 414, "-"),
    ]

    @Test func `Each refusal is written by the writer, which knows the method`() async throws {
        try await withServer(writeRefusal: Self.json) { server in
            for (text, status, method) in Self.requests {
                let client = try server.client()
                client.sendUntilClosed(Array(text.utf8))
                let answer = try client.answer()
                #expect(answer.status == status && answer.text == "{\"status\":\(status),\"method\":\"\(method)\"}")
                #expect(answer.header("Content-Type") == "application/problem+json")
                #expect((answer.header("Allow") != nil) == (status == 405))
                #expect(answer.header("Connection") == "close")
                client.close()
            }
            let head = try server.answer(to: "HEAD / HTTP/1.1\r\nHost: x y\r\n\r\n", toHead: true)
            #expect(
                head.status == 400 && head.text.isEmpty && (head.header("Content-Length").flatMap { Int($0) } ?? 0) > 0)
        }
    }

    @Test func `The method of an earlier request is not that of a later one`() async throws {
        try await withServer(writeRefusal: Self.json) { server in
            let client = try server.client()
            try client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\naBREW / HTTP/1.1\r\n\r\n")
            #expect(try client.answer().status == 200)
            #expect(try client.answer().text == #"{"status":501,"method":"-"}"#)
        }
    }

    @Test func `A request that was dropped is answered, and so is one with a writer that makes a mistake`() async throws
    {
        let count = Tally()
        let broken: TestRefusalWriter = { refusal, _ in
            count.add()
            return HTTP1Response(status: refusal.status, headers: ["X": "a\r\nb"], body: [])
        }
        try await withServer(writeRefusal: broken, handler: { _, _ in }) { server in
            for (text, status) in [("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 500), ("GET\r\n\r\n", 400)] {
                let answer = try server.answer(to: text)
                #expect(answer.status == status && answer.header("X") == nil, "\(answer.text)")
            }
        }
        #expect(count.value == 2)
    }
}
