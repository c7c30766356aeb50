import PushTransport
import TestSupport
import Testing

/// Arbitrary input from a peer.
@Suite struct TLSHostileTests {
    private let certificates = TestCertificates.shared

    private func established(_ version: TLSVersion = .tls13) throws -> TLSPair {
        var pair = try TLSPair(
            client: TLSClientConfiguration(
                trust: certificates.trust, identity: certificates.clientIdentity, alpn: ["h2"],
                maxVersion: version),
            server: TLSServerConfiguration(
                identity: certificates.serverIdentity, alpn: ["h2"],
                clientCertificates: .required(certificates.trust)))
        try pair.connect()
        return pair
    }

    @Test(
        "Plaintext on a TLS port is rejected",
        arguments: [
            "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "POST /3/device/00 HTTP/1.1\r\n",
            "CONNECT localhost:443 HTTP/1.1\r\n\r\n",
        ])
    func plainTextToATLSPort(_ text: String) throws {
        let server = try TLSPair().server
        let error = try #require(tlsError { try server.feed(Array(text.utf8)) })
        #expect(error.code == .notTLS)
        #expect(error.message.contains("does not speak TLS"))
        #expect(tlsError { try server.feed([22]) } == error)
    }

    @Test("A plain HTTP server is reported as not TLS") func aPlainHTTPServerAnswersOurHello() throws {
        let client = try TLSPair().client
        try client.start()
        let answer = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
        let error = try #require(tlsError { try client.feed(Array(answer.utf8)) })
        #expect(error.code == .notTLS)
        #expect(error.message == "server localhost does not speak TLS on this port, but plain HTTP")
        #expect(error.disposition == .terminal)
    }

    @Test("Random input instead of a handshake is an error", arguments: 0..<200)
    func garbageInsteadOfAHandshake(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let garbage = random.bytes(Int.random(in: 5...5_000, using: &random))
        let pair = try TLSPair()
        try pair.client.start()
        for engine in [pair.client, pair.server] {
            let error = tlsError {
                try engine.feed(garbage)
                try engine.receiveEnd()
            }
            #expect(error != nil)
            #expect(engine.state == .failed)
            #expect(engine.session == nil)
        }
    }

    @Test("A record that was changed on the way is rejected", arguments: [TLSVersion.tls12, .tls13])
    func aRecordThatWasTamperedWith(_ version: TLSVersion) throws {
        var pair = try established(version)
        try pair.client.write(Array("first".utf8))
        var wire = pair.client.takeOutput()
        try pair.client.write(Array("second".utf8))
        let second = pair.client.takeOutput()
        let firstLength = wire.count
        wire += second
        wire[firstLength + 9] ^= 1
        var received: [UInt8] = []
        let error = try #require(tlsError { try pair.server.feed(wire, into: &received) })
        #expect(error.code == .badRecord)
        #expect(error.disposition == .retryNewConnection)
        // The data before it is not lost, and the peer gets an alert.
        #expect(received == Array("first".utf8))
        let answer = try #require(tlsError { try pair.carryToClient() })
        #expect(answer.alert == 20)
        #expect(answer.disposition == .retryNewConnection)
    }

    @Test("Replayed and lost records are detected", arguments: [TLSVersion.tls12, .tls13])
    func aRecordThatIsReplayedOrLost(_ version: TLSVersion) throws {
        let replayed = try established(version)
        try replayed.client.write([1])
        let wire = replayed.client.takeOutput()
        var received: [UInt8] = []
        try replayed.server.feed(wire, into: &received)
        #expect(tlsError { try replayed.server.feed(wire, into: &received) }?.code == .badRecord)
        #expect(received == [1])

        let lost = try established(version)
        try lost.client.write([1])
        _ = lost.client.takeOutput()
        try lost.client.write([2])
        #expect(tlsError { try lost.server.feed(lost.client.takeOutput()) }?.code == .badRecord)
    }

