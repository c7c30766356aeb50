import PushLoop
import TestSupport
import Testing

@testable import PushTransport

@Suite struct HTTP1RequestMachineTests {
    /// Returns the results of parsing these bytes, fed at once or in two pieces.
    private func read(_ bytes: [UInt8], splitAt split: Int? = nil, limits: HTTP1Limits = HTTP1Limits()) -> [String] {
        var machine = HTTP1RequestMachine(limits: limits)
        var queue = ByteQueue()
        var seen: [String] = []
        let pieces = split.map { [bytes[..<$0], bytes[$0...]] } ?? [bytes[...]]
        for piece in pieces {
            queue.append(Array(piece))
            steps: while true {
                switch machine.next(&queue) {
                case .needsMore: break steps
                case .expectsContinue: seen.append("continue")
                case .request(let head, let body):
                    let text = String(decoding: body, as: UTF8.self)
                    seen.append("\(head.method.rawValue) \(head.target) \(text) close=\(head.wantsClose)")
                    #expect(body.count <= limits.bodyBytes)
                case .refused(let refusal, _):
                    if seen.last != "\(refusal.status)" { seen.append("\(refusal.status)") }
                    break steps
                }
            }
        }
        return seen
    }

    @Test("Requests parse the same however the input is split") func readsTheSameHoweverItIsCut() {
        let text =
            "\r\nGET /a HTTP/1.1\r\nHost: x\r\n\r\n"
            + "POST /b HTTP/1.1\r\nhost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello"
            + "PUT /c HTTP/1.1\r\nHOST: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: u\r\n\r\n"
            + "DELETE /d HTTP/1.0\r\n\r\n"
        let bytes = Array(text.utf8)
        let expected = [
            "GET /a  close=false", "continue", "POST /b hello close=false", "PUT /c abcde close=false",
            "DELETE /d  close=true",
        ]
        #expect(read(bytes) == expected)
        for split in 0...bytes.count {
            #expect(read(bytes, splitAt: split) == expected, "split at \(split)")
        }
    }

    @Test("Refusals are the same however the input is split") func refusesTheSameHoweverItIsCut() {
        for (text, status) in refusedRequests {
            let bytes = Array(text.utf8)
            let whole = read(bytes)
            #expect(whole.last == "\(status)", "\(text.debugDescription)")
            #expect(!whole.contains { $0.contains(" ") })
            for split in Swift.stride(from: 0, through: bytes.count, by: max(1, bytes.count / 200)) {
                let seen = read(bytes, splitAt: split).last
                #expect(seen == "\(status)", "\(text.debugDescription) at \(split)")
            }
        }
    }

    @Test("The limits are enforced") func keepsToTheLimits() {
        var limits = HTTP1Limits()
        limits.headerBytes = 40
        limits.headerCount = 2
        limits.bodyBytes = 4
        func status(_ text: String) -> String? { read(Array(text.utf8), limits: limits).last }
        #expect(status("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n") == "GET /  close=false")
        #expect(status("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\nC: d\r\n\r\n") == "431")
        #expect(status("GET / HTTP/1.1\r\nHost: x\r\nA: \(String(repeating: "b", count: 20))\r\n\r\n") == "431")
        #expect(status("GET /\(String(repeating: "b", count: 50))") == "414")
        #expect(status("PUT / HTTP/1.0\r\nContent-Length: 4\r\n\r\nabcd") == "PUT / abcd close=true")
        #expect(status("PUT / HTTP/1.0\r\nContent-Length: 5\r\n\r\nabcd") == "413")
        limits.headerBytes = 100
        let chunked = "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(status(chunked + "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n") == "PUT / abcd close=false")
        #expect(status(chunked + "2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n") == "413")
        let extended = "1;\(String(repeating: "e", count: 40))\r\na\r\n"
        #expect(status(chunked + extended + extended + "0\r\n\r\n") == "PUT / aa close=false")
        #expect(status(chunked + extended + extended + extended + "0\r\n\r\n") == "400")
    }

    @Test(
        "Targets are split into path and query",
        arguments: [
            ("/", [], [:]), ("/a", ["a"], [:]), ("/a/", ["a", ""], [:]), ("//a", ["", "a"], [:]),
            ("/a%20b/c%2Fd", ["a b", "c/d"], [:]), ("/%E2%82%AC/...", ["€", "..."], [:]), ("/a+b", ["a+b"], [:]),
            ("/?", [], [:]), ("/?a", [], ["a": ""]), ("/?a=", [], ["a": ""]), ("/?a=b=c", [], ["a": "b=c"]),
            ("/?a=1&&b=2&", [], ["a": "1", "b": "2"]), ("/?a+b=c%2Bd+e", [], ["a b": "c+d e"]),
            ("/?q=/../?", [], ["q": "/../?"]), ("/?n=%0A", [], ["n": "\n"]),
        ] as [(String, [String], [String: String])])
    func takesTargetsApart(target: String, path: [String], query: [String: String]) throws {
        let taken = try HTTP1Target(target, method: .get)
        #expect(taken.path == path)
        #expect(Dictionary(uniqueKeysWithValues: taken.query.map { ($0.name, $0.value) }) == query)
    }

    @Test("Headers are found without regard to case") func findsHeadersWithoutRegardToCase() throws {
        let head = try HTTP1Head(
            Array("GET / HTTP/1.1\r\nhOST:x\r\nAccept: a\r\nX:\t y \t\r\naccept: b, c\r\nEmpty:\r\n".utf8),
            limits: HTTP1Limits())
        #expect(head.headers["Host"] == "x")
        #expect(head.headers["ACCEPT"] == "a")
        #expect(head.headers.all("accept") == ["a", "b, c"])
        #expect(head.headers["x"] == "y")
        #expect(head.headers["empty"] == "")
        #expect(head.headers["Accep"] == nil)
    }

    /// Randomly changed requests must not crash the machine or yield a body above the limit, and the result must not
    /// depend on how the input is split.
    @Test("Mutated requests are parsed or refused") func survivesMutation() {
        var random = SeededRandom(seed: 1)
        var limits = HTTP1Limits()
        limits.bodyBytes = 64
        limits.headerBytes = 512
        let seeds =
            refusedRequests.map { Array($0.text.utf8.prefix(600)) } + [
                Array(
                    "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\nHost: x\r\n\r\n"
                        .utf8),
                Array("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".utf8),
            ]
        let interesting = Array("\r\n \t:;%0aF?&=./\\\0\u{7f}".utf8)
        for _ in 0..<2000 {
            var bytes = seeds.randomElement(using: &random)!
            for _ in 0..<Int.random(in: 1...6, using: &random) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[index] = interesting.randomElement(using: &random)!
                case 1: bytes[index] = .random(in: 0...255, using: &random)
                case 2: bytes.remove(at: index)
                default: bytes.insert(interesting.randomElement(using: &random)!, at: index)
                }
            }
            let cut = read(bytes, splitAt: .random(in: 0...bytes.count, using: &random), limits: limits)
            #expect(cut == read(bytes, limits: limits), "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
        }
    }
}
