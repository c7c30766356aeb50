import APNs
import PushGateways
import PushLogic
import PushLoop
import PushModel
import PushTransport
import TestSupport
import Testing

@Suite struct GatewayTests {
    private let loop = EventLoop(name: "gateway", clock: .manual())

    private static func refusal(_ word: String, _ status: Int = 403, after: Int? = nil) -> AttemptResult {
        .refused(Refusal(status: status, reason: ProviderReason(rawValue: word), retryAfter: after))
    }

    @Test func `Deliveries are sent as soon as a connection is open, and each is reported with its latency`() async {
        let scene = GatewayScene(on: loop)
        await scene.on { _ = $0.submit(50) }
        await scene.pass(.milliseconds(100))
        let outcomes = await scene.allOutcomes()
        #expect(outcomes == Array(repeating: .sent(providerID: nil), count: 50))
        #expect(await scene.on { $0.outcomes[1]?[0].latency } == .milliseconds(5))
        let status = await scene.gateway.status()
        #expect(status.state == .running && status.queue == 0 && status.outstanding == 0)
        #expect(status.counts.accepted == 50 && status.counts.taken == 50 && status.counts.connects == 1)
        #expect(status.connections.map(\.state) == [.open])
        #expect(await scene.drain(within: .seconds(1)))
        #expect(await scene.gateway.status().state == .closed)
        await loop.shutDown()
    }

    @Test func `The credit is the room in the queue, and deliveries above the limit are returned`() async {
        let scene = GatewayScene(on: loop, policy: .with { $0.queueLimit = 100 }) { $0.answer = { _, _ in nil } }
        await scene.pass(.milliseconds(100))
        #expect(await scene.on { $0.window } == 20)
        await scene.on { _ = $0.submit(20) }
        await scene.pass(.milliseconds(1))
        #expect(await scene.on { $0.window } == 0)
        await scene.on { _ = $0.submit(130) }
        await scene.pass(.milliseconds(1))
        #expect(await scene.allOutcomes() == Array(repeating: nil, count: 30))
        #expect(await scene.drain(within: .seconds(1)))
        let outcomes = await scene.allOutcomes()
        #expect(outcomes.count { $0 == .unknown(.connectionLost, isFinal: false) } == 10)
        #expect(outcomes.count { $0 == nil } == 140)
        await scene.on { _ = $0.submit(1) }
        await scene.pass(.milliseconds(1))
        #expect(await scene.isReturned(151))
        await loop.shutDown()
    }

