import PushTransport
import TestSupport
import Testing

@Suite struct TLSResumptionTests {
    private let certificates = TestCertificates.shared

    private func contexts(_ version: TLSVersion) throws -> (client: TLSContext, server: TLSContext) {
        let client = TLSClientConfiguration(
            trust: certificates.trust, identity: certificates.clientIdentity, alpn: ["h2"], maxVersion: version)
        let server = TLSServerConfiguration(
            identity: certificates.serverIdentity, alpn: ["h2"], clientCertificates: .required(certificates.trust))
        return (try .client(client), try .server(server))
    }

    private func connect(
        _ client: TLSContext, _ server: TLSContext, name: String = "localhost"
    ) throws -> (client: TLSSessionInfo, server: TLSSessionInfo) {
        var pair = try TLSPair(client: client, server: server, serverName: name)
        try pair.connect()
        try pair.client.write([1])
        try pair.run()
        #expect(pair.serverReceived == [1])
        return (try #require(pair.client.session), try #require(pair.server.session))
    }

    @Test("The second connection resumes the session of the first", arguments: [TLSVersion.tls12, .tls13])
    func theSecondConnectionResumesTheFirst(_ version: TLSVersion) throws {
        let (client, server) = try contexts(version)
        let first = try connect(client, server)
        #expect(!first.client.isResumed)
        for _ in 0..<10 {
            let next = try connect(client, server)
            #expect(next.client.isResumed)
            #expect(next.server.isResumed)
            #expect(next.client.alpn == "h2")
            // The certificates of both sides are part of the session.
            #expect(next.client.peerCertificate?.commonName == "localhost")
            #expect(next.server.peerCertificate?.commonName == "Test Client")
        }
    }

    @Test("Sessions belong to one name and one context", arguments: [TLSVersion.tls12, .tls13])
    func sessionsBelongToOneNameAndOneContext(_ version: TLSVersion) throws {
        let (client, server) = try contexts(version)
        _ = try connect(client, server)
        #expect(try !connect(client, server, name: "127.0.0.1").client.isResumed)
        #expect(try connect(client, server, name: "127.0.0.1").client.isResumed)
        #expect(try !connect(contexts(version).client, server).client.isResumed)
        // A resumption key separates connections with the same name.
        let engine = try TLSEngine(context: client, role: .client(serverName: "localhost", resumptionKey: "2197"))
        let other = try TLSEngine(context: server, role: .server)
        try engine.start()
        while engine.state == .handshaking {
            try other.feed(engine.takeOutput())
            try engine.feed(other.takeOutput())
        }
        #expect(engine.session?.isResumed == false)
    }

    @Test("A server that forgot the session gets a full handshake", arguments: [TLSVersion.tls12, .tls13])
    func aServerThatForgotIsConnectedToAnew(_ version: TLSVersion) throws {
        let (client, server) = try contexts(version)
        _ = try connect(client, server)
        // A restarted server has new ticket keys.
        let restarted = try contexts(version).server
        #expect(try !connect(client, restarted).client.isResumed)
        #expect(try connect(client, restarted).client.isResumed)
    }

    @Test("Tickets that arrive together with data are kept") func ticketsThatComeTogetherWithDataAreKept() throws {
        let (client, server) = try contexts(.tls13)
        var pair = try TLSPair(client: client, server: server)
        try pair.client.start()
        try pair.carryToServer()
        try pair.carryToClient()
        try pair.carryToServer()
        let ticketsWait = pair.server.output.count > 0
        #expect(ticketsWait)
        try pair.server.write([1])
        try pair.carryToClient()
        #expect(pair.clientReceived == [1])
        #expect(try connect(client, server).client.isResumed)
    }

    @Test("A session is not used for another name") func aSessionDoesNotCarryOverToAnotherName() throws {
        let (client, server) = try contexts(.tls13)
        _ = try connect(client, server)
        var pair = try TLSPair(client: client, server: server, serverName: "other.example")
        #expect(try pair.connectExpectingFailure().client?.code == .hostNameMismatch)
    }

    @Test("One ticket serves one connection") func oneTicketServesOneConnection() throws {
        let (client, server) = try contexts(.tls13)
        _ = try connect(client, server)
        // The server sends two tickets. Three connections that start before any of them ends share them.
        var pairs = try (0..<3).map { _ in try TLSPair(client: client, server: server) }
        for index in pairs.indices { try pairs[index].connect() }
        #expect(pairs.map { $0.client.session?.isResumed } == [true, true, false])
    }

    @Test("A connection that ends badly does not invalidate the session", arguments: [TLSVersion.tls12, .tls13])
    func aConnectionThatEndsBadlyDoesNotSpoilTheSession(_ version: TLSVersion) throws {
        let (client, server) = try contexts(version)
        _ = try connect(client, server)
        do {
            var pair = try TLSPair(client: client, server: server)
            try pair.connect()
            #expect(pair.client.session?.isResumed == true)
            #expect(throws: TLSError.self) { try pair.client.receiveEnd() }
        }
        #expect(try connect(client, server).client.isResumed)
    }
}
