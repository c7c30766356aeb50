import PushTransport

/// A connection whose TLS handshake is rejected: the first bytes of the client are answered with a fatal alert.
final class TLSRefusal: ChannelSession {
    init(_ socket: consuming Socket, of service: SimulatorService) {
        super.init(socket, tls: nil, of: service)
    }

    // Without TLS the channel is open from the start, before the client has sent anything.
    override func channelOpened(_ channel: Channel) {}

    override func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        handshakeEnded()
        // The record: alert, TLS 1.2, two bytes: fatal, handshake_failure.
        channel.write([0x15, 3, 3, 0, 2, 2, 40])
        channel.close()
    }
}
