import PushTransport
import TestSupport
import Testing

/// Versions, ciphers and protocols, which both sides must have in common.
@Suite struct TLSAgreementTests {
    private let certificates = TestCertificates.shared

    private func pair(
        clientALPN: [String] = [], serverALPN: [String] = [],
        client: (inout TLSClientConfiguration) -> Void = { _ in },
        server: (inout TLSServerConfiguration) -> Void = { _ in }
    ) throws -> TLSPair {
        var clientConfiguration = TLSClientConfiguration(trust: certificates.trust, alpn: clientALPN)
        client(&clientConfiguration)
        var serverConfiguration = TLSServerConfiguration(identity: certificates.serverIdentity, alpn: serverALPN)
        server(&serverConfiguration)
        return try TLSPair(client: clientConfiguration, server: serverConfiguration)
    }

    // MARK: ALPN

    @Test(
        "The server selects a protocol in its own order",
        arguments: [
            (["h2"], ["h2"], "h2"), (["http/1.1", "h2"], ["h2", "http/1.1"], "h2"),
            (["x", "http/1.1"], ["h2", "http/1.1"], "http/1.1"),
        ])
    func theServerPicksByItsOwnOrder(_ offered: [String], _ spoken: [String], _ chosen: String) throws {
        var pair = try pair(clientALPN: offered, serverALPN: spoken)
        try pair.connect()
        #expect(pair.client.session?.alpn == chosen)
        #expect(pair.server.session?.alpn == chosen)
    }

    @Test("No common protocol is an error on both sides", arguments: [TLSVersion.tls12, .tls13])
    func noCommonProtocolIsAnErrorOnBothSides(_ version: TLSVersion) throws {
        var pair = try pair(clientALPN: ["h2"], serverALPN: ["http/1.1"]) { $0.maxVersion = version }
        let errors = try pair.connectExpectingFailure()
        #expect(errors.server?.code == .noCommonProtocol)
        #expect(errors.server?.alert == nil)
        #expect(errors.client?.code == .noCommonProtocol)
        #expect(errors.client?.alert == 120)
    }

    @Test("A client rejects a server that ignores its ALPN offer", arguments: [TLSVersion.tls12, .tls13])
    func aServerThatIgnoresTheOfferIsNotSpokenTo(_ version: TLSVersion) throws {
        var pair = try pair(clientALPN: ["h2"]) { $0.maxVersion = version }
        let errors = try pair.connectExpectingFailure()
        #expect(errors.client?.code == .noCommonProtocol)
        #expect(errors.client?.message.contains("was offered h2 by ALPN and chose none") == true)
        #expect(errors.client?.disposition == .terminal)
        // The server gets a proper close, not a lost connection.
        #expect(errors.server == nil)
        #expect(pair.server.state == .inputEnded)
    }

    @Test("A client without an ALPN offer is accepted") func aClientWithoutAnOfferIsServed() throws {
        var pair = try pair(serverALPN: ["h2"])
        try pair.connect()
        #expect(pair.server.session?.alpn == nil)
        #expect(pair.client.state == .established)
    }

    @Test("Protocol names have a maximum length") func protocolNamesHaveBounds() throws {
        for alpn in [[""], [String(repeating: "x", count: 256)]] {
            let error = tlsError {
                _ = try TLSContext.client(TLSClientConfiguration(trust: certificates.trust, alpn: alpn))
            }
            #expect(error?.code == .invalidConfiguration)
        }
    }

    // MARK: Versions and ciphers

    @Test("Versions without overlap are rejected") func versionsThatDoNotMeet() throws {
        var old = try pair(client: { $0.maxVersion = .tls12 }, server: { $0.minVersion = .tls13 })
        let errors = try old.connectExpectingFailure()
        #expect(errors.server?.code == .noCommonVersion)
        #expect(errors.client?.code == .noCommonVersion)
        #expect(errors.client?.alert == 70)

        var new = try pair(client: { $0.minVersion = .tls13 }, server: { $0.maxVersion = .tls12 })
        #expect(try new.connectExpectingFailure().server?.code == .noCommonVersion)
    }

