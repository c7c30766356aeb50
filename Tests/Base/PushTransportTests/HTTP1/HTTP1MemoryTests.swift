import PushLoop
import TestSupport
import TestTraits
import Testing

@testable import PushTransport

/// The bounds of the memory that all connections of a server use together.
@Suite(.waits) struct HTTP1MemoryTests {
    private static let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

    /// More than the kernel takes for a client that does not read.
    private static let large = 16 * 1024 * 1024

    @Test func `Answers that no client reads are bounded, and the largest makes room for others`() async throws {
        var limits = HTTP1Limits()
        limits.allOutputBytes = Self.large / 4
        let answer = [UInt8](repeating: UInt8(ascii: "x"), count: Self.large)
        try await withServer(
            limits: limits,
            handler: { request, responder in
                try? responder.respond(status: 200, body: request.target == "/large" ? answer : [])
            },
            { server in
                let stalled = try server.client()
                try stalled.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
                await wait(while: await server.loop.run({ server.server.wrapped.outputBytes }) == 0)
                #expect(try server.answer(to: Self.get).status == 200)
                #expect(await server.loop.run { server.server.wrapped.outputBytes } == 0)
                #expect(throws: (any Error).self) { try stalled.answer() }
            })
    }

    @Test func `A stalled client that disconnects gives back its part`() async throws {
        var limits = HTTP1Limits()
        limits.allOutputBytes = Self.large / 4
        let answer = [UInt8](repeating: UInt8(ascii: "x"), count: Self.large)
        try await withServer(
            limits: limits, handler: { _, responder in try? responder.respond(status: 200, body: answer) },
            { server in
                let stalled = try server.client()
                try stalled.send(Self.get)
                await wait(while: await server.loop.run({ server.server.wrapped.outputBytes }) == 0)
                stalled.reset()
                await wait(while: await server.loop.run({ server.server.wrapped.outputBytes }) > 0)
                #expect(try server.answer(to: Self.get).status == 200)
            })
    }

    @Test func `Incomplete heads count as incomplete requests`() async throws {
        var limits = HTTP1Limits()
        limits.allBodiesBytes = 10_000
        try await withServer(limits: limits) { server in
            let part = "GET / HTTP/1.1\r\nHost: x\r\nX: " + String(repeating: "y", count: 6000)
            let first = try server.client()
            try first.send(part)
            await server.receives(part.utf8.count)
            let second = try server.client()
            try second.send(part)
            #expect(try second.answer().status == 503)
            await server.receives(part.utf8.count)
            try first.send("\r\n\r\n")
            #expect(try first.answer().status == 200)
            await server.receives(0)
        }
    }
}
