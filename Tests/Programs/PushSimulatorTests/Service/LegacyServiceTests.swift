import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushSimulator

/// The legacy gateway and the feedback service over real TLS.
@Suite(.waits) struct LegacyServiceTests {
    private static let bad = "bad0" + String(repeating: "0", count: 60)

    private func forbidBad(_ apple: Apple) throws {
        try apple.control.ask("PUT", "/devices/\(Self.bad)", #"{"state":"bad"}"#)
    }

    @Test("Frames of all three commands are recorded")
    func framesOfAllThreeCommandsAreRecorded() async throws {
        try await withApple { apple in
            let client = try await apple.legacy()
            await client.untilOpen()
            await client.write(
                LegacyFrame.simple(device: Push.device(1)) + LegacyFrame.enhanced(22, device: Push.device(2))
                    + LegacyFrame.items(33, device: Push.device(3)))
            await apple.until { $0.machine.log.total == 3 }
            let records = try apple.control.received()
            #expect(records.map(\.service) == ["binary", "binary", "binary"])
            #expect(records.map(\.identifier) == [0, 22, 33])
            #expect(records.map(\.token) == [Push.device(1), Push.device(2), Push.device(3)])
            #expect(records.allSatisfy { $0.accepted && $0.status == 200 })
            #expect(client.received.isEmpty)
            await client.close()
        }
    }

    @Test("Frames are parsed however they are split")
    func framesAreTakenHoweverTheyAreSplit() async throws {
        try await withApple { apple in
            let client = try await apple.legacy()
            await client.untilOpen()
            let bytes =
                LegacyFrame.enhanced(1, device: Push.device(1)) + LegacyFrame.items(2, device: Push.device(2))
                + LegacyFrame.simple(device: Push.device(3)) + LegacyFrame.enhanced(4, device: Push.device(4))
            // Each piece is written in a separate tick, and therefore in a separate TLS record.
            var random = SeededRandom(seed: 9)
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...7, using: &random))
                await client.write(Array(piece))
                rest = rest.dropFirst(piece.count)
            }
            await apple.until { $0.machine.log.total == 4 }
            #expect(try apple.control.received().map(\.identifier) == [1, 2, 0, 4])
            #expect(try apple.control.counts().accepted == 4)
            await client.close()
        }
    }

    @Test("A bad token ends the connection, and later frames are discarded")
    func aBadTokenEndsTheConnectionAndWhatFollowsIsDiscarded() async throws {
        try await withApple { apple in
            try forbidBad(apple)
            let client = try await apple.legacy()
            await client.untilOpen()
            await client.write(
                LegacyFrame.enhanced(1, device: Push.device(1)) + LegacyFrame.items(2, device: Self.bad)
                    + LegacyFrame.enhanced(3, device: Push.device(3)))
            guard case .byPeer = await client.untilClosed() else {
                Issue.record("expected a graceful close, got \(client.events.events)")
                return
            }
            #expect(client.received == LegacyFrame.errorPacket(8, 2))
            let records = try apple.control.received()
            #expect(records.map(\.identifier) == [1, 2])
            #expect(records.map(\.status) == [200, 8])
            #expect(try apple.control.counts().accepted == 1)
        }
    }

    /// The packet must reach a client that continues to write, although its writes fail by then.
    @Test("The error packet reaches a client that continues to write", arguments: 1...8)
    func theErrorPacketReachesAClientThatGoesOnWriting(round: Int) async throws {
        try await withApple { apple in
            try forbidBad(apple)
            let client = try await apple.legacy()
            await client.untilOpen()
            var frames: [UInt8] = []
            for number in 0..<4000 {
                frames += LegacyFrame.enhanced(
                    UInt32(number + 1), device: number == 100 * round ? Self.bad : Push.device(number))
            }
            await client.write(frames)
            await client.untilClosed()
            #expect(client.received == LegacyFrame.errorPacket(8, UInt32(100 * round + 1)))
            await apple.untilNoneIsOpen()
            let counts = try apple.control.counts()
            #expect(counts.requests == 100 * round + 1 && counts.accepted == 100 * round)
        }
    }

    @Test("Bytes that are not a frame are answered with an error packet")
    func whatIsNoFrameAtAll() async throws {
        try await withApple { apple in
            let client = try await apple.legacy(Array("GET / HTTP/1.1\r\n\r\n".utf8))
            await client.untilClosed()
            #expect(client.received == LegacyFrame.errorPacket(128, 0))
            #expect(try apple.control.received().map(\.status) == [128])
        }
    }

    @Test("A shutdown packet names the last accepted notification")
    func shutdownNamesTheLastOneThatWasAccepted() async throws {
        try await withApple(script: "{ rules: [{ on: \"binary\", match: { request: 2 }, packet: 10 }] }") { apple in
            let client = try await apple.legacy()
            await client.untilOpen()
            await client.write((1...4).flatMap { LegacyFrame.enhanced($0, device: Push.device(Int($0))) })
            await client.untilClosed()
            #expect(client.received == LegacyFrame.errorPacket(10, 2))
            #expect(try apple.control.received().map(\.accepted) == [true, true])
        }
    }

    @Test("An error packet can be truncated or delayed")
    func aPacketThatIsCutShortAndOneThatComesLate() async throws {
        let script = """
            { rules: [
              { on: "binary", match: { connection: 1, request: 2 }, half_frame: true },
              { on: "binary", match: { connection: 2, request: 1 }, packet: 1, latency: "3s" },
            ] }
            """
        try await withApple(script: script, clock: .manual()) { apple in
            let cut = try await apple.legacy((1...3).flatMap { LegacyFrame.enhanced($0, device: Push.device(1)) })
            await cut.untilClosed()
            #expect(cut.received == [8, 1, 0])
            let late = try await apple.legacy((1...3).flatMap { LegacyFrame.enhanced($0, device: Push.device(1)) })
            await apple.until { $0.machine.log.total == 3 }
            await apple.loop.advance(by: .milliseconds(2999))
            #expect(late.received.isEmpty)
            await apple.loop.advance(by: .milliseconds(1))
            await late.untilClosed()
            #expect(late.received == LegacyFrame.errorPacket(1, 1))
            #expect(try apple.control.received().map(\.status) == [200, 1, 1])
        }
    }

    /// `withApple` stops the service while a packet is delayed, and fails if something retains the service.
    @Test("A delayed packet is dropped with its connection")
    func aPacketThatWaitsIsForgottenWithItsConnection() async throws {
        let script = #"{ rules: [{ on: "binary", packet: 1, latency: "1h" }] }"#
        try await withApple(script: script, clock: .manual()) { apple in
            let first = try await apple.legacy(LegacyFrame.enhanced(1, device: Push.device(1)))
            let second = try await apple.legacy(LegacyFrame.enhanced(2, device: Push.device(1)))
            await apple.until { $0.machine.log.total == 2 }
            await first.close()
            await apple.until { $0.connectionCount == 1 }
            await apple.loop.advance(by: .seconds(3601))
            await second.untilClosed()
            #expect(second.received == LegacyFrame.errorPacket(1, 2))
            #expect(first.received.isEmpty)
        }
    }

    @Test("A rule can silence or close a connection to the gateway")
    func silenceAndCloseOnTheGateway() async throws {
        let script = """
            { rules: [
              { on: "binary", match: { connection: 1, request: 2 }, silence: true },
              { on: "binary", match: { connection: 2, request: 2 }, close: true },
            ] }
            """
        try await withApple(script: script) { apple in
            try forbidBad(apple)
            let frames =
                LegacyFrame.enhanced(1, device: Push.device(1)) + LegacyFrame.enhanced(2, device: Push.device(1))
                + LegacyFrame.enhanced(3, device: Self.bad)
            let silent = try await apple.legacy(frames)
            await apple.until { $0.machine.log.total == 2 }
            await silent.close()
            #expect(silent.received.isEmpty)
            let closed = try await apple.legacy(frames)
            await closed.untilClosed()
            #expect(closed.received.isEmpty)
            #expect(try apple.control.received().map(\.identifier) == [1, 2, 1, 2])
        }
    }

    @Test("A certificate must match the topic of the device, and a client without a certificate may push")
    func aCertificateOfAnotherTopicOrNone() async throws {
        try await withApple { apple in
            let device = Push.device(5)
            try apple.control.ask("PUT", "/devices/\(device)", #"{"topics":["com.example.other"]}"#)
            let client = try await apple.legacy(LegacyFrame.enhanced(7, device: device))
            await client.untilClosed()
            #expect(client.received == LegacyFrame.errorPacket(8, 7))
            let anyone = try await apple.legacy(LegacyFrame.enhanced(8, device: device), identity: nil)
            await apple.until { $0.machine.log.acceptedTotal == 1 }
            await anyone.close()
        }
    }

    @Test("The feedback service reports an unregistered device once")
    func theFeedbackServiceReportsADeviceThatIsGoneOnce() async throws {
        try await withApple { apple in
            let gone = "0a0d" + String(repeating: "0a", count: 30)
            try apple.control.ask("PUT", "/devices/\(gone)", #"{"state":"unregistered","since":1700000000000}"#)
            #expect(try await apple.readFeedback().bytes.isEmpty)
            let client = try await apple.legacy(
                LegacyFrame.enhanced(1, device: gone) + LegacyFrame.enhanced(2, device: gone)
                    + LegacyFrame.enhanced(3, device: Push.device(3)))
            await apple.until { $0.machine.log.total == 3 }
            await client.close()
            // The notifications are accepted silently; only the feedback service reports the device.
            #expect(client.received.isEmpty)
            let first = try await apple.readFeedback()
            let token = PushTransport.Hex.decode(gone)!
            #expect(first.bytes == [0x65, 0x53, 0xf1, 0x00, 0, 32] + token)
            guard case .byPeer = first.closure else {
                Issue.record("expected a graceful close, got \(first.closure)")
                return
            }
            let second = try await apple.readFeedback()
            #expect(second.bytes.isEmpty)
        }
    }

    @Test("A long feedback list is sent completely, or truncated by a rule")
    func aLongListOfFeedbackAndOneThatIsCutShort() async throws {
        try await withApple(script: #"{ rules: [{ on: "feedback", match: { every: 2 }, half_frame: true }] }"#) {
            apple in
            let fill = {
                await apple.with { service in
                    for number in 0..<20_000 {
                        service.machine.noteGone(PushTransport.Hex.decode(Push.device(number))!)
                    }
                }
            }
            await fill()
            let whole = try await apple.readFeedback()
            #expect(whole.bytes.count == 20_000 * 38)
            await fill()
            let cut = try await apple.readFeedback()
            #expect(cut.bytes.count == 20_000 * 38 - 3)
            #expect(try await apple.readFeedback().bytes.isEmpty)
        }
    }

    @Test("Feedback can be silent, and faults can occur before TLS")
    func silentFeedbackAndFaultsBeforeTLS() async throws {
        let script = """
            { rules: [
              { on: "feedback", match: { connection: 1 }, silence: true },
              { on: "binary_connect", match: { connection: 2 }, tls: "refuse" },
              { on: "binary_connect", match: { connection: 3 }, tls: "expired_certificate" },
              { on: "binary_connect", match: { connection: 4 }, silence: true },
            ] }
            """
        try await withApple(script: script) { apple in
            let silent = try await apple.hasty(to: apple.feedback, alpn: nil, [])
            await silent.untilOpen()
            await silent.close()
            #expect(silent.received.isEmpty)
            guard case .tls(let refused) = await (try apple.legacy()).untilClosed() else {
                Issue.record("expected a rejected handshake")
                return
            }
            #expect(refused.alert == 40)
            guard case .tls(let expired) = await (try apple.legacy()).untilClosed() else {
                Issue.record("expected a rejected certificate")
                return
            }
            #expect(expired.code == .certificateExpired)
            let mute = try await apple.legacy(LegacyFrame.enhanced(1, device: Push.device(1)))
            await mute.untilOpen()
            await mute.close()
            await apple.untilNoneIsOpen()
            #expect(try apple.control.counts().requests == 0)
        }
    }
}

extension SimulatorMachine {
    mutating func noteGone(_ token: [UInt8]) {
        feedback.add(token, at: WallTime(milliseconds: 1_700_000_000_000))
    }
}
