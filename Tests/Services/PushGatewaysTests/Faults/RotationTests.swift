import APNs
import PushGateways
import PushLoop
import PushModel
import PushTransport
import TestSupport
import TestTraits
import Testing

/// Changes of credentials and of the number of connections under full load: no delivery is lost or duplicated.
@Suite(.serialized, .waits) struct RotationTests {
    enum Kind: CaseIterable {
        case certificate, key
    }

    private static let count = 20_000
    /// The numbers of ended deliveries after which the credential changes.
    private static let rotations = [5000, 9000, 14_000]
    private static let scales = [2000: 3...4, 7000: 1...1, 10_000: 4...6, 12_000: 2...3, 17_000: 1...2]

    @Test(arguments: Kind.allCases) func `A rotation under load loses and duplicates no delivery`(_ kind: Kind)
        async throws
    {
        let deliveries = ConnectionOwner.deliveries(0..<Self.count)
        try await withSimulatedApple { settings in
            settings.tokens.minRenewalInterval = 0
        } _: { apple in
            // The first credential, and one for each rotation.
            let credentials = try (1...4).map { try Self.credential(kind, $0, apple) }
            let book = try await GatewayOwner.send(
                deliveries, to: apple, connections: 1...3,
                connection: { $0 = credentials[0].settings }, tokens: .some(credentials[0].tokens)
            ) { ended, gateway in
                if let number = Self.rotations.firstIndex(of: ended) {
                    let next = credentials[number + 1]
                    gateway.credentialChanged(
                        connect: { GatewayConnection($0, settings: next.settings) }, tokens: next.tokens)
                }
                if let range = Self.scales[ended] {
                    gateway.scale(minimum: range.lowerBound, maximum: range.upperBound)
                }
            }
            let accounts = try await Accounts(apple)
            #expect(accounts.faults(book, deliveries).isEmpty)
            #expect(book.accepted == Self.count)
            // No outcome is unknown, because an old connection waits for its answers.
            #expect(book.unknown.allSatisfy { $0 == 0 } && book.retries == 0)
            #expect(accounts.doubled == 0)
            #expect(try await apple.count("accepted") == Self.count)
            #expect(try await apple.count("duplicates") == 0)
            #expect(book.events.count { $0 == .credentialRotated } == Self.rotations.count)
            let ups = book.events.count { if case .up = $0 { true } else { false } }
            // Each credential had its own connections.
            #expect(ups > Self.rotations.count)
            #expect(!book.events.contains { if case .credentialFailed = $0 { true } else { false } })
        }
    }

    private static func credential(
        _ kind: Kind, _ number: Int, _ apple: SimulatedApple
    ) throws -> (settings: GatewayConnection.Settings, tokens: TokenSource?) {
        var configuration = TLSClientConfiguration(trust: TestCertificates.shared.trust, alpn: ["h2"])
        var tokens: TokenSource?
        switch kind {
        case .certificate:
            configuration.identity = try TestCertificates.shared.authority.issue(
                CertificateRequest(
                    commonName: "Push \(number)", usage: .client, userID: SimulatedApple.topic)
            ).identity
        case .key:
            tokens = try TestTokens(apple, generation: UInt64(min(number, 3))).source
        }
        let tls = try TLSContext.client(configuration)
        return (
            GatewayConnection.Settings(
                tls: tls, resolver: apple.resolver, wallClock: WallTime.current,
                writer: { [authority = apple.provider.description] in
                    APNsWriter(authority: authority, topic: SimulatedApple.topic, token: $0)
                }),
            tokens
        )
    }
}
