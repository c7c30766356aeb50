import Glibc
import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

/// Tests of the life of a connection: what the application sees of it, half-closed clients, large and slow transfers.
@Suite(.waits) struct HTTP1ConnectionTests {
    private let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

    /// The context of a connection in these tests.
    private final class Visits {
        var count = 0
        let ended: Tally

        init(ended: Tally) {
            self.ended = ended
        }

        deinit {
            ended.add()
        }
    }

    @Test("The application can keep data with a connection") func keepsAContext() async throws {
        let ended = Tally()
        let handler: TestHandler = { _, responder in
            let connection = responder.connection
            let visits = connection.context as? Visits ?? Visits(ended: ended)
            connection.context = visits
            visits.count += 1
            try? responder.respond(status: 200, body: Array("\(connection.number) \(visits.count)".utf8))
        }
        try await withServer(handler: handler) { server in
            let first = try server.client()
            let second = try server.client()
            for number in 1...3 {
                try first.send(get)
                #expect(try first.answer().text == "0 \(number)")
                try second.send(get)
                #expect(try second.answer().text == "1 \(number)")
            }
            first.close()
            await ended.reaches(1)
            await server.until { $0.open == 1 }
            // The number of a closed connection is reused, but not its context.
            #expect(try server.answer(to: get).text == "0 1")
            second.close()
            await ended.reaches(3)
        }
    }

