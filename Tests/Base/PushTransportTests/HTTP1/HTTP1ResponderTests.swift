import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@Suite(.waits) struct HTTP1ResponderTests {
    private let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test("A handler can answer later") func answersLater() async throws {
        let held = Held<HTTP1Responder?>(nil)
        let arrivals = Tally()
        try await withServer(handler: { _, responder in
            held.value = responder
            arrivals.add()
        }) { server in
            let client = try server.client()
            for number in 1...3 {
                try client.send(get)
                await arrivals.reaches(number)
                try await server.loop.run {
                    try held.value.take()?.respond(status: 202, body: Array("later \(number)".utf8))
                }
                let answer = try client.answer()
                #expect(answer.status == 202)
                #expect(answer.text == "later \(number)")
            }
        }
    }

    @Test("A dropped responder answers 500") func answers500ForAResponderThatWasDropped() async throws {
        try await withServer(handler: { _, _ in }) { server in
            let client = try server.client()
            for _ in 1...2 {
                try client.send(get)
                #expect(try client.answer().status == 500)
            }
        }
    }

    /// The last reference may be released on any thread. The answer is sent on the loop.
    @Test("A responder dropped on another thread answers 500")
    func answers500ForAResponderThatWasDroppedElsewhere() async throws {
        let held = Held<HTTP1Responder?>(nil)
        let arrivals = Tally()
        try await withServer(handler: { _, responder in
            held.value = responder
            arrivals.add()
        }) { server in
            let client = try server.client()
            try client.send(get)
            await arrivals.reaches(1)
            #expect(!server.loop.isOnLoop)
            held.value = nil
            #expect(try client.answer().status == 500)
        }
    }

    @Test("Only the first answer counts") func firstAnswerStands() async throws {
        let refusals = Tally()
        try await withServer(handler: { _, responder in
            try? responder.respond(status: 200, body: Array("first".utf8))
            for again in [{ try responder.respond(status: 201) }, { try responder.start(status: 201) }] {
                do {
                    try again()
                } catch let error as HTTP1Error {
                    if error.code == .alreadyAnswered { refusals.add() }
                } catch {}
            }
            if responder.send([1]) == .closed { refusals.add() }
        }) { server in
            let client = try server.client()
            for _ in 1...2 {
                try client.send(get)
                #expect(try client.answer().text == "first")
            }
        }
        #expect(refusals.value == 6)
    }

    @Test(
        "Headers that would break the framing are rejected",
        arguments: [
            ("X-Name", "a\r\nSet-Cookie: b"), ("X-Name", "a\nb"), ("X-Name", "a\0b"), ("X-Name", "a\r\n b"),
            ("X\r\nName", "a"), ("X Name", "a"), ("X:Name", "a"), ("", "a"), ("Content-Length", "3"),
            ("transfer-encoding", "chunked"), ("connection", "close"),
        ])
    func refusesHeadersThatWouldBreakTheFraming(name: String, value: String) async throws {
        try await withServer(handler: { _, responder in
            var headers = HTTP1Headers()
            headers.add(name, value: value)
            do throws(HTTP1Error) {
                try responder.respond(status: 200, headers: headers)
            } catch {
                // Nothing was sent, so another answer is possible.
                try? responder.respond(status: 418, body: Array("\(error.code == .badHeader)".utf8))
            }
        }) { server in
            let answer = try server.answer(to: get)
            #expect(answer.status == 418)
            #expect(answer.text == "true")
            #expect(answer.header("Set-Cookie") == nil)
        }
    }

    @Test("An invalid status is rejected") func refusesAStatusThatIsNone() async throws {
        try await withServer(handler: { _, responder in
            for status in [0, 99, 101, 199, 600, -1] {
                try? responder.respond(status: status)
            }
        }) { server in
            let answer = try server.answer(to: get)
            #expect(answer.status == 500)
        }
    }

    @Test("An answer can be streamed", arguments: ["1.1", "1.0"])
    func streams(version: String) async throws {
        try await withServer(handler: { _, responder in
            try? responder.start(status: 200, headers: ["X-Test": "yes"])
            for number in 1...10 {
                _ = responder.send(Array("chunk \(number)\n".utf8))
                _ = responder.send([])
            }
            try? responder.finish()
        }) { server in
            let client = try server.client()
            for _ in 1...(version == "1.1" ? 2 : 1) {
                try client.send("GET / HTTP/\(version)\r\nHost: x\r\n\r\n")
                let answer = try client.answer()
                #expect(answer.text == (1...10).map { "chunk \($0)\n" }.joined())
                #expect(answer.header("X-Test") == "yes")
                #expect(answer.header("Transfer-Encoding") == (version == "1.1" ? "chunked" : nil))
            }
        }
    }

    @Test("A streamed answer to HEAD has no body") func streamsNothingToHEAD() async throws {
        try await withServer(handler: { _, responder in
            try? responder.start(status: 200)
            _ = responder.send(Array("body".utf8))
            try? responder.finish()
        }) { server in
            let client = try server.client()
            try client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try client.answer(toHead: true).status == 200)
            try client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            #expect(try client.answer().text == "body")
            #expect(try client.isAtEnd())
        }
    }

    /// The stream ends long after its head was sent, so that there may be nothing to send at its end.
    @Test("A stream ends after all its bytes were sent") func endsAStreamWhoseBytesAreAllOut() async throws {
        let held = Held<HTTP1Responder?>(nil)
        try await withServer(handler: { _, responder in
            try? responder.start(status: 200)
            held.value = responder
        }) { server in
            for method in ["HEAD", "GET"] {
                for version in ["1.0", "1.1"] {
                    let client = try server.client()
                    try client.send("\(method) / HTTP/\(version)\r\nHost: x\r\nConnection: close\r\n\r\n")
                    let head = "HTTP/\(version) 200 OK\r\n"
                    _ = try client.receive(atLeast: head.utf8.count)
                    try await server.loop.run { try held.value.take()?.finish() }
                    #expect(String(decoding: try client.rest(), as: UTF8.self).hasPrefix(head))
                }
            }
        }
    }

    @Test("A stream whose responder was dropped is aborted") func cutsAStreamWhoseResponderWasDropped() async throws {
        try await withServer(handler: { _, responder in
            try? responder.start(status: 200)
            _ = responder.send(Array("half".utf8))
        }) { server in
            let client = try server.client()
            try client.send(get)
            let bytes = String(decoding: (try? client.rest()) ?? [], as: UTF8.self)
            #expect(!bytes.contains("\r\n0\r\n"))
            await server.until { $0.open == 0 }
        }
    }

    /// Sends like a correct handler: it waits when `send` returns `wait`, and continues on `onDrain`.
    @Test("A large stream reaches a slow client") func streamsMoreThanFitsToASlowClient() async throws {
        var limits = HTTP1Limits()
        limits.streamBufferBytes = 64 * 1024
        let chunk = [UInt8](repeating: 0x61, count: 10_000)
        let total = 2000
        let waits = Tally()
        try await withServer(
            limits: limits,
            handler: { _, responder in
                var sent = 0
                func sendOn() {
                    while sent < total {
                        sent += 1
                        switch responder.send(chunk) {
                        case .more: continue
                        case .wait: return waits.add()
                        case .refused, .closed:
                            Issue.record("the handler waited, but the chunk was refused")
                            return
                        }
                    }
                    try? responder.finish()
                }
                try? responder.start(status: 200)
                responder.onDrain = { sendOn() }
                sendOn()
            }
        ) { server in
            let client = try RawClient(port: server.port, receiveBuffer: 4096)
            try client.send(get)
            let answer = try client.answer()
            #expect(answer.body.count == total * chunk.count)
            #expect(answer.body.allSatisfy { $0 == 0x61 })
        }
        #expect(waits.value > 10)
    }

    @Test("The buffer of a client that never reads is bounded")
    func holdsNoMoreThanTheBoundForAClientThatNeverReads() async throws {
        var limits = HTTP1Limits()
        limits.streamBufferBytes = 100_000
        let chunk = [UInt8](repeating: 0x61, count: 10_000)
        let refused = Tally()
        let taken = Tally()
        let closed = Tally()
        let held = Held<HTTP1Responder?>(nil)
        try await withServer(
            limits: limits,
            handler: { _, responder in
                try? responder.start(status: 200)
                responder.onClose = { closed.add() }
                held.value = responder
            }
        ) { server in
            let client = try RawClient(port: server.port, receiveBuffer: 4096)
            try client.send(get)
            await server.until { $0.requests == 1 }
            // The system's own buffers take some megabytes. Further data is buffered by the server and bounded.
            while refused.value < 100 {
                await server.loop.run {
                    switch held.value?.send(chunk) {
                    case .refused: refused.add()
                    case .more, .wait: taken.add()
                    case .closed, nil: Issue.record("the client is still connected")
                    }
                }
            }
            #expect(taken.value < 10_000)
            #expect(closed.value == 0)
            // A client that reads nothing for the stall time twice is disconnected.
            await server.loop.advance(by: limits.stallTime)
            await server.loop.advance(by: limits.stallTime)
            await closed.reaches(1)
            await server.until { $0.open == 0 }
            await server.loop.run { #expect(held.value?.send(chunk) == .closed) }
        }
    }

    @Test("The handler is notified when the client disconnects", arguments: [false, true])
    func hearsThatTheClientHasGone(abruptly: Bool) async throws {
        let closed = Tally()
        let held = Held<HTTP1Responder?>(nil)
        try await withServer(handler: { _, responder in
            responder.onClose = { closed.add() }
            held.value = responder
        }) { server in
            for number in 1...3 {
                let client = try server.client()
                if number > 1 {
                    // Test the middle of a stream as well.
                    try client.send(get)
                    await server.until { $0.requests == number }
                    try await server.loop.run { try held.value?.start(status: 200) }
                    await server.loop.run { #expect(held.value?.send([0x61]) == .more) }
                } else {
                    try client.send(get)
                    await server.until { $0.requests == number }
                }
                abruptly ? client.reset() : client.close()
                await closed.reaches(number)
                // Later output is ignored.
                try await server.loop.run {
                    #expect(held.value?.send([0x61]) == .closed)
                    try held.value?.respond(status: 200)
                    try held.value?.finish()
                }
                await server.until { $0.open == 0 }
            }
        }
        #expect(closed.value == 3)
    }

    @Test("onClose is not called after a complete answer") func doesNotSayClosedOfAnAnswerThatWasGiven() async throws {
        let closed = Tally()
        try await withServer(handler: { _, responder in
            responder.onClose = { closed.add() }
            try? responder.respond(status: 200)
        }) { server in
            let client = try server.client()
            try client.send(get)
            #expect(try client.answer().status == 200)
            client.close()
            await server.until { $0.open == 0 }
        }
        #expect(closed.value == 0)
    }
}