    @Test("A TLS 1.1 client is rejected") func aClientOfTLS11IsRefused() throws {
        let server = try pair().server
        let error = try #require(tlsError { try server.feed(TLSRecords.clientHello11) })
        #expect(error.code == .noCommonVersion)
        // A fatal alert: protocol_version.
        #expect(Array(server.takeOutput().suffix(2)) == [2, 70])
    }

    @Test("A TLS 1.1 server is rejected") func aServerOfTLS11IsRefused() throws {
        let client = try pair().client
        try client.start()
        _ = client.takeOutput()
        let error = try #require(tlsError { try client.feed(TLSRecords.serverHello11) })
        #expect(error.code == .noCommonVersion)
        #expect(error.disposition == .terminal)
        #expect(Array(client.takeOutput().suffix(2)) == [2, 70])
    }

    @Test("Ciphers without overlap are rejected") func ciphersThatDoNotMeet() throws {
        var pair = try pair(
            client: {
                $0.maxVersion = .tls12
                $0.cipherSuites.tls12 = "ECDHE-ECDSA-AES128-GCM-SHA256"
            }, server: { $0.cipherSuites.tls12 = "ECDHE-ECDSA-AES256-GCM-SHA384" })
        let errors = try pair.connectExpectingFailure()
        #expect(errors.server?.code == .noCommonCipher)
        #expect(errors.client?.code == .noCommonCipher)
    }

    @Test("A configured cipher is used") func aChosenCipherIsUsed() throws {
        var pair = try pair(client: { $0.cipherSuites.tls13 = "TLS_CHACHA20_POLY1305_SHA256" })
        try pair.connect()
        #expect(pair.server.session?.cipher == "TLS_CHACHA20_POLY1305_SHA256")
    }

    @Test("Invalid settings are rejected") func settingsThatCannotWork() throws {
        var unknown = TLSClientConfiguration(trust: certificates.trust)
        unknown.cipherSuites.tls12 = "NO-SUCH-CIPHER"
        #expect(tlsError { _ = try TLSContext.client(unknown) }?.message.contains("NO-SUCH-CIPHER") == true)
        var reversed = TLSClientConfiguration(trust: certificates.trust)
        (reversed.minVersion, reversed.maxVersion) = (.tls13, .tls12)
        #expect(tlsError { _ = try TLSContext.client(reversed) }?.code == .invalidConfiguration)
        let nobody = TLSClientConfiguration(trust: .only([]))
        #expect(tlsError { _ = try TLSContext.client(nobody) }?.code == .invalidConfiguration)
        let absent = TLSClientConfiguration(trust: .only([.file("/nonexistent/roots.pem")]))
        let error = try #require(tlsError { _ = try TLSContext.client(absent) })
        #expect(error.code == .unreadableFile)
        #expect(error.message.contains("/nonexistent/roots.pem"))
        let garbage = TLSClientConfiguration(trust: .systemAnd([.text("not PEM at all")]))
        #expect(tlsError { _ = try TLSContext.client(garbage) }?.code == .malformedPEM)
    }
}

/// Handshake messages of versions that OpenSSL no longer generates.
enum TLSRecords {
    /// TLS 1.1 with one cipher (ECDHE-ECDSA-AES128-SHA) and no extensions.
    static let clientHello11 = handshake(
        type: 1, [3, 2] + [UInt8](repeating: 0x11, count: 32) + [0] + [0, 2, 0xC0, 0x09] + [1, 0])
    static let serverHello11 = handshake(
        type: 2, [3, 2] + [UInt8](repeating: 0x22, count: 32) + [0] + [0xC0, 0x09] + [0])

    private static func handshake(type: UInt8, _ body: [UInt8]) -> [UInt8] {
        let message = [type, 0, UInt8(body.count >> 8), UInt8(body.count & 255)] + body
        return [22, 3, 2, UInt8(message.count >> 8), UInt8(message.count & 255)] + message
    }
}
