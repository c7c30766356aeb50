import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushSimulator

/// Faults that end or prevent connections: what the client sees, and whether the record agrees.
@Suite(.waits) struct ConnectionFaultTests {
    @Test("A GOAWAY ends the streams above its last one")
    func goAwayWithALastStream() async throws {
        let script = "{ rules: [{ match: { request: 8 }, goaway: { back: 3, reason: \"Shutdown\" } }] }"
        try await withApple(script: script) { apple in
            let client = try await apple.openWithCertificate()
            let outcomes = await client.outcomes(of: 1...12)
            for number in 1...12 {
                // Streams 1, 3, … 9 are the first five requests. Requests that were answered before the GOAWAY stay
                // answered.
                if number <= 7 {
                    #expect(outcomes[number]?.status == 200, "\(number)")
                } else {
                    #expect(outcomes[number]?.failure == .notProcessed, "\(number)")
                }
            }
            let goAway = client.goAway
            #expect(goAway?.lastStream == 9)
            #expect(goAway?.code == .noError)
            #expect(goAway.map { String(decoding: $0.debugData, as: UTF8.self) } == #"{"reason":"Shutdown"}"#)
            guard case .goAway? = await client.closure() else {
                Issue.record("expected an end by GOAWAY, got \(client.events.events)")
                return
            }
            await apple.untilNoneIsOpen()
            try expectAgreement(apple.control.received(), outcomes)
        }
    }

    @Test("A GOAWAY drops delayed answers above its last stream")
    func goAwayDropsAnswersThatWaitBeyondIt() async throws {
        let script = """
            { rules: [
              { match: { request: 6 }, goaway: { last: 5 } }, { latency: "1s" },
            ] }
            """
        try await withApple(script: script, clock: .manual()) { apple in
            let client = try await apple.openWithCertificate()
            await client.send((1...6).map { Push($0) })
            let late = await client.ends(of: 4...6)
            #expect(late.values.allSatisfy { $0.failure == .notProcessed })
            #expect(client.endedCount == 3)
            await apple.loop.advance(by: .seconds(1))
            let early = await client.ends(of: 1...3)
            #expect(early.values.allSatisfy { $0.status == 200 })
            guard case .goAway? = await client.closure() else {
                Issue.record("expected an end by GOAWAY, got \(client.events.events)")
                return
            }
            await apple.untilNoneIsOpen()
            try expectAgreement(apple.control.received(), early.merging(late) { first, _ in first })
            #expect(try apple.control.counts().accepted == 3)
        }
    }

    /// The bodies of answers would be sent after a GOAWAY unless they are flushed before it.
    @Test("A GOAWAY does not overtake answers with a body")
    func goAwayDoesNotOvertakeAnswersWithABody() async throws {
        let script = """
            { rules: [
              { match: { request: 9 }, goaway: { last: 1 } }, { answer: { reason: "ServiceUnavailable" } },
            ] }
            """
        try await withApple(script: script) { apple in
            let client = try await apple.openWithCertificate()
            let outcomes = await client.outcomes(of: 1...9)
            #expect((1...8).allSatisfy { outcomes[$0]?.status == 503 })
            #expect(outcomes[9]?.failure == .notProcessed)
            await apple.untilNoneIsOpen()
            try expectAgreement(apple.control.received(), outcomes)
        }
    }

    @Test("A GOAWAY can close the connection at once", arguments: [true, false])
    func goAwayThatCloses(hasDelay: Bool) async throws {
        let script = """
            { rules: [
              { match: { request: 5 }, goaway: { back: 1, code: "INTERNAL_ERROR", close: true } },
              \(hasDelay ? "{ match: { request: 2 }, latency: \"1s\" }" : "")
            ] }
            """
        try await withApple(script: script, clock: .manual()) { apple in
            let client = try await apple.openWithCertificate()
            let outcomes = await client.outcomes(of: 1...5)
            #expect(outcomes[1]?.status == 200)
            if hasDelay {
                // The request is below the last stream and was processed, but its answer is lost.
                #expect(outcomes[2]?.failure == .connectionLost)
            } else {
                #expect(outcomes[2]?.status == 200)
            }
            #expect(outcomes[5]?.failure == .notProcessed)
            #expect(client.goAway?.code == .internalError)
            _ = await client.closure()
            await apple.untilNoneIsOpen()
            let records = try apple.control.received()
            try expectAgreement(records, outcomes)
            #expect(records.map(\.accepted) == [true, true, true, true, false])
            #expect(records.map(\.unanswered) == [nil, hasDelay ? true : nil, nil, nil, true])
        }
    }

    @Test("A GOAWAY can follow the handshake")
    func goAwayOnConnecting() async throws {
        let script = #"{ rules: [{ on: "connect", goaway: { reason: "BadCertificate", close: true } }] }"#
        try await withApple(script: script) { apple in
            let client = try await apple.connect()
            _ = await client.closure()
            #expect(client.goAway?.lastStream == 0)
            #expect(
                client.goAway.map { String(decoding: $0.debugData, as: UTF8.self) } == #"{"reason":"BadCertificate"}"#)
            await apple.untilNoneIsOpen()
            #expect(try apple.control.counts().requests == 0)
        }
    }

