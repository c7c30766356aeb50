import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushSimulator

/// Faults that change or delay answers: what a client sees and what the record contains.
@Suite(.waits) struct AnswerFaultTests {
    @Test("Each answer is delayed separately, and a random spread separates them")
    func latencyDelaysEachAnswerAndSpreadMovesThemApart() async throws {
        let script = """
            { seed: 5, rules: [
              { match: { token: "aa*" }, answer: { status: 200 } }, { latency: { fixed: "20ms", spread: "10ms" } },
            ] }
            """
        try await withApple(script: script, clock: .manual()) { apple in
            let client = try await apple.openWithCertificate()
            await client.send((1...40).map { Push($0) })
            await apple.until { $0.machine.log.total == 40 }
            await apple.loop.advance(by: .milliseconds(19))
            // This request is answered at once. If other answers were pending, they would arrive before it.
            let probe = String(repeating: "a", count: 64)
            #expect(await client.outcome(of: Push(901, device: probe))?.status == 200)
            #expect(client.endedCount == 1)
            await apple.loop.advance(by: .milliseconds(6))
            #expect(await client.outcome(of: Push(902, device: probe))?.status == 200)
            #expect((7...37).contains(client.endedCount))
            await apple.loop.advance(by: .milliseconds(5))
            let outcomes = await client.ends(of: 1...40)
            #expect(outcomes.values.allSatisfy { $0.status == 200 })
            #expect(try apple.control.counts().accepted == 42)
        }
    }

    @Test("Answers depend on the token")
    func answersByToken() async throws {
        let script = """
            { rules: [
              { match: { token: "bad0*" }, answer: { reason: "BadDeviceToken" } },
              { match: { token: "dead*" }, answer: { status: 410, reason: "Unregistered", timestamp: 1700000000123 } },
              { match: { token: "b0b0*" }, answer: { status: 418, reason: "Teapot" } },
            ] }
            """
        try await withApple(script: script) { apple in
            let client = try await apple.openWithCertificate()
            let device = { (prefix: String) in prefix + String(repeating: "0", count: 60) }
            let bad = await client.outcome(of: Push(1, device: device("bad0")))
            #expect(bad?.status == 400 && bad?.reason == "BadDeviceToken")
            let dead = await client.outcome(of: Push(2, device: device("dead")))
            guard case .answered(let answer)? = dead else {
                Issue.record("expected an answer, got \(String(describing: dead))")
                return
            }
            #expect(answer.status == 410)
            #expect(answer.body == #"{"reason":"Unregistered","timestamp":1700000000123}"#)
            #expect(answer.id == Push.id(2))
            let odd = await client.outcome(of: Push(3, device: device("b0b0")))
            #expect(odd?.status == 418 && odd?.reason == "Teapot")
            #expect(await client.outcome(of: Push(4))?.status == 200)
            let records = try apple.control.received()
            #expect(records.map(\.status) == [400, 410, 418, 200])
            #expect(records.map(\.reason) == ["BadDeviceToken", "Unregistered", "Teapot", nil])
            #expect(records.map(\.fault) == [true, true, true, nil])
        }
    }

    @Test("The same seed answers the same share of requests")
    func answersByShareAreTheSameForTheSameSeed() async throws {
        var runs: [[Int]] = []
        for seed in [3, 3, 4] {
            let script = """
                { seed: \(seed), rules: [{ match: { share: 0.2 }, answer: { reason: "ServiceUnavailable" } }] }
                """
            try await withApple(script: script) { apple in
                let client = try await apple.openWithCertificate()
                let outcomes = await client.outcomes(of: 1...400)
                let refused = outcomes.filter { $0.value.status == 503 }.keys.sorted()
                #expect(outcomes.values.allSatisfy { [200, 503].contains($0.status) })
                #expect((40...130).contains(refused.count))
                let records = try apple.control.received("limit=1000&status=503")
                #expect(records.map(\.id) == refused.map { Push.id($0) })
                #expect(try apple.control.counts().accepted == 400 - refused.count)
                runs.append(refused)
            }
        }
        #expect(runs[0] == runs[1])
        #expect(runs[0] != runs[2])
    }

    @Test("The answers 429 and 503 have their reason and `retry-after`")
    func tooManyRequestsAndServiceUnavailable() async throws {
        let script = """
            { rules: [
              { match: { request: 1 }, answer: { reason: "TooManyRequests", retry_after: 30 } },
              { match: { request: 2 }, answer: { reason: "ServiceUnavailable" } },
            ] }
            """
        try await withApple(script: script) { apple in
            let client = try await apple.openWithCertificate()
            let outcomes = await client.outcomes(of: 1...3)
            guard case .answered(let first)? = outcomes[1], case .answered(let second)? = outcomes[2] else {
                Issue.record("expected answers, got \(outcomes)")
                return
            }
            #expect(first.status == 429 && first.reason == "TooManyRequests" && first.retryAfter == "30")
            #expect(second.status == 503 && second.reason == "ServiceUnavailable" && second.retryAfter == nil)
            #expect(outcomes[3]?.status == 200)
            #expect(try apple.control.received().map(\.status) == [429, 503, 200])
        }
    }

