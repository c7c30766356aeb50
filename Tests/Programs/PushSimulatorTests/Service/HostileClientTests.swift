import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushSimulator

/// Hostile and broken clients. After each of them, the simulator must still serve the next client.
@Suite(.waits) struct HostileClientTests {
    private func expectItServes(_ apple: Apple, _ number: Int = 999) async throws {
        let client = try await apple.openWithCertificate()
        #expect(await client.outcome(of: Push(number))?.status == 200)
        await client.close()
    }

    @Test("Garbage after the handshake closes the connection")
    func garbageAfterTheHandshake() async throws {
        try await withApple { apple in
            var random = SeededRandom(seed: 11)
            for _ in 0..<20 {
                let bytes = (0..<Int.random(in: 1...3000, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                let client = try await apple.hasty(to: apple.provider, alpn: "h2", bytes)
                // Shorter garbage could still become a valid preface.
                if bytes.count >= EagerProvider.preface.count { await client.untilClosed() }
                await client.close()
            }
            await apple.untilNoneIsOpen()
            #expect(try apple.control.counts().requests == 0)
            try await expectItServes(apple)
        }
    }

    @Test("Mutated HTTP/2 frames do no harm")
    func framesThatAreMutated() async throws {
        try await withApple { apple in
            var random = SeededRandom(seed: 12)
            let good =
                EagerProvider.firstFlight + EagerProvider.headers(stream: 3) + EagerProvider.headers(stream: 5)
            for _ in 0..<60 {
                let client = try await apple.hasty(to: apple.provider, alpn: "h2", random.mutate(good, chance: 1))
                await client.untilOpen()
                await client.close()
            }
            await apple.untilNoneIsOpen()
            try await expectItServes(apple)
        }
    }

    @Test("Mutated legacy frames do no harm")
    func framesOfTheGatewayThatAreMutated() async throws {
        try await withApple { apple in
            var random = SeededRandom(seed: 13)
            let good =
                LegacyFrame.enhanced(1, device: Push.device(1)) + LegacyFrame.items(2, device: Push.device(2))
                + LegacyFrame.simple(device: Push.device(3))
            for _ in 0..<60 {
                let client = try await apple.legacy(random.mutate(good, chance: 1))
                await client.untilOpen()
                await client.close()
            }
            await apple.untilNoneIsOpen()
            try await expectItServes(apple)
        }
    }

    @Test("Plain HTTP on a TLS port is rejected")
    func plainHTTPOnTheTLSPorts() async throws {
        try await withApple { apple in
            for place in [apple.provider, apple.binary, apple.feedback] {
                let client = try RawClient(port: place.port)
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                // The server sends at most an alert before it closes.
                let last = (try? client.rest()) ?? []
                #expect(last.isEmpty || last[0] == 0x15)
            }
            await apple.untilNoneIsOpen()
            try await expectItServes(apple)
        }
    }

    @Test("A thousand connections that end in the handshake do no harm")
    func aThousandConnectionsThatComeAndGo() async throws {
        try await withApple { apple in
            for number in 0..<1000 {
                let port = [apple.provider, apple.binary, apple.feedback][number % 3].port
                let client = try RawClient(port: port)
                switch number % 4 {
                case 0: client.close()
                case 1: client.reset()
                case 2:
                    try client.send([0x16, 3, 1])
                    client.close()
                default:
                    try client.send([0x16, 3, 1, 2, 0, 1])
                    client.reset()
                }
            }
            try await expectItServes(apple)
            await apple.untilNoneIsOpen()
        }
    }

    @Test(
        "A client that does not complete the handshake times out",
        arguments: ["provider", "binary", "feedback", "refusal"])
    func aClientThatNeverShakesHandsIsGivenUp(port: String) async throws {
        let script = port == "refusal" ? #"{ rules: [{ on: "binary_connect", tls: "refuse" }] }"# : "{}"
        try await withApple(script: script, clock: .manual()) { apple in
            let place = ["provider": apple.provider, "feedback": apple.feedback][port] ?? apple.binary
            let client = try RawClient(port: place.port)
            await apple.until { $0.connectionCount == 1 }
            await apple.loop.advance(by: .seconds(9))
            #expect(await apple.with { $0.connectionCount } == 1)
            await apple.loop.advance(by: .seconds(2))
            await apple.untilNoneIsOpen()
            #expect((try? client.isAtEnd()) != false)
        }
    }

    @Test("Headers and bodies that are too large are rejected")
    func headersAndBodiesThatAreTooLarge() async throws {
        try await withApple { apple in
            let client = try await apple.openWithCertificate()
            var large = Push(1)
            large.more = [("x-filler", String(repeating: "a", count: 17_000))]
            #expect(await client.outcome(of: large)?.status == 431)
            // The sizes are: above the limit of the push type, above the size that is kept of a body, and far above.
            for (number, size) in [(2, 4097), (3, 70_000), (4, 2_000_000)] {
                var push = Push(number)
                push.body = #"{"aps":{},"x":""# + String(repeating: "a", count: size) + #""}"#
                let outcome = await client.outcome(of: push)
                #expect(outcome?.status == 413 && outcome?.reason == "PayloadTooLarge")
            }
            #expect(await client.outcome(of: Push(5))?.status == 200)
            // The request with oversized headers is not recorded.
            #expect(try apple.control.received().map(\.status) == [413, 413, 413, 200])
        }
    }

    @Test("States of Live Activities that are too large are rejected by all ports")
    func statesThatAreTooLarge() async throws {
        try await withApple { apple in
            let phone = try apple.control.ask("POST", "/phones", "{app: 'com.example.shop', activity_types: ['T']}")
            let text = String(decoding: phone.body, as: UTF8.self)
            let token = try #require(text.firstMatch(of: /[0-9a-f]{160}/)).0
            let large = String(repeating: "x", count: 5_000_000)
            var status: Int?
            do {
                try apple.control.ask("POST", "/activities", "{phone: 1, type: 'T', content_state: {x: '\(large)'}}")
            } catch let failure as ControlPort.Failure {
                status = failure.answer.status
            }
            #expect(status == 413)
            #expect(try apple.control.ask("GET", "/activities").body.isEmpty)
            // The tokens of Live Activities are longer than others.
            #expect(token.count == 160)
            #expect(try apple.control.ask("POST", "/devices/\(token)/rotate").body.count > 320)
            try await expectItServes(apple)
        }
    }

    @Test("The output for a client that never reads is bounded")
    func aClientThatNeverReads() async throws {
        try await withApple(script: "{ rules: [{ answer: { status: 200 } }] }") { apple in
            let client = try await apple.hasty(
                to: apple.provider, alpn: "h2", EagerProvider.firstFlight, receiveBuffer: 4096)
            await client.untilOpen()
            await client.peer.with { $0.channel?.isReadingPaused = true }
            // Write in small steps, so that little output is pending on this side.
            var stream: UInt32 = 3
            var stalled = 0
            while stalled < 200, stream < 400_000 {
                let backlog = await client.peer.with { $0.channel?.outputBacklog ?? 0 }
                if backlog > 128 * 1024 {
                    stalled += 1
                    // Both loops complete a turn; a peer that reads has read by then.
                    _ = await apple.with { $0.connectionCount }
                    continue
                }
                stalled = 0
                var bytes: [UInt8] = []
                for _ in 0..<500 {
                    bytes += EagerProvider.headers(stream: stream, filler: true)
                    stream += 2
                }
                await client.write(bytes)
                if await client.peer.with({ $0.channel?.isOpen != true }) { break }
            }
            let held = await apple.with { $0.largestBacklog }
            #expect(held < 1_000_000)
            #expect(
                stalled == 200 || stream < 400_000, "the simulator read everything from a client that reads nothing")
            await client.close()
            await apple.untilNoneIsOpen()
            try await expectItServes(apple)
        }
    }
}
