import APNs
import PushGateways
import PushLoop
import PushModel
import PushTransport
import TestSupport
import TestTraits
import Testing

@Suite(.waits) struct GatewayConnectionTests {
    @Test func `One stream until the first token is accepted, then as many as the service allows`()
        async throws
    {
        try await withSimulatedApple { apple in
            let owner = try ConnectionOwner(apple)
            owner.deliver(0..<3000)
            let endings = await owner.endings(3000)
            #expect(endings.allSatisfy { $0.result == .accepted(providerID: nil) })
            #expect(Set(endings.map(\.number)).count == 3000)
            let events = owner.reports.events.compactMap(\.event)
            #expect(events.prefix(2) == [.ready(limit: 1), .limitChanged(1000)])
            let status = await owner.connection.status()
            #expect(status.state == .open && status.answered == 3000 && status.inFlight == 0)
            owner.connection.drain()
            #expect(await owner.closed().kind == .byUs)
            #expect(try await apple.count("requests") == 3000)
            #expect(try await apple.count("duplicates") == 0)
        }
    }

    @Test(arguments: PushType.allCases) func `Every push type is sent as Apple requires it`(pushType: PushType)
        async throws
    {
        let payload =
            switch pushType {
            case .background: #"{"aps":{"content-available":1}}"#
            case .mdm: #"{"mdm":"magic"}"#
            case .liveactivity: #"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#
            case .widgets, .controls: #"{"aps":{"content-changed":true}}"#
            case .accessory:
                #"{"aps":{"encryptedData":"e","sessionIdentifier":"s","keyID":"k","messageIndex":"1"}}"#
            default: #"{"aps":{"alert":"Hello"}}"#
            }
        try await withSimulatedApple { apple in
            let owner = try ConnectionOwner(apple)
            let expiresAt: Int64 = pushType == .pushtotalk ? 0 : WallTime.current().seconds + 3600
            owner.deliver(
                0..<1,
                of: ConnectionOwner.message(pushType, expiresAt: expiresAt, collapseID: "order 4711", payload: payload))
            #expect(await owner.endings(1).map(\.result) == [.accepted(providerID: nil)])
            let record = await apple.control("GET", "/received")
            #expect(record.contains(#""push_type":"\#(pushType.rawValue)""#), "\(record)")
            #expect(record.contains(#""topic":"com.example.shop\#(pushType.topicSuffix)""#), "\(record)")
            #expect(record.contains("00000000-0000-4000-8000-000000000000"), "\(record)")
            owner.connection.close()
            await owner.closed()
        }
    }

