import PushGateways
import PushLoop
import PushModel
import PushWire
import TestSupport
import TestTraits
import Testing

/// What people read about a service is in its own words: the verdicts of `check` and `doctor`, and the reasons of the
/// gateway.
@Suite(.waits) struct StubTextTests {
    /// Words that only another service has.
    private static func isForeign(_ text: String) -> Bool {
        ["apple", "apns", "topic", "sandbox", "developer", ".p8", "team_id", "device token"].contains {
            text.lowercased().contains($0)
        }
    }

    private static func probe(_ name: String) -> Probe {
        Probe(StubScene.delivery(of: StubScene.app, to: name)) { _ in nil }
    }

    private static let answers: [(name: String, Verdict.Kind, String, String?)] = [
        ("ok-1", .accepted, "the provider accepted the notification; it does not report delivery", nil),
        ("gone-1", .rejected, "the address is no longer in use", "nothing to do"),
        ("other-1", .rejected, "the address is one of another app", "check the app"),
        ("bad-1", .rejected, "the text is not allowed", "send another text"),
        ("busy-1", .tryAgain, "the stub is busy", "send it again later; wait at least 3 s"),
    ]

    @Test func `A verdict about a notification has the meaning and the advice of the service`() async throws {
        try await StubScene.run { scene in
            for (name, kind, meaning, advice) in Self.answers {
                let verdict = try await scene.verdict(with: "first", by: Self.probe(name))
                #expect(verdict.kind == kind && verdict.meaning == meaning && verdict.advice == advice, "\(verdict)")
                #expect(!Self.isForeign("\(verdict)"))
            }
        }
    }

    @Test func `The probe of the service decides what a check has shown`() async throws {
        try await StubScene.run { scene in
            let probe = Probe.stub(of: StubScene.app)
            let passed = try await scene.verdict(with: "first", by: probe)
            #expect(passed.kind == .accepted && passed.meaning == "the stub knows the key, and not the made-up name")
            let refused = try await scene.verdict(with: "second", by: probe)
            #expect(refused.kind == .credentialRefused && refused.refusal?.reason == .keyRefused)
            #expect(refused.meaning == "the key is not valid" && refused.advice == "replace the key")
            let opened = try await scene.verdict(with: "second", by: .connection)
            #expect(opened.kind == .accepted)
            for verdict in [passed, refused, opened] { #expect(!Self.isForeign("\(verdict)"), "\(verdict)") }
        }
    }

    private static let ends: [ConnectionEnd.Kind] = [
        .unreachable, .broken, .silent, .lost, .byUs, .credential, .goAway, .errorPacket,
    ]

    @Test func `No outcome of a trial is explained in the words of another service`() throws {
        let peer = TrialPeer(
            address: "stub.example.com:443", isOfOwner: false, trust: "stub.pem", description: .stub, reasons: .stub)
        var outcomes: [Trial.Outcome] = [
            .accepted(providerID: "x"), .stayedOpen, .expired, .unknown(.timeout), .unknown(.connectionLost),
            .unknown(.reset), .timedOut(after: .seconds(20)), .dismissed(nil), .dismissed(.moving),
        ]
        for kind in [.refused, .certificate, .providerToken] as [GatewayHalt.Kind] {
            outcomes.append(.halted(GatewayHalt(kind, message: "no")))
        }
        outcomes += Self.ends.map { .notConnected(ConnectionEnd($0, message: "it ended"), inTime: true) }
        outcomes += ReasonTable.stub.all.map { .refused(Refusal(status: $0.status, reason: $0.reason)) }
        outcomes += [401, 403, 404, 410, 418, 429, 500].map { .refused(Refusal(status: $0, reason: nil)) }
        for outcome in outcomes {
            for verdict in [Verdict(outcome, of: peer), Verdict(outcome, of: peer, by: .stub(of: StubScene.app))] {
                #expect(!verdict.meaning.isEmpty && !Self.isForeign("\(verdict.meaning) \(verdict.advice ?? "")"))
            }
        }
        let broken = Verdict(.notConnected(ConnectionEnd(.broken, message: "no TLS"), inTime: true), of: peer)
        #expect(broken.advice?.contains("stub.example.com:443 speaks HTTP/2 over TLS") == true)
    }

    @Test func `A gateway whose key is refused reports the advice of the service`() async throws {
        try await StubScene.run { scene in
            await scene.server.with { $0.key = "second" }
            try await scene.openGateway(key: "first")
            _ = await scene.push(#"{"id":"one","app":"stub","to":{"tokens":["stub:ok-1"]},"alert":"Hello"}"#)
            await scene.pass { await scene.gateway?.status().isHalted == true }
            guard case .halted(let halt)? = await scene.gateway?.status().state else {
                Issue.record("the gateway is not halted")
                return
            }
            #expect(
                halt.message
                    == "the provider refused the credential of app stub permanently: 401 KEY_REFUSED; replace the key")
        }
    }

    @Test func `The service describes its files and itself`() throws {
        let service = PushService.stub
        let file = try service.readCredential("stub.key", nil, .current())
        #expect(file.content == "a key of the stub" && file.next == "give it to the stub.")
        #expect(service.reasons.misdirected == .ofAnotherApp)
        #expect(try service.codec.address(pastedAs: "ada") == service.codec.address("stub:ada"))
    }
}