    @Test("The application can close connections and streams") func closesConnectionsOfTheApplication() async throws {
        final class User {}
        let revoked = Held(User())
        let held = Held<[HTTP1Responder]>([])
        let closed = Tally()
        let handler: TestHandler = { request, responder in
            if request.path.first == "revoked" { responder.connection.context = revoked.value }
            guard request.path.last == "stream" else { return echo(request, responder) }
            responder.onClose = { closed.add() }
            try? responder.start(status: 200)
            _ = responder.send([0x61])
            held.value.append(responder)
        }
        try await withServer(handler: handler) { server in
            let idle = try server.client()
            try idle.send("GET /revoked/idle HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try idle.answer().status == 200)
            let stream = try server.client()
            try stream.send("GET /revoked/stream HTTP/1.1\r\nHost: x\r\n\r\n")
            await server.until { $0.requests == 2 }
            let other = try server.client()
            try other.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
            await server.until { $0.requests == 3 }
            await server.loop.run {
                server.server.wrapped.closeConnections { $0.context === revoked.value }
            }
            #expect(try idle.isAtEnd())
            let rest = String(decoding: (try? stream.rest()) ?? [], as: UTF8.self)
            #expect(!rest.hasSuffix("0\r\n\r\n"))
            await closed.reaches(1)
            await server.until { $0.open == 1 }
            await server.loop.run {
                #expect(held.value[0].send([0x61]) == .closed)
                #expect(held.value[1].send([0x62]) == .more)
                try? held.value[1].finish()
            }
            #expect(try other.answer().text == "ab")
            await server.loop.run { held.value = [] }
        }
        #expect(closed.value == 1)
    }

    @Test("A connection that is closed after an answer still sends it") func sendsTheAnswerBeforeTheClose() async throws
    {
        let body = [UInt8](repeating: 0x61, count: 3_000_000)
        try await withServer(handler: { _, responder in
            try? responder.respond(status: 200, body: body)
            responder.connection.close()
        }) { server in
            let client = try RawClient(port: server.port, receiveBuffer: 4096)
            try client.send(get + get)
            #expect(try client.answer().body == body)
            #expect(try client.isAtEnd())
            #expect(await server.counts.requests == 1)
        }
    }

    // MARK: Half-closed clients

    @Test("A client that has ended its side gets the whole answer", arguments: [10, 5_000_000])
    func answersAHalfClosedClient(size: Int) async throws {
        let body = [UInt8](repeating: 0x61, count: size)
        try await withServer(handler: { _, responder in try? responder.respond(status: 200, body: body) }) { server in
            let client = try RawClient(port: server.port, receiveBuffer: 4096)
            try client.send(get)
            client.endSending()
            #expect(try client.answer().body == body)
            #expect(try client.isAtEnd())
            await server.until { $0.open == 0 }
        }
    }

    /// The end of the connection ends an answer in HTTP/1.0, so only a reset shows that it is incomplete.
    @Test("A stream to an HTTP/1.0 client that is aborted ends with a reset") func resetsAbortedStreams() async throws {
        try await withServer(handler: { _, responder in
            try? responder.start(status: 200)
            _ = responder.send(Array("half".utf8))
        }) { server in
            let client = try server.client()
            try client.send("GET / HTTP/1.0\r\n\r\n")
            #expect(throws: RawClient.Failure.self) { _ = try client.rest() }
        }
    }

    // MARK: Slow clients

    @Test("An idle stream stays open") func keepsAnIdleStream() async throws {
        let held = Held<HTTP1Responder?>(nil)
        try await withServer(handler: { _, responder in
            try? responder.start(status: 200, headers: ["Content-Type": "text/event-stream"])
            held.value = responder
        }) { server in
            let client = try server.client()
            try client.send(get)
            await server.until { $0.requests == 1 }
            await server.loop.advance(by: .seconds(24 * 3600))
            await server.loop.run { #expect(held.value?.send(Array("data: x\n\n".utf8)) == .more) }
            await server.loop.advance(by: .seconds(3600))
            try await server.loop.run { try held.value.take()?.finish() }
            #expect(try client.answer().text == "data: x\n\n")
        }
    }

    /// The last answer of a connection is not cut off as long as the client reads it, however long that takes.
    @Test("A slow client gets the whole last answer") func sendsTheLastAnswerToASlowClient() async throws {
        let body = [UInt8](repeating: 0x61, count: 40_000_000)
        let limits = HTTP1Limits()
        try await withServer(
            limits: limits,
            handler: { _, responder in
                try? responder.respond(status: 200, body: body)
            }
        ) { server in
            let client = try RawClient(port: server.port, receiveBuffer: 4096)
            try client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            await server.until { $0.requests == 1 }
            var received = 0
            for round in 1...3 {
                // More than the buffers of the system hold, so that it must have taken more from the server.
                while received < round * 8_000_000 { received += try client.some().count }
                await server.loop.advance(by: limits.stallTime - .seconds(1))
                #expect(await server.counts.open == 1)
            }
            received += try client.rest().count
            #expect(received > body.count)
        }
    }

    /// A client that sends requests and reads no answers costs the server a bounded amount of output.
    @Test("Pipelined requests of a client that does not read wait") func boundsTheOutputOfPipelinedRequests()
        async throws
    {
        let body = [UInt8](repeating: 0x61, count: 1_000_000)
        try await withServer(handler: { _, responder in try? responder.respond(status: 200, body: body) }) { server in
            let client = try RawClient(port: server.port, receiveBuffer: 4096)
            try client.send(String(repeating: get, count: 100))
            await server.until { $0.requests > 0 }
            for _ in 1...100 { await server.loop.run {} }
            // The system's buffers take a few megabytes.
            #expect(await server.counts.requests < 20)
            // Other clients are served meanwhile.
            #expect(try server.answer(to: get).body == body)
            for _ in 1...100 { #expect(try client.answer().body.count == body.count) }
        }
    }

    @Test("A client that pipelines many requests lets others have their turn") func takesTurns() async throws {
        let order = Held<[String]>([])
        let handler: TestHandler = { request, responder in
            order.value.append(request.target)
            try? responder.respond(status: 200)
        }
        try await withServer(handler: handler) { server in
            let (flood, other) = (try server.client(), try server.client())
            for client in [flood, other] {
                try client.send(get)
                #expect(try client.answer().status == 200)
            }
            // The loop stands still until both have sent everything.
            let (stopped, sent) = (Tally(), Tally())
            server.loop.execute {
                stopped.add()
                while sent.value == 0 { sched_yield() }
            }
            await stopped.reaches(1)
            try flood.send(String(repeating: get, count: 500))
            try other.send(get.replacing("GET /", with: "GET /other"))
            sent.add()
            #expect(try other.answer().status == 200)
            for _ in 1...500 { #expect(try flood.answer().status == 200) }
            let place = try #require(await server.loop.run { order.value.firstIndex(of: "/other") })
            #expect(place < 50)
            #expect(await server.loop.run { order.value.count } == 503)
        }
    }

    // MARK: Large bodies

    @Test("A large body has more time as long as it arrives fast enough") func givesLargeBodiesTime() async throws {
        var limits = HTTP1Limits()
        limits.bodyBytes = 8 * 1024 * 1024
        limits.bodyRate = 100_000
        try await withServer(
            limits: limits,
            handler: { request, responder in
                try? responder.respond(status: 200, body: Array("\(request.body.count)".utf8))
            }
        ) { server in
            let client = try server.client()
            let piece = [UInt8](repeating: 0x61, count: 1_000_000)
            try client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6000000\r\n\r\n")
            for count in 1...6 {
                try client.send(piece)
                let arrived = count * piece.count
                // Until the server has read the piece; its count is not visible from outside.
                if count < 6 { await server.receives(arrived) }
                if count < 6 { await server.loop.advance(by: .seconds(14)) }
            }
            // After 70 seconds, which the 5,000,000 bytes and the first 30 seconds allow.
            #expect(try client.answer().text == "6000000")
            try client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6000000\r\n\r\n")
            try client.send(piece)
            await server.receives(piece.count)
            await server.loop.advance(by: .seconds(39))
            #expect(await server.counts.open == 1)
            await server.loop.advance(by: .seconds(1))
            #expect(try client.answer().status == 408)
        }
    }

    @Test("All incomplete bodies together are bounded") func boundsAllBodies() async throws {
        var limits = HTTP1Limits()
        limits.bodyBytes = 1_000_000
        limits.allBodiesBytes = 2_500_000
        try await withServer(limits: limits) { server in
            let announced = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
            let part = [UInt8](repeating: 0x61, count: 900_000)
            let clients = try (1...2).map { _ in try server.client() }
            for (index, client) in clients.enumerated() {
                try client.send(announced)
                try client.send(part)
                await server.receives((index + 1) * part.count)
            }
            let third = try server.client()
            try third.send(announced)
            third.sendUntilClosed(part)
            let answer = try third.answer()
            #expect(answer.status == 503)
            #expect(answer.header("Retry-After") != nil)
            third.close()
            // The others go on, and their memory is free again.
            for client in clients {
                try client.send([UInt8](repeating: 0x61, count: 100_000))
                #expect(try client.answer().status == 200)
            }
            await server.receives(0)
            #expect(try server.answer(to: announced + String(repeating: "a", count: 1_000_000)).status == 200)
        }
    }

    @Test("A small body is received although large ones that never end fill the room")
    func smallBodiesGetThrough() async throws {
        var limits = HTTP1Limits()
        limits.bodyBytes = 1_000_000
        limits.allBodiesBytes = 2_560_000
        try await withServer(limits: limits) { server in
            let announced = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
            let sizes = [800_000, 900_000, 860_000]
            let hoarders = try sizes.map { _ in try server.client() }
            for (index, client) in hoarders.enumerated() {
                try client.send(announced)
                try client.send([UInt8](repeating: 0x61, count: sizes[index]))
                await server.receives(sizes[...index].reduce(0, +))
            }
            let small = try server.client()
            try small.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345")
            // The largest of them gives way.
            #expect(try hoarders[1].answer().status == 503)
            try small.send("67890")
            #expect(try small.answer().status == 200)
            // The others go on.
            for index in [0, 2] {
                try hoarders[index].send([UInt8](repeating: 0x61, count: 1_000_000 - sizes[index]))
                #expect(try hoarders[index].answer().status == 200)
            }
            await server.receives(0)
        }
    }
}