    @Test(
        arguments: [
            (
                "drop", 400, nil,
                DeliveryOutcome.rejected(Refusal(status: 400, reason: .init(rawValue: "drop")), deactivates: nil)
            ),
            (
                "deactivate", 410, nil,
                .rejected(Refusal(status: 410, reason: .init(rawValue: "deactivate")), deactivates: .gone)
            ),
            (
                "retry", 429, 7,
                .retry(Refusal(status: 429, reason: .init(rawValue: "retry"), retryAfter: 7), after: .seconds(7))
            ),
        ] as [(String, Int, Int?, DeliveryOutcome)])
    func `An answer becomes an outcome`(_ word: String, _ status: Int, _ after: Int?, _ outcome: DeliveryOutcome) async
    {
        let scene = GatewayScene(on: loop) { $0.answer = { _, _ in Self.refusal(word, status, after: after) } }
        await scene.on { _ = $0.submit(1) }
        await scene.pass(.milliseconds(100))
        #expect(await scene.allOutcomes() == [outcome])
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `Without a retry time the delay grows with each attempt, and a single attempt is not repeated`() async {
        let scene = GatewayScene(on: loop) { $0.answer = { _, _ in Self.refusal("retry", 500) } }
        await scene.on {
            _ = $0.submit(1)
            _ = $0.submit(1, expiresAt: 0)
        }
        await scene.pass(.milliseconds(100))
        guard case .retry(_, let wait) = await scene.outcome(1) else {
            Issue.record("no retry")
            return
        }
        #expect(wait >= .seconds(1) && wait <= .seconds(2))
        guard case .rejected(_, deactivates: nil) = await scene.outcome(2) else {
            Issue.record("not rejected")
            return
        }
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `Expired deliveries are not sent, and are also found while nothing can be sent`() async {
        let scene = GatewayScene(on: loop) {
            $0.failsToConnect = { _ in ConnectionEnd(.unreachable, message: "scripted") }
        }
        await scene.on { scene in
            let now = scene.wall.seconds
            _ = scene.submit(1, expiresAt: now - 1)
            _ = scene.submit(1, expiresAt: now + 3)
            _ = scene.submit(1, expiresAt: 0)
        }
        await scene.pass(.milliseconds(500))
        #expect(await scene.allOutcomes() == [])
        await scene.pass(.seconds(6))
        #expect(await scene.allOutcomes() == [.expired])
        await scene.on { $0.wall = WallTime(milliseconds: $0.wall.milliseconds + 10_000) }
        await scene.pass(.seconds(10))
        #expect(await scene.allOutcomes() == [.expired, .expired])
        await scene.on { $0.world.failsToConnect = { _ in nil } }
        await scene.pass(.seconds(600))
        #expect(await scene.allOutcomes() == [.expired, .expired, .sent(providerID: nil)])
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `A delivery that is never processed is returned to its owner in the end`() async {
        let scene = GatewayScene(on: loop) { $0.answer = { _, _ in .notProcessed } }
        await scene.on { _ = $0.submit(3) }
        await scene.pass(.seconds(2))
        let outcomes = await scene.allOutcomes()
        #expect(outcomes.count == 3)
        #expect(
            outcomes.allSatisfy { if case .retry(Refusal(status: 0, reason: nil), _)? = $0 { true } else { false } })
        #expect(await scene.gateway.status().counts.requeued == 48)
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `Scaling under load loses nothing`() async {
        let scene = GatewayScene(on: loop)
        await scene.on { _ = $0.submit(2000) }
        for (minimum, maximum) in [(4, 4), (1, 1), (6, 8), (2, 3)] {
            scene.gateway.scale(minimum: minimum, maximum: maximum)
            await scene.pass(.milliseconds(200))
            let open = await scene.on { $0.world.open.count }
            #expect(open == min(max(minimum, open), maximum))
        }
        await scene.pass(.seconds(10))
        #expect(await scene.allOutcomes() == Array(repeating: .sent(providerID: nil), count: 2000))
        #expect(await scene.on { $0.world.breaches } == [])
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `A halted gateway keeps its queue, and sends it with another credential`() async {
        let scene = GatewayScene(on: loop) { world in
            world.answer = { _, _ in Self.refusal("halt") }
        }
        await scene.on { _ = $0.submit(60) }
        await scene.pass(.seconds(3600))
        #expect(await scene.allOutcomes() == [])
        let status = await scene.gateway.status()
        guard case .halted(let halt) = status.state else {
            Issue.record("\(status.state)")
            return
        }
        #expect(halt.reason?.rawValue == "halt")
        #expect(status.queue == 60 && status.credit == 0 && status.connections.isEmpty)
        #expect(await scene.on { $0.world.connections.count } > 60)
        await scene.on { $0.world.answer = { _, _ in .accepted(providerID: nil) } }
        scene.gateway.credentialChanged(connect: { [world = scene.world] in world.connect($0) }, tokens: nil)
        await scene.pass(.seconds(1))
        #expect(await scene.allOutcomes() == Array(repeating: .sent(providerID: nil), count: 60))
        #expect(await scene.on { $0.events.contains(.credentialRotated) })
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `Rotation under load loses nothing and leaves nothing unknown`() async {
        let scene = GatewayScene(on: loop, policy: .with { $0.minimum = 3 })
        await scene.on { _ = $0.submit(3000) }
        await scene.pass(.milliseconds(100))
        let before = await scene.on { $0.world.open.map(\.id) }
        scene.gateway.credentialChanged(connect: { [world = scene.world] in world.connect($0) }, tokens: nil)
        await scene.pass(.milliseconds(10))
        // No old connection closes before a new one is up.
        #expect(await scene.on { $0.world.open.map(\.id) } == before)
        await scene.pass(.milliseconds(100))
        #expect(await scene.on { Set($0.world.open.map(\.id)).isDisjoint(with: before) })
        await scene.pass(.seconds(20))
        #expect(await scene.allOutcomes() == Array(repeating: .sent(providerID: nil), count: 3000))
        #expect(await scene.on { $0.world.breaches } == [])
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `An expired token is renewed, and the deliveries that it failed are sent again`() async {
        let scene = GatewayScene(on: loop, usesTokens: true) { world in
            world.answer = { _, request in
                request.token?.generation == 1 ? Self.refusal("renewToken") : .accepted(providerID: nil)
            }
        }
        await scene.on { _ = $0.submit(40) }
        await scene.pass(.seconds(1))
        #expect(await scene.allOutcomes() == Array(repeating: .sent(providerID: nil), count: 40))
        #expect(await scene.on { $0.tokens?.refusals } == [1])
        #expect(await scene.on { $0.world.connections.count } == 2)
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `Only a second rejected token of one delivery halts the gateway`() async {
        let scene = GatewayScene(on: loop, usesTokens: true) { world in
            world.answer = { _, request in
                request.token?.generation == 1 ? Self.refusal("renewTokenOnce") : .accepted(providerID: nil)
            }
        }
        await scene.on { _ = $0.submit(5) }
        await scene.pass(.seconds(1))
        #expect(await scene.allOutcomes() == Array(repeating: .sent(providerID: nil), count: 5))
        await scene.on { $0.world.answer = { _, _ in Self.refusal("renewTokenOnce") } }
        await scene.on { _ = $0.submit(5) }
        await scene.pass(.seconds(10))
        #expect(await scene.allOutcomes().count == 5)
        guard case .halted = await scene.gateway.status().state else {
            Issue.record("not halted")
            return
        }
        #expect(await scene.on { $0.tokens?.refusals.prefix(2) } == [1, 2])
        #expect(await scene.drain(within: .seconds(1)))
        #expect(await scene.allOutcomes().count { $0 == nil } == 5)
        await loop.shutDown()
    }

    @Test(arguments: [false, true]) func `A service that refuses everything for three seconds gets all deliveries then`(
        _ isSlow: Bool
    ) async {
        let scene = GatewayScene(on: loop, usesTokens: true) {
            $0.answer = { _, _ in Self.refusal("renewTokenOnce") }
        }
        await scene.on { scene in
            // A token of a few minutes cannot be replaced yet. Another one is, and is refused as well.
            scene.tokens?.isSlow = isSlow
            _ = scene.submit(40)
        }
        await scene.pass(.seconds(3))
        #expect(await scene.gateway.status().isHalted == !isSlow)
        await scene.on { $0.world.answer = { _, _ in .accepted(providerID: nil) } }
        await scene.pass(.seconds(50))
        #expect(await scene.allOutcomes() == Array(repeating: .sent(providerID: nil), count: 40))
        #expect(await scene.gateway.status().state == .running)
        #expect(await scene.on { $0.events.count { $0 == .credentialAccepted } } == 1)
        #expect(await scene.on { $0.world.breaches } == [])
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `A delivery that alone is refused does not hold up the others`() async {
        let scene = GatewayScene(on: loop) {
            $0.answer = { delivery, _ in
                delivery.ticket == 1 ? Self.refusal("halt") : .accepted(providerID: nil)
            }
        }
        await scene.on { _ = $0.submit(1) }
        await scene.pass(.seconds(1))
        await scene.on { _ = $0.submit(40) }
        await scene.pass(.seconds(100))
        #expect(await scene.allOutcomes() == Array(repeating: .sent(providerID: nil), count: 40))
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `TooManyProviderTokenUpdates is reported to the token source, and deliveries wait`() async {
        let scene = GatewayScene(on: loop, usesTokens: true) {
            $0.answer = { _, _ in Self.refusal("slowMinting", 429) }
        }
        await scene.on { _ = $0.submit(1) }
        await scene.pass(.seconds(1))
        guard case .retry = await scene.outcome(1) else {
            Issue.record("no retry")
            return
        }
        #expect(await scene.on { $0.tokens?.slowDowns } == 1)
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `An app whose service fails does not affect another`() async {
        let well = GatewayScene(on: loop, seed: 1)
        let ill = GatewayScene(on: loop, seed: 2) { $0.answer = { _, _ in Self.refusal("retry", 503) } }
        for _ in 0..<50 {
            await well.on { _ = $0.submit(min(20, $0.window)) }
            await ill.on { _ = $0.submit(min(20, $0.window)) }
            await loop.advance(by: .milliseconds(20))
        }
        let sentWell = await well.on { $0.submitted }
        let sentIll = await ill.on { $0.submitted }
        #expect(sentWell > 400)
        // The deliveries in flight when the circuit breaker opened; afterwards there was no credit.
        #expect(sentIll < 130)
        guard case .paused = await ill.gateway.status().state else {
            Issue.record("not paused")
            return
        }
        #expect(await well.allOutcomes().allSatisfy { $0 == .sent(providerID: nil) })
        await ill.on { $0.world.answer = { _, _ in .accepted(providerID: nil) } }
        await ill.pass(.seconds(10))
        #expect(await ill.on { $0.window } == 1)
        await ill.on { _ = $0.submit(1) }
        await ill.pass(.seconds(1))
        #expect(await ill.gateway.status().state == .running)
        #expect(await ill.on { $0.window } > 1)
        #expect(await well.drain(within: .seconds(1)))
        #expect(await ill.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `A device that receives too many notifications delays no other`() async {
        let scene = GatewayScene(on: loop) {
            $0.answer = { delivery, _ in
                delivery.ticket <= 60
                    ? .refused(Refusal(status: 429, reason: "TooManyRequests")) : .accepted(providerID: nil)
            }
        }
        await scene.on { _ = $0.submit(60) }
        await scene.pass(.milliseconds(500))
        await scene.on { _ = $0.submit(1) }
        await scene.pass(.milliseconds(500))
        #expect(await scene.outcome(61) == .sent(providerID: nil))
        #expect(await scene.gateway.status().state == .running)
        #expect(await scene.allOutcomes().count { if case .retry = $0 { true } else { false } } == 60)
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    /// Each of these answers concerns a device, a topic, a notification or the credential, and not the service.
    @Test(arguments: ReasonTable.apns.all.filter { ![.provider, .connection].contains($0.concern) }.map(\.reason))
    func `Only failures of the service itself pause the gateway`(_ reason: ProviderReason) async throws {
        let known = try #require(ReasonTable.apns.known(reason))
        let refusal = Refusal(status: known.status, reason: reason, retryAfter: 100)
        #expect(!ReasonTable.apns.isTroubleOfProvider(refusal))
        let scene = GatewayScene(on: loop) { $0.answer = { _, _ in .refused(refusal) } }
        await scene.on { _ = $0.submit(60) }
        await scene.pass(.seconds(2))
        if case .paused = await scene.gateway.status().state { Issue.record("\(reason)") }
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `A fault of the credential is reported at once, and with the end of the connection`() async {
        let scene = GatewayScene(on: loop, usesTokens: true) {
            $0.answer = { _, _ in Self.refusal("renewTokenOnce") }
        }
        await scene.on { scene in
            scene.tokens?.isSlow = true
            _ = scene.submit(1)
        }
        await scene.pass(.milliseconds(200))
        let status = await scene.gateway.status()
        #expect(status.state == .running && status.connections.isEmpty)
        #expect(status.fault?.code == .credentialRefused && status.fault?.reason?.rawValue == "renewTokenOnce")
        let events = await scene.on { $0.events }
        let reported = events.compactMap { event in
            if case .credentialRefused(let fault) = event { fault } else { nil }
        }
        #expect(reported == status.fault.map { [$0] })
        let ends = events.compactMap { event in
            if case .down(_, _, let end, _, _) = event { end.fault } else { nil }
        }
        #expect(ends == status.fault.map { [$0] })
        // If no newer token arrives, the gateway halts with this reason.
        await scene.pass(.seconds(61))
        guard case .halted(let halt) = await scene.gateway.status().state else {
            Issue.record("not halted")
            return
        }
        #expect(halt.reason?.rawValue == "renewTokenOnce" && halt.message.contains("403 renewTokenOnce"))
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `Events report a connection from its start to its end`() async {
        let scene = GatewayScene(on: loop)
        await scene.on { _ = $0.submit(5) }
        await scene.pass(.milliseconds(100))
        await scene.on { $0.world.connections[0].goAway(reason: "Shutdown") }
        await scene.pass(.milliseconds(100))
        let address = await scene.on { $0.world.connections[0].request.address.host }
        let events = await scene.on { Array($0.events.prefix(3)) }
        #expect(events.first == .up(ConnectionID(1), address: address, streamLimit: 10))
        #expect(
            events.dropFirst().first == .goAway(ConnectionID(1), address: address, reason: .init(rawValue: "Shutdown")))
        guard case .down(ConnectionID(1), address, let end, _, answered: 5) = events.last else {
            Issue.record("\(events)")
            return
        }
        #expect(end.kind == .goAway)
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `A GOAWAY with a permanent reason halts the gateway, and waiting deliveries are kept`() async {
        let scene = GatewayScene(on: loop) { $0.answer = { _, _ in nil } }
        await scene.on { _ = $0.submit(20) }
        await scene.pass(.milliseconds(100))
        await scene.on { $0.world.connections[0].goAway(reason: "halt", unprocessed: 10) }
        await scene.pass(.seconds(600))
        let status = await scene.gateway.status()
        guard case .halted = status.state else {
            Issue.record("\(status.state)")
            return
        }
        // The attempt with the refused credential has no answer.
        #expect(status.queue == 19 && status.outstanding == 1)
        #expect(await scene.on { $0.world.connections.count } == 2)
        #expect(await scene.drain(within: .seconds(1)))
        #expect(await scene.allOutcomes().count { $0 == nil } == 19)
        await loop.shutDown()
    }

    @Test func `A source that has its token at once works as well, also at a rotation`() async {
        let scene = GatewayScene(on: loop, usesTokens: true) { world in world.limit = { _ in 1 } }
        await scene.pass(.milliseconds(100))
        let source = TokenSource(
            subscribe: { _, take in
                take(
                    .success(
                        ProviderToken(
                            text: Secret("t"), generation: 1,
                            mintedAt: MonotonicTime(nanoseconds: 0))))
                return {}
            }, refused: { _ in }, mintedTooOften: {})
        scene.gateway.credentialChanged(connect: { [world = scene.world] in world.connect($0) }, tokens: source)
        await scene.on { _ = $0.submit(10) }
        await scene.pass(.seconds(1))
        #expect(await scene.on { $0.world.connections.count } == 2)
        #expect(await scene.on { $0.world.connections[1].accepted } > 0)
        #expect(await scene.allOutcomes() == Array(repeating: .sent(providerID: nil), count: 10))
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }
}
