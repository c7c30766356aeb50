import PushGateways
import PushLoop
import PushModel
import PushTime
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushSimulator
@testable import WebPush

/// Origins without HTTP/2.
@Suite(.waits) struct OriginCallsTests {
    private static let tickets: Range<UInt64> = 0..<200
    private static let later: Range<UInt64> = 1000..<1100

    private func run(
        alpn: [String], connection: (inout ConnectionSettings) -> Void = { _ in },
        _ body: (OriginScene, LoopBound<HTTP1Origin>) async throws -> Void
    ) async throws {
        let origins = EventLoop(name: "http1")
        let origin = try await origins.run { LoopBound(try HTTP1Origin(on: origins, alpn: alpn), on: origins) }
        let pattern = "127.0.0.1:\(await origin.with { $0.port })"
        try await OriginScene.run(origins: 1, patterns: [pattern], connection: connection) { scene in
            try await body(scene, origin)
        }
        await origin.with { $0.stop() }
        await origins.shutDown()
    }

    private func deliveries(_ scene: OriginScene, to origin: LoopBound<HTTP1Origin>) async throws -> [Delivery] {
        try scene.deliveries(
            await origin.with { OriginScene.subscriptions(Self.tickets.count, at: &$0.machine) }, from: 0)
    }

    @Test("An origin without HTTP/2 gets each push once, few at a time", arguments: [[], ["http/1.1"]])
    func pushes(alpn: [String]) async throws {
        try await run(alpn: alpn) { scene, origin in
            await origin.with { $0.conduct = .delays }
            scene.deliver(try await deliveries(scene, to: origin))
            scene.deliver(try await scene.deliveries(200, to: 0, from: 1000))
            await scene.waitUntilAccepted(1000..<1200)
            await scene.waitUntilAccepted(Self.tickets)
            #expect(scene.faults(Self.tickets, in: await origin.with { Array($0.machine.log.kept) }) == [])
            // The first connection only showed that there is no HTTP/2: it was no failure.
            #expect(scene.troubles(Self.tickets) == [])
            #expect(await origin.with { $0.maxOpen } <= 2 * OriginCalls.limit)
            let records = await origin.with { Array($0.machine.log.kept) }
            #expect(records.allSatisfy { $0.text != nil && $0.warnings.isEmpty && $0.topic?.utf8.count == 32 })
        }
    }

    @Test(
        "What expires by the clock of the cluster is sent by a machine whose clock is ahead", arguments: [true, false])
    func clock(isHTTP1: Bool) async throws {
        let behind: @Sendable () -> WallTime = { .current() - .seconds(3600) }
        try await run(alpn: [], connection: { $0.wallClock = behind }) { scene, origin in
            let deliveries =
                isHTTP1
                ? try await deliveries(scene, to: origin)
                : try await scene.deliveries(Self.tickets.count, to: 0, from: Self.tickets.lowerBound)
            scene.deliver(
                deliveries.map { delivery in
                    scene.delivery(delivery.ticket, to: delivery.token, expiresAt: behind().seconds + 100)
                })
            await scene.waitUntilAccepted(Self.tickets)
            let records = isHTTP1 ? await origin.with { Array($0.machine.log.kept) } : await scene.records(of: 0)
            #expect(records.allSatisfy { (1...100).contains($0.ttl ?? 0) } && records.count == Self.tickets.count)
        }
    }

    @Test("A request that fails has the cause of its connection")
    func causes() async throws {
        let loop = EventLoop(name: "calls")
        let threads = BlockingPool(name: "unused", threadCount: 1, queueLimit: 0)
        let origin = try await loop.run { LoopBound(try HTTP1Origin(on: loop, alpn: []), on: loop) }
        let taken = try #require(TakenPort())
        let other = try CertificateAuthority(commonName: "Another Root").certificatePEM
        let tls = try TLSContext.client(TLSClientConfiguration(trust: .only([.text(other)])))
        for (port, code) in [(taken.number, .refused), (await origin.with { $0.port }, .notTrusted)]
            as [(UInt16, ConnectionFault.Code)]
        {
            let request = HTTP1ClientRequest(
                post: [], to: try #require(HTTP1Address("https://127.0.0.1:\(port)/push/1")), contentType: "text/plain")
            await #expect {
                _ = try await HTTP1ClientCall.send(
                    request, on: loop, resolver: NameResolver(pool: threads), tls: tls, within: .seconds(300))
            } throws: { error in
                (error as? HTTP1ClientFault).map { ConnectionFault($0, at: "here").code } == code
            }
        }
        await origin.with { $0.stop() }
        await loop.shutDown()
        await threads.shutDown()
    }