    @Test("A record with a huge length is rejected") func aRecordThatClaimsToBeHuge() throws {
        let pair = try established()
        let error = tlsError { try pair.server.feed([23, 3, 3, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 70_000)) }
        #expect(error?.code == .protocolViolation)
    }

    @Test("Plaintext after the handshake is not taken for data") func plainTextAfterTheHandshakeIsNotData() throws {
        let pair = try established()
        var received: [UInt8] = []
        #expect(throws: TLSError.self) {
            try pair.server.feed(Array("GET / HTTP/1.1\r\n\r\n".utf8), into: &received)
        }
        #expect(received.isEmpty)
    }

    /// Handshakes with bytes changed, dropped, doubled or truncated: each of them ends, and a success means that the
    /// peer is the right one.
    @Test("Mutated handshakes end", arguments: [TLSVersion.tls12, .tls13])
    func mutatedHandshakes(_ version: TLSVersion) throws {
        let client = try TLSContext.client(
            TLSClientConfiguration(
                trust: certificates.trust, identity: certificates.clientIdentity, alpn: ["h2"],
                maxVersion: version))
        let server = try TLSContext.server(
            TLSServerConfiguration(
                identity: certificates.serverIdentity, alpn: ["h2"],
                clientCertificates: .required(certificates.trust)))
        var random = SeededRandom(seed: version == .tls12 ? 12 : 13)
        var failures = 0
        for _ in 0..<400 {
            let clientEngine = try TLSEngine(
                context: client, role: .client(serverName: "localhost", resumptionKey: "\(random.next() % 50)"))
            let serverEngine = try TLSEngine(context: server, role: .server)
            let mutatedFlight = Int.random(in: 0..<4, using: &random)
            var flight = 0
            var error: TLSError?
            try clientEngine.start()
            while error == nil, flight < 20, !(clientEngine.output.isEmpty && serverEngine.output.isEmpty) {
                for (source, target) in [(clientEngine, serverEngine), (serverEngine, clientEngine)] {
                    var bytes = source.takeOutput()
                    if flight == mutatedFlight { Self.mutate(&bytes, &random) }
                    flight += 1
                    error = error ?? tlsError { try target.feed(bytes) }
                }
            }
            if clientEngine.state == .established, error == nil {
                #expect(clientEngine.session?.peerCertificate?.commonName == "localhost")
            } else {
                failures += 1
            }
        }
        // The mutations are relevant: most handshakes do not survive them.
        #expect(failures > 200)
    }

    @Test("Mutated records are rejected as a whole", arguments: [TLSVersion.tls12, .tls13])
    func mutatedRecords(_ version: TLSVersion) throws {
        var random = SeededRandom(seed: version == .tls12 ? 112 : 113)
        for _ in 0..<200 {
            var pair = try established(version)
            let sent = random.bytes(Int.random(in: 1...3_000, using: &random))
            try pair.client.write(sent)
            var wire = pair.client.takeOutput()
            let original = wire
            Self.mutate(&wire, &random)
            let error = tlsError {
                try pair.server.feed(wire, into: &pair.serverReceived)
                try pair.server.receiveEnd()
            }
            #expect(error != nil)
            // Records are authenticated: either all of the data arrives or none of it.
            #expect(pair.serverReceived.isEmpty || pair.serverReceived == sent)
            if wire.count <= original.count, wire != original { #expect(pair.serverReceived.isEmpty) }
        }
    }

    private static func mutate(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
        guard !bytes.isEmpty else { return }
        let position = Int.random(in: bytes.indices, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: bytes[position] = UInt8(truncatingIfNeeded: random.next())
        case 2: bytes.remove(at: position)
        case 3: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: position)
        case 4: bytes.removeLast(bytes.count - position)
        default:
            let end = min(bytes.count, position + Int.random(in: 1...64, using: &random))
            bytes.replaceSubrange(position..<end, with: random.bytes(end - position))
        }
    }
}