    @Test func `GOAWAY separates processed from unprocessed deliveries`() async throws {
        let script = #"{ rules: [{ match: { request: 150 }, goaway: { back: 20, reason: "Shutdown" } }] }"#
        try await withSimulatedApple(script: script) { apple in
            let owner = try ConnectionOwner(apple)
            await owner.waitForEvent { if case .ready = $0 { true } else { false } }
            owner.deliver(0..<1)
            _ = await owner.endings(1)
            owner.deliver(1..<400)
            let end = await owner.closed()
            #expect(end.kind == .goAway)
            let endings = await owner.endings(400)
            #expect(Set(endings.map(\.number)).count == 400)
            let accepted = endings.filter { $0.result == .accepted(providerID: nil) }
            #expect(endings.count { $0.result == .notProcessed } == 400 - accepted.count)
            // The simulator's records must agree: it processed exactly the requests that it answered with 200.
            let received = await apple.control("GET", "/received")
            let processed = received.split(separator: "\n").count {
                $0.contains(#""accepted":true"#) && !$0.contains(#""unprocessed":true"#)
            }
            #expect(accepted.count == processed)
        }
    }

    @Test func `The delivery of a reset stream is unknown, that of a refused one was not processed`() async throws {
        let script = """
            { rules: [{ match: { request: 3 }, reset: "REFUSED_STREAM" },
                      { match: { request: 5 }, reset: "INTERNAL_ERROR" }] }
            """
        try await withSimulatedApple(script: script) { apple in
            let owner = try ConnectionOwner(apple)
            owner.deliver(0..<10)
            let endings = await owner.endings(10).sorted { $0.number < $1.number }
            #expect(endings.count { $0.result == .accepted(providerID: nil) } == 8)
            #expect(endings[2].result == .notProcessed)
            #expect(endings[4].result == .unknown(.reset))
            owner.connection.close()
            await owner.closed()
        }
    }

    @Test func `A peer that goes silent receives a PING, and then the connection ends`() async throws {
        let script = #"{ rules: [{ match: { request: 5 }, silence: true }] }"#
        try await withSimulatedApple(script: script, clientClock: .manual()) { apple in
            let owner = try ConnectionOwner(apple) { settings in
                settings.machine.answerTimeout = .seconds(30)
                settings.http2.pingTimeout = .seconds(10)
            }
            owner.deliver(0..<10)
            _ = await owner.endings(4)
            await wait(while: await owner.connection.status().inFlight < 6)
            await apple.clientLoop.advance(by: .seconds(30))
            #expect(await owner.connection.status().state == .open)
            await apple.clientLoop.advance(by: .seconds(10))
            let end = await owner.closed()
            #expect(end.kind == .silent)
            let endings = await owner.endings(10)
            #expect(endings.count { $0.result == .accepted(providerID: nil) } == 4)
            #expect(endings.count { if case .unknown = $0.result { true } else { false } } == 6)
        }
    }

    @Test func `When a connection is lost, written deliveries are unknown, and the others are returned`() async throws {
        try await withSimulatedApple(script: #"{ rules: [{ match: { request: 5 }, close: true }] }"#) { apple in
            let owner = try ConnectionOwner(apple)
            owner.deliver(0..<2000)
            #expect(await owner.closed().kind == .lost)
            let endings = await owner.endings(2000)
            #expect(Set(endings.map(\.number)).count == 2000)
            let received = try await apple.count("requests")
            let accepted = endings.count { $0.result == .accepted(providerID: nil) }
            let unknown = endings.count { $0.result == .unknown(.connectionLost) }
            #expect(accepted >= 4)
            // Every request that reached the simulator is accepted or unknown, and none counts as not processed.
            #expect(accepted + unknown >= received)
            #expect(endings.count { $0.result == .notProcessed } >= 900)
        }
    }

    @Test func `With an untrusted peer or without a listener, deliveries are not processed`() async throws {
        try await withSimulatedApple { apple in
            let stranger = try ConnectionOwner(apple) { settings in
                // The system's roots do not include the simulator's CA.
                settings.tls = try! TLSContext.client(TLSClientConfiguration(trust: .system, alpn: ["h2"]))
            }
            stranger.deliver(0..<3)
            let end = await stranger.closed()
            #expect(end.kind == .broken)
            #expect(await stranger.endings(3).allSatisfy { $0.result == .notProcessed })

            let nobody = try ConnectionOwner(apple, to: "127.0.0.77")
            nobody.deliver(0..<3)
            #expect(await nobody.closed().kind == .unreachable)
            #expect(await nobody.endings(3).allSatisfy { $0.result == .notProcessed })
        }
    }

    @Test func `A new provider token is used from the next request on, over the same connection`() async throws {
        try await withSimulatedApple { apple in
            let owner = try ConnectionOwner(apple)
            owner.deliver(0..<1)
            _ = await owner.endings(1)
            let bad = ProviderToken(
                text: Secret("not.a.token"), generation: 2, mintedAt: .current())
            owner.connection.use(bad)
            owner.deliver(1..<2)
            guard case .refused(let refusal)? = await owner.endings(2).last?.result else {
                Issue.record("an invalid token was accepted")
                return
            }
            #expect(refusal.status == 403)
            owner.connection.use(try apple.token(generation: 3))
            owner.deliver(2..<3)
            #expect(await owner.endings(3).last?.result == .accepted(providerID: nil))
            owner.connection.close()
            await owner.closed()
        }
    }

    @Test func `A connection that has sent its maximum of requests retires by itself`() async throws {
        try await withSimulatedApple { apple in
            let owner = try ConnectionOwner(apple) { $0.machine.maxRequests = 100 }
            owner.deliver(0..<250)
            #expect(await owner.closed().kind == .byUs)
            let endings = await owner.endings(250)
            #expect(endings.count { $0.result == .accepted(providerID: nil) } == 100)
            #expect(endings.count { $0.result == .notProcessed } == 150)
            #expect(owner.reports.events.contains { $0.event == .retiring })
        }
    }
}
