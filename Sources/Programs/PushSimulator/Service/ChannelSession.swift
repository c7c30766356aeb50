import PushLoop
import PushTransport

/// The base class of connections without HTTP/2: a channel, a handshake timeout, and the closing of the connection.
class ChannelSession: SimulatorSession, ChannelHandler {
    private static let handshakeTimeout: Duration = .seconds(10)

    private unowned let service: SimulatorService
    private let channel: Channel
    private var handshakeTimeoutr: TimerID?
    /// Whether `abort` was called. The channel may still report its closing, and the service may no longer exist then.
    private var isAborted = false

    init(_ socket: consuming Socket, tls: TLSEngine?, of service: SimulatorService) {
        self.service = service
        channel = Channel(socket, on: service.loop, tls: tls, handler: nil)
        channel.handler = self
        handshakeTimeoutr = service.loop.schedule(after: Self.handshakeTimeout) { [unowned self] in
            handshakeTimeoutr = nil
            channel.fail(.timedOut("no TLS handshake within \(Self.handshakeTimeout)"))
        }
        channel.start()
    }

    var backlog: Int { channel.outputBacklog }

    func abort() {
        isAborted = true
        channel.abort()
        endTimers()
    }

    /// Called when the handshake is complete, or when the client has sent its first bytes to a port that rejects TLS.
    func handshakeEnded() {
        if let handshakeTimeoutr = handshakeTimeoutr.take() { service.loop.cancel(handshakeTimeoutr) }
    }

    func endTimers() { handshakeEnded() }

    func channelOpened(_ channel: Channel) { handshakeEnded() }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {}

    func channelWantsOutput(_ channel: Channel) {}

    func channel(_ channel: Channel, closed reason: ChannelClosure) {
        if isAborted { return }
        endTimers()
        service.ended(self)
    }
}
