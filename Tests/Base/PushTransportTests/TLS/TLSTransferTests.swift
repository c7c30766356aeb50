import PushTransport
import TestSupport
import Testing

@Suite struct TLSTransferTests {
    private static func pair(_ version: TLSVersion) throws -> TLSPair {
        let certificates = TestCertificates.shared
        return try TLSPair(
            client: TLSClientConfiguration(trust: certificates.trust, minVersion: .tls12, maxVersion: version),
            server: TLSServerConfiguration(identity: certificates.serverIdentity))
    }

    @Test(
        "Both versions complete the handshake and transfer bytes",
        arguments: [(TLSVersion.tls12, "TLSv1.2"), (.tls13, "TLSv1.3")])
    func bothVersionsShakeHandsAndCarryBytes(_ version: TLSVersion, _ name: String) throws {
        var pair = try Self.pair(version)
        #expect(pair.client.state == .handshaking)
        try pair.connect()
        #expect(pair.client.state == .established)
        #expect(pair.server.state == .established)
        try pair.client.write(Array("ding".utf8))
        try pair.server.write(Array("dong".utf8))
        try pair.run()
        #expect(pair.serverReceived == Array("ding".utf8))
        #expect(pair.clientReceived == Array("dong".utf8))
        let seen = try #require(pair.client.session)
        #expect(seen.protocolVersion == name)
        #expect(seen.cipher.contains("AES_128_GCM") || seen.cipher.contains("AES128-GCM"))
        #expect(seen.alpn == nil)
        #expect(!seen.isResumed)
        #expect(seen.peerCertificate?.commonName == "localhost")
        #expect(seen.peerCertificate?.dnsNames == ["localhost"])
        #expect(seen.peerCertificate?.ipAddresses == ["127.0.0.1", "::1"])
        #expect(pair.server.session?.protocolVersion == name)
        #expect(pair.server.session?.peerCertificate == nil)
    }

    @Test(
        "Bytes may arrive in pieces of any size", arguments: [1, 2, 3, 4, 5, 6, 7, 13, 64, 1021],
        [TLSVersion.tls12, .tls13])
    func bytesMayArriveInPiecesOfAnySize(_ size: Int, _ version: TLSVersion) throws {
        var pair = try Self.pair(version)
        pair.pieceSize = { size }
        try pair.connect()
        var random = SeededRandom(seed: UInt64(size))
        let sent = random.bytes(20_000)
        try pair.client.write(sent)
        try pair.server.write(Array(sent.reversed()))
        try pair.run()
        #expect(pair.serverReceived == sent)
        #expect(pair.clientReceived == sent.reversed())
    }

    @Test("Much data is transferred in both directions in random pieces", arguments: 1...8)
    func muchDataGoesBothWaysAtOnceInRandomPieces(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var pair = try Self.pair(seed.isMultiple(of: 2) ? .tls12 : .tls13)
        var sizes = SeededRandom(seed: seed &+ 1000)
        // The pieces range from single bytes to more than OpenSSL's read buffer.
        pair.pieceSize = { Int.random(in: 1...(1 << Int.random(in: 1...18, using: &sizes)), using: &sizes) }
        try pair.connect()
        var toServer: [UInt8] = []
        var toClient: [UInt8] = []
        for _ in 0..<12 {
            let one = random.bytes(Int.random(in: 0...150_000, using: &random))
            let other = random.bytes(Int.random(in: 0...150_000, using: &random))
            try pair.client.write(one)
            try pair.server.write(other)
            toServer += one
            toClient += other
            try pair.run()
        }
        #expect(pair.serverReceived == toServer)
        #expect(pair.clientReceived == toClient)
    }

    @Test("Records are full, and pieces are at most one record")
    func recordsAreFullAndPiecesNotLargerThanARecord() throws {
        var pair = try Self.pair(.tls13)
        try pair.connect()
        try pair.client.write([UInt8](repeating: 7, count: 100_000))
        let wire = pair.client.takeOutput()
        // Seven records of at most 16 KiB, with 22 bytes of overhead each.
        #expect(wire.count == 100_000 + 7 * 22)
        var sizes: [Int] = []
        try wire.withUnsafeBytes { wire in
            try pair.server.receive(wire) { sizes.append($0.count) }
        }
        #expect(sizes == [Int](repeating: 16_384, count: 6) + [100_000 - 6 * 16_384])
    }