    @Test("Refusals of such an origin have their effect, and a Retry-After is read")
    func refusals() async throws {
        try await run(alpn: []) { scene, origin in
            let rules = """
                {rules: [{times: 5, answer: {status: 429, retry_after: 7}}, {times: 3, answer: {status: 410}}]}
                """
            await origin.with {
                _ = $0.machine.control(
                    ControlRequest(method: "PUT", path: "/webpush/faults", body: Array(rules.utf8)))
            }
            scene.deliver(try await deliveries(scene, to: origin))
            await wait(while: scene.accepted(Self.tickets) < Self.tickets.count - 3)
            let refusals = scene.fates(Self.tickets).flatMap(\.refusals)
            #expect(refusals.count { $0.status == 429 && $0.retryAfter == 7 } == 5)
            #expect(refusals.count { $0.status == 410 } == 3 && refusals.count == 8)
        }
    }

    @Test("A request without an answer is unknown, those that were not sent come back, and the origin is tried again")
    func cuts() async throws {
        try await run(alpn: []) { scene, origin in
            scene.deliver(try await deliveries(scene, to: origin))
            await wait(while: scene.accepted(Self.tickets) < 20)
            scene.stopOwner()
            await origin.with { $0.conduct = .cuts }
            await wait(while: scene.fates(Self.tickets).contains { $0.isHeld })
            let fates = scene.fates(Self.tickets)
            let unknown = fates.reduce(0) { $0 + $1.unknown }
            #expect((1...2 * OriginCalls.limit).contains(unknown))
            // What is neither accepted nor unknown has not reached the origin.
            let records = await origin.with { Array($0.machine.log.kept) }
            #expect(records.count <= fates.count { $0.accepted > 0 } + unknown)
        }
    }

    @Test("Without the permit to send, nothing more is written, and with it again all is sent")
    func permit() async throws {
        try await run(alpn: []) { scene, origin in
            await origin.with { $0.conduct = .delays }
            scene.deliver(try await deliveries(scene, to: origin))
            await wait(while: scene.accepted(Self.tickets) < 20)
            scene.permit.end(at: MonotonicTime(nanoseconds: 0))
            let answered = scene.accepted(Self.tickets)
            // All others may have been accepted before. These come back again and again.
            let later = try scene.deliveries(
                await origin.with { OriginScene.subscriptions(Self.later.count, at: &$0.machine) },
                from: Self.later.lowerBound)
            let before = scene.reports.events.count
            scene.deliver(later)
            await wait(while: scene.reports.events.count < before + 60)
            // Besides what was answered, the origin has only what was under way.
            #expect(await origin.with { $0.machine.log.kept.count } <= answered + 2 * OriginCalls.limit)
            #expect(scene.accepted(Self.later) == 0)
            scene.permit.end(at: MonotonicTime(nanoseconds: .max))
            await scene.waitUntilAccepted(Self.tickets)
            await scene.waitUntilAccepted(Self.later)
            let records = await origin.with { Array($0.machine.log.kept) }
            #expect(scene.faults(Self.tickets, in: records) == [] && scene.faults(Self.later, in: records) == [])
        }
    }

    @Test("A pool that is drained waits for the answers to such requests")
    func drain() async throws {
        try await run(alpn: []) { scene, origin in
            await origin.with { $0.conduct = .delays }
            scene.deliver(try await deliveries(scene, to: origin))
            await wait(while: scene.accepted(Self.tickets) < 20)
            scene.stopOwner()
            scene.pool.drain()
            await scene.reports.wait { $0.contains { if case .closed? = $0.event { true } else { false } } }
            #expect(scene.fates(Self.tickets).allSatisfy { !$0.isHeld && $0.unknown == 0 })
            #expect(await origin.with { $0.machine.log.kept.count } == scene.accepted(Self.tickets))
        }
    }
}
