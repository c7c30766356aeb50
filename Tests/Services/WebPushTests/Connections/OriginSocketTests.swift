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

/// The pool on real sockets, with origins that fail in all ways: nothing is lost, nothing is sent twice that was not
/// unknown, and the origin that works gets everything meanwhile.
@Suite(.waits) struct OriginSocketTests {
    private static let bad: Range<UInt64> = 0..<300
    private static let good: Range<UInt64> = 10_000..<10_300
    private static let later: Range<UInt64> = 20_000..<20_100

    /// Hands over deliveries to two origins, of which the first has faults, and waits until all are accepted.
    private func play(
        _ script: String, isOften: Bool = true, unknown: Bool = false,
        connection: (inout ConnectionSettings) -> Void = { _ in }
    ) async throws {
        try await OriginScene.run(origins: 2) {
            // No time passes: a machine that is slow does not look like an origin that stalls.
            $0.limits.patience = .seconds(300)
            $0.limits.shortPatience = .seconds(300)
        } connection: {
            connection(&$0)
        } _: { scene in
            await scene.faults(script, at: 0)
            scene.deliver(try await scene.deliveries(Self.bad.count, to: 0, from: Self.bad.lowerBound))
            scene.deliver(try await scene.deliveries(Self.good.count, to: 1, from: Self.good.lowerBound))
            await scene.waitUntilAccepted(Self.good)
            await scene.waitUntilAccepted(Self.bad)
            let faults = [await scene.faults(Self.bad, at: 0), await scene.faults(Self.good, at: 1)]
            #expect(faults == [[], []])
            #expect(scene.troubles(Self.good) == [])
            if !unknown { #expect(!scene.troubles(Self.bad).contains("unknown")) }
            #expect(await scene.records(of: 0).contains { $0.isFault } || !isOften)
        }
    }

    @Test(
        "GOAWAY with requests in flight",
        arguments: [
            #"{rules: [{latency: "3ms"}, {match: {every: 40}, goaway: {back: 0}}]}"#,
            #"{rules: [{latency: "3ms"}, {match: {every: 40}, goaway: {back: 7}}]}"#,
            #"{rules: [{latency: "3ms"}, {match: {every: 40}, goaway: {back: 3, close: true}}]}"#,
        ])
    func goAway(script: String) async throws {
        // A connection that closes with the frame leaves those up to the last stream without an answer.
        try await play(script, unknown: script.contains("close"))
    }

    @Test(
        "A stream limit of one, and one that changes between none and a few",
        arguments: [
            #"{rules: [{on: "connect", streams: 1}]}"#,
            #"{rules: [{match: {every: 20}, streams: 1}, {match: {every: 33}, streams: 5}, {latency: "1ms"}]}"#,
        ])
    func streamLimit(script: String) async throws {
        try await play(script, isOften: false)
    }

    @Test("A connection on which no stream is allowed is replaced in the end")
    func noStreams() async throws {
        // timed: the time after which such a connection is replaced
        try await play(#"{rules: [{on: "connect", times: 2, streams: 0}]}"#, isOften: false) {
            $0.answerTimeout = .seconds(2)
        }
    }

    @Test("Streams that are refused or reset, all of them at first")
    func resets() async throws {
        try await play(#"{rules: [{times: 700, reset: "REFUSED_STREAM"}]}"#)
        try await play(#"{rules: [{times: 300, reset: "INTERNAL_ERROR"}]}"#, unknown: true)
    }

    @Test("Connections that are refused, closed and silent")
    func connections() async throws {
        try await play(#"{rules: [{on: "connect", times: 10, refuse: true}]}"#, isOften: false)
        try await play(#"{rules: [{match: {every: 50}, times: 8, close: true}]}"#, unknown: true)
        // timed: the time after which a silent peer is given up
        try await play(#"{rules: [{match: {request: 20}, times: 2, silence: true}]}"#, unknown: true) {
            $0.pingAfter = .milliseconds(100)
            $0.pingTimeout = .seconds(2)
        }
    }

    @Test("429 with Retry-After is about one subscription, and 503 about the origin")
    func retryAfter() async throws {
        try await OriginScene.run(origins: 2) { scene in
            await scene.faults(
                #"{rules: [{match: {every: 3}, times: 60, answer: {status: 429, retry_after: 7}}]}"#, at: 0)
            await scene.faults(#"{rules: [{times: 30, answer: {status: 503, retry_after: 9}}]}"#, at: 1)
            scene.deliver(try await scene.deliveries(Self.bad.count, to: 0, from: Self.bad.lowerBound))
            scene.deliver(try await scene.deliveries(Self.good.count, to: 1, from: Self.good.lowerBound))
            await scene.waitUntilAccepted(Self.bad)
            await scene.waitUntilAccepted(Self.good)
            #expect(await scene.faults(Self.bad, at: 0) == [])
            #expect(await scene.faults(Self.good, at: 1) == [])
            let limited = scene.fates(Self.bad).flatMap(\.refusals)
            #expect(limited.count == 60 && limited.allSatisfy { $0.status == 429 && $0.retryAfter == 7 })
            let failed = scene.fates(Self.good).flatMap(\.refusals)
            #expect(failed.count { $0.status == 503 && $0.retryAfter == 9 } == 30)
            // The others were given back without an attempt.
            #expect(failed.allSatisfy { $0.status == 503 || [.originUnavailable, .originBusy].contains($0.reason) })
        }
    }

    @Test("A name that is not found, and a port that accepts and says nothing")
    func dead() async throws {
        let silent = try RawListener()
        let names = ["no.such.name", "127.0.0.1:\(silent.port)"]
        // timed: the time that a handshake may take
        try await OriginScene.run(origins: 1, patterns: names) {
            $0.limits.waitingAtStalled = 4
            $0.limits.health.failures = 2
        } connection: {
            $0.connectTimeout = .seconds(2)
        } _: { scene in
            let keys = Array(try await scene.deliveries(1, to: 0, from: 0)[0].token.bytes.suffix(81))
            for (index, name) in names.enumerated() {
                let first = UInt64(1000 * (index + 1))
                scene.deliver(
                    (first..<first + 50).map { ticket in
                        let endpoint = Array("https://\(name)/push/\(ticket)".utf8)
                        let address = Address(bytes: endpoint + keys, identifiedByFirst: endpoint.count)!
                        return scene.delivery(ticket, to: address)
                    })
            }
            scene.deliver(try await scene.deliveries(Self.good.count, to: 0, from: Self.good.lowerBound))
            await scene.waitUntilAccepted(Self.good)
            #expect(await scene.faults(Self.good, at: 0) == [])
            #expect(scene.troubles(Self.good) == [])
            // The breaker of each opens, and nothing was sent.
            let reasons: [(UInt64, ProviderReason)] = [(1000, .originNameNotFound), (2000, .originTimedOut)]
            for (first, reason) in reasons {
                await wait(
                    while: scene.fates(first..<first + 50).contains { fate in
                        !fate.refusals.contains { $0.reason == reason }
                    })
                #expect(scene.fates(first..<first + 50).allSatisfy { $0.unknown == 0 && $0.accepted == 0 })
            }
        }
        silent.close()
    }

    @Test("A certificate that is not trusted, and a refused connection, are told as what they are")
    func causes() async throws {
        let taken = try #require(TakenPort())
        let refused = "127.0.0.1:\(taken.number)"
        let other = try CertificateAuthority(commonName: "Another Root").certificatePEM
        try await OriginScene.run(origins: 1, patterns: [refused], trust: .only([.text(other)])) { scene in
            let untrusted = "127.0.0.1:\(scene.ports[0])"
            let some = try await scene.deliveries(20, to: 0, from: 0)
            let keys = Array(some[0].token.bytes.suffix(81))
            let endpoint = Array("https://\(refused)/push/1".utf8)
            let address = try #require(Address(bytes: endpoint + keys, identifiedByFirst: endpoint.count))
            scene.deliver(some + (20..<40).map { scene.delivery($0, to: address) })
            let expected = [untrusted: ConnectionFault.Code.notTrusted, refused: .refused]
            @Sendable func told(_ reports: [ConnectionReport]) -> [String: ConnectionFault.Code] {
                var told: [String: ConnectionFault.Code] = [:]
                for case .failing(let origin, _)? in reports.map(\.event) { told[origin.name] = origin.fault?.code }
                return told
            }
            await scene.reports.wait { told($0).count >= 2 }
            #expect(told(scene.reports.events) == expected)
            for (first, reason) in [(0, .originNotTrusted), (20, .originRefused)] as [(UInt64, ProviderReason)] {
                await wait(
                    while: scene.fates(first..<first + 20).contains { fate in
                        !fate.refusals.contains { $0.reason == reason }
                    })
                #expect(scene.fates(first..<first + 20).flatMap(\.refusals).allSatisfy { $0.reason == reason })
            }
            let failing = await scene.pool.status().failing
            #expect(Dictionary(uniqueKeysWithValues: failing.map { ($0.name, $0.fault?.code) }) == expected)
        }
    }

    @Test("A pool that is drained waits for the answers to what is sent, and gives back the rest")
    func drain() async throws {
        try await OriginScene.run(origins: 2) { scene in
            await scene.faults(#"{rules: [{on: "connect", streams: 10}, {latency: "1s"}]}"#, at: 0)
            scene.deliver(try await scene.deliveries(Self.bad.count, to: 0, from: Self.bad.lowerBound))
            await wait(while: await scene.records(of: 0).isEmpty)
            scene.stopOwner()
            scene.pool.drain()
            let all = await scene.reports.wait { $0.contains { if case .closed? = $0.event { true } else { false } } }
            let fates = scene.fates(Self.bad)
            #expect(fates.allSatisfy { !$0.isHeld && $0.unknown == 0 && $0.refusals.isEmpty })
            let taken = await scene.records(of: 0).count { $0.isAccepted }
            #expect(taken > 0 && taken < Self.bad.count && scene.accepted(Self.bad) == taken)
            guard case .closed(let end)? = all.compactMap(\.event).last else { return }
            #expect(end.kind == .byUs)
            // What is handed over after the end comes back, too.
            scene.deliver(try await scene.deliveries(5, to: 1, from: 900))
            await wait(while: scene.fates(900..<905).contains { $0.isHeld })
            #expect(await scene.records(of: 1).isEmpty)
        }
    }

    @Test("Without the permit to send, nothing more is written to any origin, and with it again all is sent")
    func permit() async throws {
        try await OriginScene.run(origins: 2) { scene in
            for origin in 0...1 { await scene.faults(#"{rules: [{latency: "2ms"}]}"#, at: origin) }
            scene.deliver(try await scene.deliveries(Self.bad.count, to: 0, from: Self.bad.lowerBound))
            scene.deliver(try await scene.deliveries(Self.good.count, to: 1, from: Self.good.lowerBound))
            await wait(while: scene.accepted(Self.bad) < 20 || scene.accepted(Self.good) < 20)
            scene.permit.end(at: MonotonicTime(nanoseconds: 0))
            // All that is in flight ends; a turn of both loops later the origins have what was written before.
            await wait(
                while: scene.fates(Self.bad).contains { $0.accepted == 0 && $0.isHeld && $0.unknown == 0 }
                    && scene.accepted(Self.bad) < Self.bad.count)
            let counts = [await scene.records(of: 0).count, await scene.records(of: 1).count]
            let before = scene.reports.events.count
            // All others may have been accepted before. These come back again and again.
            scene.deliver(try await scene.deliveries(Self.later.count, to: 0, from: Self.later.lowerBound))
            await wait(while: scene.reports.events.count < before + 20)
            #expect([await scene.records(of: 0).count, await scene.records(of: 1).count] == counts)
            scene.permit.end(at: MonotonicTime(nanoseconds: .max))
            await scene.waitUntilAccepted(Self.bad)
            await scene.waitUntilAccepted(Self.good)
            await scene.waitUntilAccepted(Self.later)
            #expect(await scene.faults(Self.bad, at: 0) == [])
            #expect(await scene.faults(Self.later, at: 0) == [])
            #expect(await scene.faults(Self.good, at: 1) == [])
        }
    }

    @Test("Connections that are idle are closed, and another one opens when there is something to send")
    func idle() async throws {
        // timed: the time after which idle connections are closed
        try await OriginScene.run(origins: 1) {
            $0.limits.idle = .milliseconds(50)
        } _: { scene in
            scene.deliver(try await scene.deliveries(10, to: 0, from: 0))
            await scene.waitUntilAccepted(0..<10)
            await wait(while: await scene.connections(of: 0) > 0)
            scene.deliver(try await scene.deliveries(10, to: 0, from: 10))
            await scene.waitUntilAccepted(0..<20)
            #expect(await scene.faults(0..<20, at: 0) == [])
            #expect(await scene.records(of: 0).map(\.connection).max() == 2)
        }
    }

    @Test("An origin that stalls has as much waiting as there is, and the other one gets all of its pushes meanwhile")
    func stall() async throws {
        let count = 800
        try await OriginScene.run(origins: 2) {
            $0.limits.credit = 200
            $0.limits.maxCredit = 2000
            // No time passes: the stall is not noticed as one.
            $0.limits.patience = .seconds(300)
            $0.limits.shortPatience = .seconds(300)
        } _: { scene in
            await scene.faults(#"{rules: [{silence: true}]}"#, at: 0)
            let stalled = try await scene.deliveries(count, to: 0, from: 0)
            let good = try await scene.deliveries(count, to: 1, from: 10_000)
            var waiting = zip(stalled, good).flatMap { [$0, $1] }[...]
            // An owner that hands over as much as the pool offers, and no more.
            while !waiting.isEmpty, !Task.isCancelled {
                await wait(while: scene.credit == 0)
                let batch = waiting.prefix(scene.credit)
                waiting = waiting.dropFirst(batch.count)
                scene.deliver(Array(batch))
            }
            await scene.waitUntilAccepted(10_000..<10_000 + UInt64(count))
            #expect(scene.fates(0..<UInt64(count)).allSatisfy { $0.isHeld })
            #expect(await scene.faults(10_000..<10_000 + UInt64(count), at: 1) == [])
            scene.stopOwner()
        }
    }
}
