import PushGateways
import PushLogic
import PushLoop
import PushModel
import TestSupport
import Testing

/// Deliveries that a connection has and has not sent: when they come back, and when they cost an attempt.
@Suite struct GatewayReturnTests {
    private let loop = EventLoop(name: "gateway", clock: .manual())

    @Test func `A recall returns what connections have not sent, and is answered after that`() async {
        let scene = GatewayScene(on: loop) { world in
            world.limit = { _ in 1 }
            world.answer = { _, _ in nil }
            world.reportTime = { .milliseconds(50) }
        }
        await scene.pass(.milliseconds(200))
        let message = await scene.on { $0.message() }
        await scene.on { _ = $0.submit(2, of: message) }
        await scene.pass(.milliseconds(10))
        #expect(await scene.gateway.status().connections.first?.waiting == 1)
        message.withdraw()
        scene.gateway.recall(7)
        await scene.pass(.milliseconds(10))
        #expect(await scene.on { $0.recalled } == 0)
        await scene.pass(.milliseconds(100))
        #expect(await scene.on { $0.recalled } == 7)
        #expect(await scene.allOutcomes() == [nil])
        #expect(await scene.isReturned(2))
        // A connection that opens later has nothing of it.
        scene.gateway.scale(minimum: 2, maximum: 2)
        scene.gateway.recall(8)
        await scene.pass(.milliseconds(200))
        #expect(await scene.on { $0.recalled } == 8)
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `A pause takes back what connections have not sent, and a cancelled delivery does not wait for its end`()
        async
    {
        let scene = GatewayScene(on: loop) { world in
            world.limit = { _ in 1 }
            world.answerTime = { .seconds(1) }
        }
        await scene.pass(.milliseconds(100))
        let message = await scene.on { $0.message() }
        await scene.on { _ = $0.submit(2, of: message) }
        await scene.pass(.milliseconds(10))
        scene.gateway.setPaused(true)
        await scene.pass(.milliseconds(10))
        var status = await scene.gateway.status()
        #expect(status.queue == 1 && status.connections.map(\.waiting) == [0] && status.outstanding == 1)
        await scene.pass(.seconds(60))
        #expect(await scene.allOutcomes() == [.sent(providerID: nil)])
        scene.gateway.setPaused(false)
        await scene.pass(.seconds(2))
        #expect(await scene.allOutcomes().count == 2)
        // It was written, the message is cancelled, and the service has not processed it.
        await scene.on {
            $0.world.answer = { _, _ in .notProcessed }
            _ = $0.submit(1, of: message)
        }
        await scene.pass(.milliseconds(10))
        scene.gateway.setPaused(true)
        message.withdraw()
        scene.gateway.recall(1)
        await scene.pass(.seconds(2))
        #expect(await scene.isReturned(3))
        status = await scene.gateway.status()
        #expect(status.queue == 0)
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `What connections have not sent waits while the circuit breaker is open`() async {
        let busy = Refusal(status: 503, reason: "ServiceUnavailable", retryAfter: 100)
        let scene = GatewayScene(on: loop) { world in
            world.limit = { _ in 20 }
            world.answer = { _, _ in .refused(busy) }
            var calls = 0
            world.answerTime = {
                calls += 1
                return calls == 1 ? .milliseconds(5) : .seconds(1)
            }
        }
        await scene.pass(.milliseconds(100))
        await scene.on { _ = $0.submit(36) }
        await scene.pass(.milliseconds(100))
        // The first answer opens the breaker. The connection has refilled its stream before that.
        var status = await scene.gateway.status()
        #expect(status.connections.map(\.waiting) == [0] && status.queue == 15)
        await scene.pass(.seconds(2))
        status = await scene.gateway.status()
        #expect(status.counts.retried == 21 && status.queue == 15)
        await scene.on { $0.world.answer = { _, _ in .accepted(providerID: nil) } }
        await scene.pass(.seconds(200))
        #expect(await scene.allOutcomes().count { $0 == .sent(providerID: nil) } == 15)
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `A delivery that connections return unsent does not use up its attempts`() async {
        let scene = GatewayScene(on: loop) { world in
            world.limit = { _ in 1 }
            world.answer = { _, _ in nil }
        }
        await scene.on { _ = $0.submit(4) }
        for _ in 0..<24 {
            await scene.pass(.seconds(20))
            await scene.on { $0.world.open.first?.goAway(unprocessed: 1) }
        }
        // Each was written at most 12 times, and returned as often unsent.
        #expect(await scene.allOutcomes() == [])
        await scene.on { $0.world.answer = { _, _ in .accepted(providerID: nil) } }
        await scene.pass(.seconds(60))
        #expect(await scene.allOutcomes() == Array(repeating: .sent(providerID: nil), count: 4))
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `A delivery with expires_at 0 that is never processed is not rejected`() async {
        let scene = GatewayScene(on: loop) { $0.answer = { _, _ in .notProcessed } }
        await scene.on { _ = $0.submit(1, expiresAt: 0) }
        await scene.pass(.seconds(2))
        guard case .retry(let refusal, _)? = await scene.outcome(1) else {
            Issue.record("\(await scene.allOutcomes())")
            return
        }
        #expect(refusal.status == 0)
        #expect(await scene.outcome(1)?.isAnswer == false)
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test func `A delivery whose every answer asks for another connection gets one of them`() async {
        let idle = Refusal(status: 400, reason: ProviderReason(rawValue: "reconnect"))
        let scene = GatewayScene(on: loop) { world in
            world.answer = { delivery, _ in
                delivery.message.expiry == .unlimited ? .accepted(providerID: nil) : .refused(idle)
            }
        }
        let tomorrow = await scene.on { $0.wall.seconds + 86_400 }
        await scene.on { _ = $0.submit(1, expiresAt: tomorrow) }
        await scene.pass(.seconds(1))
        guard case .retry(idle, let delay)? = await scene.outcome(1) else {
            Issue.record("\(await scene.allOutcomes())")
            return
        }
        #expect(delay >= .seconds(1))
        #expect(await scene.on { $0.world.connections.count } == 2)
        // Later attempts, beside others that are accepted, cost no connection.
        for attempt in UInt16(2)...20 {
            await scene.on {
                _ = $0.submit(1, expiresAt: tomorrow, attempt: attempt)
                _ = $0.submit(1)
            }
            await scene.pass(.seconds(1))
        }
        #expect(await scene.on { $0.world.connections.count } == 2)
        // A connection that answers nothing else is replaced in the end.
        for attempt in UInt16(2)...5 {
            await scene.on { _ = $0.submit(1, expiresAt: tomorrow, attempt: attempt) }
            await scene.pass(.seconds(1))
        }
        #expect(await scene.on { $0.world.connections.count } == 3)
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }

    @Test(arguments: [UnknownCause.reset, .connectionLost])
    func `Requests that the service takes and does not answer open the circuit breaker`(_ cause: UnknownCause) async {
        let scene = GatewayScene(on: loop) { world in
            world.limit = { _ in 100 }
            world.answer = { _, _ in .unknown(cause) }
        }
        await scene.pass(.milliseconds(100))
        await scene.on { _ = $0.submit(40) }
        await scene.pass(.seconds(1))
        let status = await scene.gateway.status()
        if case .paused(_, .failing) = status.state {
            #expect(cause == .reset)
        } else {
            // The loss of a connection shows nothing about the service.
            #expect(cause == .connectionLost, "\(status.state)")
        }
        #expect(await scene.drain(within: .seconds(1)))
        await loop.shutDown()
    }
}
