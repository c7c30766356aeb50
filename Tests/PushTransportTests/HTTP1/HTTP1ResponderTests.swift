import PushLoop
import PushTransport
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct HTTP1ResponderTests {
    private let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test func answersLater() async throws {
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

    @Test func answers500ForAResponderThatWasDropped() async throws {
        try await withServer(handler: { _, _ in }) { server in
            let client = try server.client()
            for _ in 1...2 {
                try client.send(get)
                #expect(try client.answer().status == 500)
            }
        }
    }

    /// The last reference may go on any thread; the answer is given on the loop.
    @Test func answers500ForAResponderThatWasDroppedElsewhere() async throws {
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

    @Test func firstAnswerStands() async throws {
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

    @Test(arguments: [
        ("X-Name", "a\r\nSet-Cookie: b"), ("X-Name", "a\nb"), ("X-Name", "a\0b"), ("X-Name", "a\r\n b"),
        ("X\r\nName", "a"), ("X Name", "a"), ("X:Name", "a"), ("", "a"), ("Content-Length", "3"),
        ("transfer-encoding", "chunked"), ("connection", "close"),
    ])
    func refusesHeadersThatWouldBreakTheFraming(name: String, value: String) async throws {
        try await withServer(handler: { _, responder in
            var headers = HTTP1Headers()
            headers.add(name, value)
            do throws(HTTP1Error) {
                try responder.respond(status: 200, headers: headers)
            } catch {
                // Nothing has gone out: another answer may.
                try? responder.respond(status: 418, body: Array("\(error.code == .badHeader)".utf8))
            }
        }) { server in
            let answer = try server.answer(to: get)
            #expect(answer.status == 418)
            #expect(answer.text == "true")
            #expect(answer.header("Set-Cookie") == nil)
        }
    }

    @Test func refusesAStatusThatIsNone() async throws {
        try await withServer(handler: { _, responder in
            for status in [0, 99, 101, 199, 600, -1] {
                try? responder.respond(status: status)
            }
        }) { server in
            let answer = try server.answer(to: get)
            #expect(answer.status == 500)
        }
    }

    @Test(arguments: ["1.1", "1.0"])
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

    @Test func streamsNothingToHEAD() async throws {
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

    /// Ends long after its head went out: evhttp then takes the end as it comes, within the call.
    @Test func endsAStreamWhoseBytesAreAllOut() async throws {
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

    @Test func cutsAStreamWhoseResponderWasDropped() async throws {
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

    /// Sends as a handler should: on until told to wait, then when told to go on.
    @Test func streamsMoreThanFitsToASlowClient() async throws {
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
                            Issue.record("the handler waited, and was refused")
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

    @Test func holdsNoMoreThanTheBoundForAClientThatNeverReads() async throws {
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
            // The system's own buffers take some megabytes; then all that waits is ours, and is bounded.
            while refused.value < 100 {
                await server.loop.run {
                    switch held.value?.send(chunk) {
                    case .refused: refused.add()
                    case .more, .wait: taken.add()
                    case .closed, nil: Issue.record("the client is still there")
                    }
                }
            }
            #expect(taken.value < 10_000)
            #expect(closed.value == 0)
            // A client that takes nothing for the stall time, and then again for as long, is cut.
            await server.loop.advance(by: limits.stallTime)
            await server.loop.advance(by: limits.stallTime)
            await closed.reaches(1)
            await server.until { $0.open == 0 }
            await server.loop.run { #expect(held.value?.send(chunk) == .closed) }
        }
    }

    @Test(arguments: [false, true])
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
                    // In mid-stream as well.
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
                // Later writes are ignored.
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

    @Test func doesNotSayClosedOfAnAnswerThatWasGiven() async throws {
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
