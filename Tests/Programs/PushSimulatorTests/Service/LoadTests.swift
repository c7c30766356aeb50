import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushSimulator

/// A peer that sends requests over one connection, as many in parallel as allowed, and counts how each one ends.
private final class LoadPeer: HTTP2ClientConnectionDelegate {
    let numbers: ClosedRange<Int>
    let place: HostPort
    let tls: TLSContext
    let resolver: NameResolver
    let loop: EventLoop
    let finished: EventRecorder<[Int: [SeenOutcome]]>
    /// The outcomes of each request; every request must have exactly one.
    private var outcomes: [Int: [SeenOutcome]] = [:]
    private var next: Int
    private var connection: HTTP2ClientConnection?
    private var connectionsLeft = 200
    private let request = Push(0).prepared()
    private let body = Array(Push(0).body.utf8)

    init(
        on loop: EventLoop, to place: HostPort, tls: TLSContext, resolver: NameResolver, _ numbers: ClosedRange<Int>,
        _ finished: EventRecorder<[Int: [SeenOutcome]]>
    ) {
        self.numbers = numbers
        self.finished = finished
        self.loop = loop
        self.place = place
        self.tls = tls
        self.resolver = resolver
        next = numbers.lowerBound
    }

    func connect() {
        connectionsLeft -= 1
        connection = HTTP2ClientConnection(
            on: loop, to: place, tls: tls, resolver: resolver, delegate: self)
    }

    func stop() {
        connectionsLeft = 0
        connection?.close()
    }

    private func fill() {
        // At most a hundred requests are in flight, so that a lost connection does not affect all of them.
        while let connection, next <= numbers.upperBound, connection.inFlight < 100 {
            let values = [Array("/3/device/\(Push.device(next))".utf8), Array(Push.id(next).utf8)]
            guard connection.submit(request, values: values, body: body, tag: UInt64(next)) else { return }
            next += 1
        }
    }

    private func note(_ tag: UInt64, _ outcome: SeenOutcome) {
        outcomes[Int(tag), default: []].append(outcome)
    }

    func http2Settings(streamLimit limit: Int) { fill() }
    func http2Answered(tag: UInt64, with response: HTTP2Response) { note(tag, .answered(SeenAnswer(response))) }
    func http2Unanswered(tag: UInt64, because failure: HTTP2StreamFailure) { note(tag, .unanswered(failure)) }
    func http2GoAway(_ goAway: HTTP2GoAway) {}

    func http2BatchEnded() {
        fill()
        if next > numbers.upperBound, connection?.inFlight == 0 { connection?.closeGracefully() }
    }

    func http2Closed(_ closure: HTTP2Closure) {
        connection = nil
        if next <= numbers.upperBound, connectionsLeft > 0 {
            connect()
        } else {
            finished.record(outcomes)
        }
    }
}

/// Faults under load: no request is lost, no request ends twice, and both sides agree.
@Suite(.waits) struct LoadTests {
    private func run(script: String, total: Int, connections: Int) async throws -> (
        outcomes: [Int: SeenOutcome], records: [ControlPort.Received], counts: ControlPort.Counts
    ) {
        var result: ([Int: SeenOutcome], [ControlPort.Received], ControlPort.Counts)?
        try await withApple(script: script) { apple in
            let tls = try TLSContext.client(
                TLSClientConfiguration(
                    trust: TestCertificates.shared.trust, identity: Credentials.shared.push, alpn: ["h2"]))
            let finished = EventRecorder<[Int: [SeenOutcome]]>()
            let share = total / connections
            for index in 0..<connections {
                let numbers = (index * share + 1)...((index + 1) * share)
                _ = try await apple.onClientLoop { [provider = apple.provider] loop, resolver in
                    let peer = LoadPeer(on: loop, to: provider, tls: tls, resolver: resolver, numbers, finished)
                    peer.connect()
                    return (peer, { peer.stop() })
                }
            }
            let ends = await finished.wait(count: connections)
            let all = ends.reduce(into: [Int: [SeenOutcome]]()) { $0.merge($1) { $0 + $1 } }
            #expect(all.count == total, "every request ends")
            #expect(all.values.allSatisfy { $0.count == 1 }, "every request ends once")
            await apple.untilNoneIsOpen()
            let outcomes = all.compactMapValues(\.first)
            result = (outcomes, try apple.control.received(), try apple.control.counts())
        }
        return try #require(result)
    }

    @Test("A mix of faults loses no request", arguments: [1, 2, 3] as [UInt64])
    func aMixOfFaults(seed: UInt64) async throws {
        let script = """
            { seed: \(seed), rules: [
              { match: { share: 0.05 }, latency: { fixed: "1ms", spread: "4ms" } },
              { match: { every: 200 }, goaway: { back: 5, reason: "Shutdown" } },
              { match: { every: 731 }, goaway: { back: 2, close: true } },
              { match: { every: 450 }, close: true },
              { match: { every: 470 }, half_frame: true },
              { match: { share: 0.02 }, answer: { reason: "ServiceUnavailable" } },
              { match: { share: 0.01 }, answer: { reason: "TooManyRequests", retry_after: 1 } },
              { match: { share: 0.01 }, reset: "REFUSED_STREAM" },
              { match: { share: 0.01 }, reset: "INTERNAL_ERROR", latency: "2ms" },
            ] }
            """
        let (outcomes, records, counts) = try await run(script: script, total: 4000, connections: 4)
        try expectAgreement(records, outcomes)
        let answered = outcomes.values.count { $0.status != nil }
        let accepted = outcomes.values.count { $0.status == 200 }
        let refused = outcomes.values.count { $0.failure == .notProcessed }
        let lost = outcomes.values.count { $0.failure == .connectionLost }
        let reset = outcomes.values.count { $0.failure == .reset(.internalError) }
        // Each kind of outcome occurred.
        #expect(answered + refused + lost + reset == 4000)
        #expect(accepted > 2000 && refused > 50 && lost > 10 && reset > 5)
        #expect(outcomes.values.contains { $0.reason == "ServiceUnavailable" })
        #expect(records.count == counts.requests && counts.requests <= 4000 && counts.duplicates == 0)
        // The client knows of every notification that the simulator accepted, or its outcome is unknown. An accepted
        // one never counts as not processed.
        #expect(counts.accepted >= accepted && counts.accepted <= accepted + lost + reset)
        #expect(counts.unanswered == records.count { $0.unanswered != nil })
        #expect(records.count { $0.unanswered == nil } == answered)
    }

    @Test("Without faults every request is answered once")
    func withoutFaultsEverythingIsAnsweredOnce() async throws {
        let (outcomes, records, counts) = try await run(script: "{}", total: 8000, connections: 4)
        #expect(outcomes.values.allSatisfy { $0.status == 200 })
        #expect(counts.requests == 8000 && counts.accepted == 8000 && counts.unanswered == 0 && counts.duplicates == 0)
        #expect(Set(records.map(\.id)).count == 8000)
    }
}
