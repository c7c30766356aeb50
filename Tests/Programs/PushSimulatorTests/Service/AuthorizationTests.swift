import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushSimulator

/// Authorization over real TLS and HTTP/2, with real signatures.
@Suite(.waits) struct AuthorizationTests {
    @Test("A connection has one stream until the first valid token")
    func oneStreamUntilTheFirstValidToken() async throws {
        try await withApple { apple in
            let client = try await apple.open()
            #expect(client.limits == [1])
            let token = try Credentials.shared.token()
            let first = await client.outcome(of: Push(1, authorization: token))
            #expect(first?.status == 200)
            await client.untilLimit(1000)
            #expect(client.limits == [1, 1000])
            let rest = await client.outcomes(of: 2...200, authorization: token)
            #expect(rest.values.allSatisfy { $0.status == 200 })
            let records = try apple.control.received()
            #expect(records.map(\.id) == (1...200).map { Push.id($0) })
            #expect(records.allSatisfy { $0.accepted && $0.unanswered == nil && $0.duplicate == nil })
            let counts = try apple.control.counts()
            #expect(counts.requests == 200 && counts.accepted == 200 && counts.unanswered == 0)
        }
    }

    enum Case: String, CaseIterable, Sendable {
        case missing, wrongKey, unknownKey, otherTeam, expired, tampered, garbage

        func authorization() throws -> String? {
            let credentials = Credentials.shared
            return switch self {
            case .missing: nil
            case .wrongKey: try credentials.token(signedBy: credentials.otherKey)
            case .unknownKey: try credentials.token(keyID: "NOSUCHKEY0")
            case .otherTeam: try credentials.token(teamID: Credentials.otherTeamID)
            case .expired: try credentials.token(age: 3700)
            case .tampered: try String(credentials.token().dropLast(4)) + "AAAA"
            case .garbage: "not.a.token"
            }
        }

        var reason: String {
            switch self {
            case .missing: "MissingProviderToken"
            case .expired: "ExpiredProviderToken"
            default: "InvalidProviderToken"
            }
        }
    }

    @Test("An invalid token is rejected, and a valid one is accepted after it", arguments: Case.allCases)
    func tokensThatAreNotRight(_ wrong: Case) async throws {
        try await withApple { apple in
            let client = try await apple.open()
            let refused = await client.outcome(of: Push(1, authorization: try wrong.authorization()))
            #expect(refused?.status == 403)
            #expect(refused?.reason == wrong.reason)
            // The stream limit is unchanged, and the connection remains usable.
            #expect(client.limits == [1])
            let taken = await client.outcome(of: Push(2, authorization: try Credentials.shared.token()))
            #expect(taken?.status == 200)
            let records = try apple.control.received()
            #expect(records.map(\.status) == [403, 200])
            #expect(records.map(\.reason) == [wrong.reason, nil])
            #expect(records.map(\.accepted) == [false, true])
        }
    }

    @Test("A token of another team is rejected on a connection that is bound to a team")
    func anotherTeamsTokenIsRightByItselfButNotOnThisConnection() async throws {
        try await withApple { apple in
            let other = try Credentials.shared.token(
                signedBy: Credentials.shared.otherKey, keyID: Credentials.otherKeyID, teamID: Credentials.otherTeamID)
            let client = try await apple.open()
            #expect(await client.outcome(of: Push(1, authorization: try Credentials.shared.token()))?.status == 200)
            let second = await client.outcome(of: Push(2, authorization: other))
            #expect(second?.reason == "InvalidProviderToken")
            let fresh = try await apple.open()
            #expect(await fresh.outcome(of: Push(3, authorization: other))?.status == 200)
        }
    }

    @Test("A wedged connection rejects all later tokens")
    func aWedgedConnectionStaysWedged() async throws {
        try await withApple(settings: Apple.settings { $0.tokens.wedgesAfterExpired = true }) { apple in
            let client = try await apple.open()
            let good = try Credentials.shared.token()
            let old = await client.outcome(of: Push(1, authorization: try Credentials.shared.token(age: 3700)))
            #expect(old?.reason == "ExpiredProviderToken")
            let wedged = await client.outcome(of: Push(2, authorization: good))
            #expect(wedged?.status == 403 && wedged?.reason == "ExpiredProviderToken")
            let fresh = try await apple.open()
            #expect(await fresh.outcome(of: Push(3, authorization: good))?.status == 200)
            #expect(try apple.control.received().map(\.accepted) == [false, false, true])
        }
    }

    @Test("A push certificate needs no token and has the full stream limit")
    func aPushCertificateNeedsNoTokenAndHasAllStreams() async throws {
        try await withApple { apple in
            let tls = try TLSContext.client(
                TLSClientConfiguration(
                    trust: TestCertificates.shared.trust, identity: Credentials.shared.push, alpn: ["h2"]))
            // The second connection resumes the TLS session of the first and keeps the certificate.
            for round in 1...2 {
                let client = try await apple.connect(tls: tls)
                await client.untilLimit(1000)
                let outcomes = await client.outcomes(of: (round * 1000)...(round * 1000 + 49))
                #expect(outcomes.values.allSatisfy { $0.status == 200 })
                let isResumed = await client.peer.with { $0.connection.session?.isResumed }
                #expect(isResumed == (round == 2))
                var elsewhere = Push(round)
                elsewhere.topic = "com.example.other"
                #expect(await client.outcome(of: elsewhere)?.reason == "TopicDisallowed")
                await client.close()
            }
            let counts = try apple.control.counts()
            #expect(counts.requests == 102 && counts.accepted == 100)
        }
    }

    @Test("A certificate that is not a push certificate grants no rights")
    func aCertificateThatIsNoPushCertificateBuysNothing() async throws {
        try await withApple { apple in
            let identity = try TestCertificates.shared.authority.issue(
                CertificateRequest(commonName: "Somebody", usage: .client)
            ).identity
            let client = try await apple.open(identity: identity)
            #expect(client.limits == [1])
            #expect(await client.outcome(of: Push(1))?.reason == "MissingProviderToken")
        }
    }

    @Test("A certificate of another authority is rejected in the handshake")
    func aCertificateOfAnotherAuthorityIsRefusedInTheHandshake() async throws {
        try await withApple { apple in
            let stranger = try CertificateAuthority.selfSigned(
                CertificateRequest(commonName: "Stranger", usage: .client, userID: Credentials.topic)
            ).identity
            let client = try await apple.connect(identity: stranger)
            guard case .channel(.tls(let error))? = await client.closure() else {
                Issue.record("expected a TLS error, got \(client.events.events)")
                return
            }
            #expect(error.code == .peerRefusedCertificate)
            await apple.untilNoneIsOpen()
            #expect(try apple.control.counts().requests == 0)
        }
    }
}