    @Test("Data written while receiving is sent") func whatIsWrittenWhileReceivingGoesOut() throws {
        var pair = try Self.pair(.tls13)
        try pair.connect()
        try pair.client.write([UInt8](repeating: 1, count: 50_000))
        let wire = pair.client.takeOutput()
        var echoed = 0
        let server = pair.server
        try wire.withUnsafeBytes { wire in
            try server.receive(wire) { piece in
                #expect(throws: Never.self) { try server.write(piece) }
                echoed += piece.count
            }
        }
        #expect(echoed == 50_000)
        try pair.run()
        #expect(pair.clientReceived == [UInt8](repeating: 1, count: 50_000))
    }

    @Test("Closing while receiving ends the input") func closingWhileReceivingEndsIt() throws {
        var pair = try Self.pair(.tls13)
        try pair.connect()
        try pair.client.write([UInt8](repeating: 1, count: 50_000))
        let wire = pair.client.takeOutput()
        var pieces = 0
        let server = pair.server
        try wire.withUnsafeBytes { wire in
            try server.receive(wire) { _ in
                pieces += 1
                server.close()
            }
        }
        #expect(pieces == 1)
        try pair.carryToClient()
        #expect(pair.client.state == .inputEnded)
    }

    @Test("close_notify is sent and answered", arguments: [TLSVersion.tls12, .tls13])
    func goodbyeIsSaidAndAnswered(_ version: TLSVersion) throws {
        var pair = try Self.pair(version)
        try pair.connect()
        try pair.client.write(Array("last words".utf8))
        pair.client.close()
        let afterClose = pair.client.output.count
        pair.client.close()
        #expect(pair.client.output.count == afterClose, "a second close sends no second close_notify")
        #expect(pair.client.state == .closed)
        try pair.run()
        #expect(pair.serverReceived == Array("last words".utf8))
        // The other side ends alone: it may still send.
        #expect(pair.server.state == .inputEnded)
        try pair.server.write(Array("the answer".utf8))
        pair.server.close()
        #expect(pair.server.state == .closed)
        // The end of the socket is expected now.
        try pair.server.receiveEnd()
        try pair.client.receiveEnd()
        #expect(tlsError { try pair.client.write([1]) }?.code == .closed)
        #expect(tlsError { try pair.server.write([1]) }?.code == .closed)
        // Further input is dropped.
        try pair.client.feed([1, 2, 3])
    }

    @Test("An end without close_notify is an error") func anEndWithoutGoodbyeIsAnError() throws {
        var pair = try Self.pair(.tls13)
        try pair.connect()
        try pair.client.write(Array("half a mess".utf8))
        var wire = pair.client.takeOutput()
        wire.removeLast(3)
        try pair.server.feed(wire)
        let error = try #require(tlsError { try pair.server.receiveEnd() })
        #expect(error.code == .truncated)
        #expect(error.disposition == .retryNewConnection)
        #expect(pair.server.state == .failed)
        // The error is permanent.
        #expect(tlsError { try pair.server.receiveEnd() } == error)
        #expect(tlsError { try pair.server.write([1]) } == error)
        #expect(tlsError { try pair.server.feed([1]) } == error)
    }

    @Test("An end during the handshake is an error") func anEndDuringTheHandshakeIsAnError() throws {
        let pair = try Self.pair(.tls13)
        try pair.client.start()
        #expect(tlsError { try pair.client.write([1]) }?.code == .notEstablished)
        #expect(pair.client.state == .handshaking, "writing too early has no effect")
        let error = try #require(tlsError { try pair.client.receiveEnd() })
        #expect(error.code == .truncated)
        #expect(error.message.contains("during the TLS handshake"))
        #expect(error.message.contains("localhost"))
    }

    @Test("Keys can change during the connection") func keysChangeOnTheWay() throws {
        var pair = try Self.pair(.tls13)
        try pair.connect()
        for round in 0..<5 {
            let before = pair.client.output.count
            pair.client.updateKeys(askingPeer: round.isMultiple(of: 2))
            #expect(pair.client.output.count > before)
            try pair.client.write([UInt8(round)])
            try pair.server.write([UInt8(round)])
            try pair.run()
        }
        #expect(pair.serverReceived == [0, 1, 2, 3, 4])
        #expect(pair.clientReceived == [0, 1, 2, 3, 4])
    }

    @Test("A peer that provokes output and does not read it is stopped")
    func aPeerThatAsksAndNeverReadsIsStopped() throws {
        var pair = try Self.pair(.tls13)
        try pair.connect()
        var error: TLSError?
        var rounds = 0
        while error == nil, rounds < 10_000 {
            rounds += 1
            pair.client.updateKeys(askingPeer: true)
            error = tlsError { try pair.carryToServer() }
        }
        #expect(error?.code == .protocolViolation)
        #expect(pair.server.output.count < 128 * 1024)
    }
}
