import PushTransport
import TestSupport
import Testing

@Suite struct TLSTransferTests {
    @Test func aHandshakeAndBytesBothWays() throws {
        var pair = try TLSPair()
        try pair.connect()
        #expect(pair.client.state == .established)
        #expect(pair.server.state == .established)
        try pair.client.write(Array("ding".utf8))
        try pair.server.write(Array("dong".utf8))
        try pair.run()
        #expect(pair.serverReceived == Array("ding".utf8))
        #expect(pair.clientReceived == Array("dong".utf8))
        #expect(pair.client.session?.protocolVersion == "TLSv1.3")
        #expect(pair.client.session?.peerCertificate?.commonName == "localhost")
    }
}
