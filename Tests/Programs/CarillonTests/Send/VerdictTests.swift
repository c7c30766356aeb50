import APNs
import PushConfiguration
import PushGateways
import PushModel
import PushTransport
import PushWire
import Testing

@testable import carillon

/// Tests that each outcome of a trial has its exit code and advice.
@Suite struct VerdictTests {
    private static let app = Configuration.App(
        id: AppOptions.flagsName,
        service: .apns(
            APNsSettings(
                topic: BundleID("com.example.shop")!, environment: .production,
                credential: .key(path: "k.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ"),
                broadcast: BroadcastHosts(
                    send: HostPort(host: "api.push.apple.com", port: 443),
                    manage: HostPort(host: "api.push.apple.com", port: 2196)))),
        gateway: Configuration.Gateway(), endpoint: Configuration.Endpoint(PushEnvironment.production.endpoint))

    @Test func `Each known reason has an exit code and advice`() {
        for known in ReasonTable.apns.all {
            let refusal = Refusal(status: known.status, reason: known.reason)
            let verdict = Verdict(refusal, by: .apns)
            let expected: ExitCode =
                switch (known.disposition, known.status) {
                case (.reconnect, _), (_, 429), (_, 500...): .tryAgain
                case (_, 403): .notPermitted
                default: known.reason == "TopicDisallowed" ? .notPermitted : .failed
                }
            #expect(verdict.kind.code == expected, "\(known.reason)")
            #expect(!verdict.meaning.isEmpty && verdict.advice?.isEmpty == false, "\(known.reason)")
            // The command does not retry, so the advice must not be that there is nothing to do.
            #expect(verdict.advice?.hasPrefix("nothing") == false, "\(known.reason)")
            #expect(
                Trial.reasons(.apns).disposition(status: known.status == 503 ? 500 : known.status, reason: known.reason)
                    != .halt)
        }
    }

    @Test(arguments: [200, 302, 400, 403, 404, 410, 418, 429, 500, 503, 599])
    func `An unknown reason has an exit code and advice`(_ status: Int) {
        let verdict = Verdict(
            Refusal(status: status, reason: ProviderReason(rawValue: "Tomorrow\u{1b}[31m")), by: .apns)
        #expect(verdict.kind != .accepted && verdict.advice?.isEmpty == false)
        #expect(!verdict.meaning.contains("\u{1b}"))
    }

    private static let ends: [(ConnectionEnd.Kind, ExitCode)] = [
        (.unreachable, .unavailable), (.broken, .unavailable), (.silent, .unavailable), (.lost, .unavailable),
        (.byUs, .unavailable), (.credential, .notPermitted), (.goAway, .tryAgain),
    ]

    @Test func `Each outcome without a response has an exit code and advice`() {
        for (kind, code) in Self.ends {
            let end = ConnectionEnd(kind, message: "192.0.2.1:443: it ended")
            #expect(Verdict(.notConnected(end, inTime: true), of: Self.app.peer).kind.code == code, "\(kind)")
            #expect(Verdict(.notConnected(end, inTime: false), of: Self.app.peer).kind.code == .tryAgain, "\(kind)")
        }
        let outcomes: [(Trial.Outcome, ExitCode)] = [
            (.accepted(providerID: nil), .done), (.stayedOpen, .done), (.unknown(.timeout), .failed),
            (.unknown(.reset), .failed), (.expired, .badInput), (.dismissed(nil), .tryAgain),
            (.dismissed("Shutdown"), .tryAgain), (.timedOut(after: .seconds(20)), .tryAgain),
            (.halted(GatewayHalt(.refused, message: "no", reason: "BadCertificate")), .notPermitted),
            (.halted(GatewayHalt(.refused, message: "no")), .notPermitted),
            (.halted(GatewayHalt(.certificate, message: "no")), .notPermitted),
            (.halted(GatewayHalt(.providerToken, message: "no")), .configuration),
            (.halted(GatewayHalt(.providerToken, message: "no", unreached: .refused)), .unavailable),
            (.refused(Refusal(status: 0, reason: "origin_refused")), .unavailable),
        ]
        for (outcome, code) in outcomes {
            let verdict = Verdict(outcome, of: Self.app.peer)
            #expect(verdict.kind.code == code && !verdict.meaning.isEmpty, "\(outcome)")
            #expect(verdict.kind == .accepted || verdict.advice?.isEmpty == false, "\(outcome)")
        }
    }

    @Test func `A service of tokens that is not reached says nothing about the key`() {
        for code in [ConnectionFault.Code.refused, .nameNotFound, .timedOut, .notTrusted] {
            let halt = GatewayHalt(.providerToken, message: "cannot ask for a token", unreached: code)
            let verdict = Verdict(.halted(halt), of: Self.app.peer)
            #expect(verdict.kind == .unreachable && verdict.advice == code.advice && code.advice != nil, "\(code)")
        }
    }

    /// A credential is valid if the provider rejects only the device token.
    @Test func `A check passes only if the device token is all that is rejected`() {
        let passing: Set<ProviderReason> = ["BadDeviceToken", "DeviceTokenNotForTopic", "Unregistered", "ExpiredToken"]
        for known in ReasonTable.apns.all {
            let verdict = Verdict(
                .refused(Refusal(status: known.status, reason: known.reason)), of: Self.app.peer, by: Self.app.probe)
            #expect((verdict.kind == .accepted) == passing.contains(known.reason), "\(known.reason)")
        }
        let end = ConnectionEnd(.unreachable, message: "nobody")
        for outcome in [.timedOut(after: .seconds(1)), .notConnected(end, inTime: false)] as [Trial.Outcome] {
            #expect(Verdict(outcome, of: Self.app.peer, by: Self.app.probe).kind == .unreachable)
        }
    }
}