    @Test("The stream limit shrinks to one and grows again")
    func theStreamLimitShrinksToOneAndComesBack() async throws {
        let script = "{ rules: [{ match: { request: 2 }, streams: 1 }, { match: { request: 5 }, streams: 1000 }] }"
        try await withApple(script: script) { apple in
            let client = try await apple.openWithCertificate()
            #expect(await client.outcome(of: Push(1))?.status == 200)
            #expect(await client.outcome(of: Push(2))?.status == 200)
            await client.untilLimit(1)
            let isTaken = await client.send([Push(3), Push(4)])
            #expect(!isTaken, "two requests at once exceed the limit of one stream")
            _ = await client.ends(of: 3...3)
            #expect(await client.outcome(of: Push(4))?.status == 200)
            #expect(await client.outcome(of: Push(5))?.status == 200)
            await client.untilLimit(1000)
            let outcomes = await client.outcomes(of: 6...105)
            #expect(outcomes.values.allSatisfy { $0.status == 200 })
            #expect(try apple.control.counts().accepted == 105)
        }
    }

    @Test("A reset stream is processed unless the code or the rule denies it")
    func resetStreams() async throws {
        let script = """
            { rules: [
              { match: { request: 1 }, reset: "REFUSED_STREAM" }, { match: { request: 2 }, reset: "CANCEL" },
              { match: { request: 3 }, reset: "INTERNAL_ERROR", processed: false },
              { match: { request: 4 }, reset: "ENHANCE_YOUR_CALM", latency: "1ms" },
            ] }
            """
        try await withApple(script: script) { apple in
            let client = try await apple.openWithCertificate()
            let outcomes = await client.outcomes(of: 1...5)
            #expect(outcomes[1]?.failure == .notProcessed)
            #expect(outcomes[2]?.failure == .reset(.cancel))
            #expect(outcomes[3]?.failure == .reset(.internalError))
            #expect(outcomes[4]?.failure == .reset(.enhanceYourCalm))
            #expect(outcomes[5]?.status == 200)
            let records = try apple.control.received()
            #expect(records.map(\.accepted) == [false, true, false, true, true])
            #expect(records.map(\.unprocessed) == [true, nil, true, nil, nil])
            #expect(records.map(\.unanswered) == [true, true, true, true, nil])
            let counts = try apple.control.counts()
            #expect(counts.requests == 5 && counts.accepted == 3 && counts.unprocessed == 2 && counts.unanswered == 4)
        }
    }

    @Test("A canceled request is recorded as unanswered, and others are answered")
    func whatTheClientTakesBackWhileItsAnswerWaits() async throws {
        try await withApple(script: #"{ rules: [{ latency: "1s" }] }"#, clock: .manual()) { apple in
            let client = try await apple.openWithCertificate()
            await client.send([Push(1), Push(2)])
            await apple.until { $0.machine.log.total == 2 }
            await client.peer.with { $0.connection.abandon(tag: 1) }
            await apple.until { $0.machine.log.unansweredTotal == 1 }
            await apple.loop.advance(by: .seconds(2))
            #expect(await client.ends(of: 2...2)[2]?.status == 200)
            let records = try apple.control.received()
            // The request was processed; only its answer could not be delivered.
            #expect(records.map(\.accepted) == [true, true])
            #expect(records.map(\.unanswered) == [true, nil])
        }
    }

    @Test("A wedged connection rejects valid tokens, and a new connection accepts them")
    func theWedgeFault() async throws {
        try await withApple(script: "{ rules: [{ match: { connection: 1, request: 2 }, wedge: true }] }") { apple in
            let token = try Credentials.shared.token()
            let client = try await apple.open()
            #expect(await client.outcome(of: Push(1, authorization: token))?.status == 200)
            for number in 2...4 {
                let outcome = await client.outcome(of: Push(number, authorization: token))
                #expect(outcome?.status == 403 && outcome?.reason == "ExpiredProviderToken")
            }
            let fresh = try await apple.open()
            #expect(await fresh.outcome(of: Push(5, authorization: token))?.status == 200)
            #expect(try apple.control.received().map(\.accepted) == [true, false, false, false, true])
        }
    }

    @Test("Faults and devices can change while connections are open")
    func faultsAndDevicesChangeUnderOpenConnections() async throws {
        try await withApple { apple in
            let client = try await apple.openWithCertificate()
            let gone = Push.device(77)
            #expect(await client.outcome(of: Push(1, device: gone))?.status == 200)
            try apple.control.ask("PUT", "/devices/\(gone)", #"{"state":"unregistered","since":1700000000000}"#)
            let unregistered = await client.outcome(of: Push(2, device: gone))
            #expect(unregistered?.status == 410 && unregistered?.reason == "Unregistered")
            try apple.control.ask("DELETE", "/devices/\(gone)")
            #expect(await client.outcome(of: Push(3, device: gone))?.status == 200)

            try apple.control.setFaults(#"{ rules: [{ times: 1, answer: { reason: "InternalServerError" } }] }"#)
            #expect(await client.outcome(of: Push(4))?.status == 500)
            #expect(await client.outcome(of: Push(5))?.status == 200)
            try apple.control.ask("POST", "/faults", #"{ rules: [{ reset: "CANCEL" }] }"#)
            // All rules start again when one is added.
            #expect(await client.outcome(of: Push(6))?.status == 500)
            #expect(await client.outcome(of: Push(7))?.failure == .reset(.cancel))
            try apple.control.ask("DELETE", "/faults")
            #expect(await client.outcome(of: Push(8))?.status == 200)
            #expect(throws: ControlPort.Failure.self) { try apple.control.setFaults("{ rules: [{ resett: 1 }] }") }
            #expect(await client.outcome(of: Push(9))?.status == 200)

            #expect(try apple.control.received().map(\.status) == [200, 410, 200, 500, 200, 500, 200, 200, 200])
            try apple.control.ask("DELETE", "/received")
            #expect(try apple.control.counts().requests == 0)
            #expect(await client.outcome(of: Push(10))?.status == 200)
            #expect(try apple.control.received().map(\.id) == [Push.id(10)])
        }
    }
}