    @Test("A connection that is closed without GOAWAY loses pending answers", arguments: [true, false])
    func aConnectionThatIsClosedWithoutAGoAway(isProcessed: Bool) async throws {
        let script = "{ rules: [{ match: { request: 4 }, close: true, processed: \(isProcessed) }] }"
        try await withApple(script: script) { apple in
            let client = try await apple.openWithCertificate()
            let outcomes = await client.outcomes(of: 1...6)
            // Requests before the fault are answered; the result of later ones is unknown to the client.
            #expect((1...3).allSatisfy { outcomes[$0]?.status == 200 })
            #expect((4...6).allSatisfy { outcomes[$0]?.failure == .connectionLost })
            #expect(client.goAway == nil)
            guard case .channel(.byPeer)? = await client.closure() else {
                Issue.record("expected an end by the peer, got \(client.events.events)")
                return
            }
            await apple.untilNoneIsOpen()
            let records = try apple.control.received()
            try expectAgreement(records, outcomes)
            #expect(records.map(\.accepted) == [true, true, true, isProcessed, false, false])
        }
    }

    @Test("Half a frame ends the connection")
    func halfAFrame() async throws {
        try await withApple(script: "{ rules: [{ match: { request: 3 }, half_frame: true }] }") { apple in
            let client = try await apple.openWithCertificate()
            let outcomes = await client.outcomes(of: 1...4)
            #expect(outcomes[1]?.status == 200 && outcomes[2]?.status == 200)
            #expect(outcomes[3]?.failure == .connectionLost && outcomes[4]?.failure == .connectionLost)
            _ = await client.closure()
            await apple.untilNoneIsOpen()
            let records = try apple.control.received()
            try expectAgreement(records, outcomes)
            #expect(records.map(\.accepted) == [true, true, true, false])
            #expect(records.map(\.unanswered) == [nil, nil, true, true])
        }
    }

    @Test("A silent connection loses pending requests when the client gives up")
    func silence() async throws {
        try await withApple(
            script: "{ rules: [{ match: { request: 3 }, silence: true }] }", clientClock: .manual()
        ) { apple in
            let client = try await apple.openWithCertificate()
            await client.send((1...5).map { Push($0) })
            let answered = await client.ends(of: 1...2)
            #expect(answered.values.allSatisfy { $0.status == 200 })
            await apple.until { $0.machine.log.total == 5 }
            await apple.clientLoop.advance(by: .seconds(61))
            #expect(client.endedCount == 2)
            await apple.clientLoop.advance(by: .seconds(11))
            guard case .silent? = await client.closure() else {
                Issue.record("expected silence, got \(client.events.events)")
                return
            }
            let lost = await client.ends(of: 3...5)
            #expect(lost.values.allSatisfy { $0.failure == .connectionLost })
            await apple.untilNoneIsOpen()
            let records = try apple.control.received()
            try expectAgreement(records, answered.merging(lost) { first, _ in first })
            #expect(records.map(\.accepted) == [true, true, true, false, false])
        }
    }

    @Test("A connection that falls silent drops delayed answers and records them")
    func silenceSwallowsAnswersThatWait() async throws {
        let script = #"{ rules: [{ match: { request: 2 }, silence: true }, { latency: "1s" }] }"#
        try await withApple(script: script, clock: .manual()) { apple in
            let client = try await apple.openWithCertificate()
            await client.send([Push(1), Push(2)])
            await apple.until { $0.machine.log.total == 2 }
            await apple.loop.advance(by: .seconds(2))
            await client.close()
            let outcomes = await client.ends(of: 1...2)
            #expect(outcomes.values.allSatisfy { $0.failure == .connectionLost })
            await apple.untilNoneIsOpen()
            try expectAgreement(apple.control.received(), outcomes)
            #expect(try apple.control.counts().unanswered == 2)
        }
    }

    @Test("A connection that is silent from the start times out")
    func silenceFromTheBeginning() async throws {
        try await withApple(
            script: #"{ rules: [{ on: "connect", times: 1, silence: true }] }"#, clientClock: .manual()
        ) { apple in
            let client = try await apple.connect()
            await apple.until { $0.connectionCount == 1 }
            await wait(while: await client.peer.with({ $0.connection.session == nil }))
            await apple.clientLoop.advance(by: .seconds(11))
            guard case .channel(.timedOut)? = await client.closure() else {
                Issue.record("expected a connection given up, got \(client.events.events)")
                return
            }
            #expect(client.limits.isEmpty)
            let fresh = try await apple.openWithCertificate()
            #expect(await fresh.outcome(of: Push(1))?.status == 200)
        }
    }

    @Test("A handshake can be rejected")
    func aRefusedHandshake() async throws {
        try await withApple(script: #"{ rules: [{ on: "connect", times: 1, tls: "refuse" }] }"#) { apple in
            let client = try await apple.connect()
            guard case .channel(.tls(let error))? = await client.closure() else {
                Issue.record("expected a TLS error, got \(client.events.events)")
                return
            }
            #expect(error.alert == 40)
            #expect(error.code == .noCommonCipher)
            #expect(try await apple.open().limits == [1])
        }
    }

    @Test("An expired server certificate is rejected by the client")
    func anExpiredCertificate() async throws {
        try await withApple(script: #"{ rules: [{ on: "connect", times: 1, tls: "expired_certificate" }] }"#) { apple in
            let client = try await apple.connect()
            guard case .channel(.tls(let error))? = await client.closure() else {
                Issue.record("expected a TLS error, got \(client.events.events)")
                return
            }
            #expect(error.code == .certificateExpired)
            #expect(error.message.contains("expired on"))
            #expect(try await apple.open().limits == [1])
        }
    }

    @Test("A connection can be reset before the handshake")
    func aRefusedConnection() async throws {
        try await withApple(script: #"{ rules: [{ on: "connect", times: 1, refuse: true }] }"#) { apple in
            let client = try await apple.connect()
            switch await client.closure() {
            case .channel(.lost), .notConnected, .channel(.tls): break
            default: Issue.record("expected a lost connection, got \(client.events.events)")
            }
            #expect(client.limits.isEmpty)
            let state = try apple.control.ask("GET", "/state").text
            #expect(state.contains(#""connections_refused":1"#))
            #expect(try await apple.open().limits == [1])
        }
    }

    @Test("A connection can be closed after the handshake")
    func aConnectionThatIsClosedAtOnce() async throws {
        try await withApple(script: #"{ rules: [{ on: "connect", times: 1, close: true }] }"#) { apple in
            let client = try await apple.connect()
            guard case .channel(.byPeer)? = await client.closure() else {
                Issue.record("expected an end by the peer, got \(client.events.events)")
                return
            }
            #expect(try await apple.open().limits == [1])
        }
    }

    /// A client that does not wait for SETTINGS has already sent its request when the connection is closed.
    @Test("A connection that is closed after the handshake processes no request")
    func whatIsSentToAConnectionThatIsClosedAtOnceIsNotTaken() async throws {
        let script = #"{ rules: [{ on: "connect", close: true }, { on: "binary_connect", close: true }] }"#
        try await withApple(script: script) { apple in
            let eager = try await apple.hasty(to: apple.provider, alpn: "h2", EagerProvider.firstFlight)
            await eager.untilClosed()
            let legacy = try await apple.hasty(
                to: apple.binary, alpn: nil, LegacyFrame.enhanced(1, device: Push.device(1)))
            await legacy.untilClosed()
            await apple.untilNoneIsOpen()
            #expect(try apple.control.counts().requests == 0)
        }
        // Without the fault, the same bytes are processed as a request.
        try await withApple { apple in
            let eager = try await apple.hasty(to: apple.provider, alpn: "h2", EagerProvider.firstFlight)
            await apple.until { $0.machine.log.total == 1 }
            await eager.close()
        }
    }

    @Test("The handshake can be delayed")
    func latencyOfAConnection() async throws {
        let script = #"{ rules: [{ on: "connect", latency: "5s" }, { on: "connect", streams: 7 }] }"#
        try await withApple(script: script, clock: .manual()) { apple in
            var patient = HTTP2ClientConnection.Options()
            patient.connectTimeout = .seconds(300)
            let client = try await apple.connect(options: patient)
            await apple.until { $0.connectionCount == 1 }
            #expect(client.events.events.isEmpty)
            await apple.loop.advance(by: .seconds(5))
            await client.untilLimit(7)
            #expect(client.limits == [7])
        }
    }
}

/// Expects that the outcomes that the client saw do not contradict the records of the simulator.
func expectAgreement(_ records: [ControlPort.Received], _ outcomes: [Int: SeenOutcome]) throws {
    let byID = Dictionary(grouping: records) { $0.id ?? "" }
    for (number, outcome) in outcomes {
        let found = byID[Push.id(number)] ?? []
        #expect(found.count <= 1, "request \(number) is recorded \(found.count) times")
        let record = found.first
        switch outcome {
        case .answered(let answer):
            #expect(record?.status == answer.status && record?.unprocessed == nil, "\(number): \(outcome) \(found)")
            #expect(record?.unanswered == nil, "\(number) was answered, but is recorded as unanswered: \(found)")
        case .unanswered(.notProcessed):
            #expect(record?.accepted != true, "\(number) was not processed, but: \(found)")
        case .unanswered:
            #expect(record?.unanswered != nil || record == nil, "\(number): \(outcome), but: \(found)")
        }
    }
}
