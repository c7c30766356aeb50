import PushLoop
import PushTransport

/// The base class of connections without HTTP/2: a channel, a handshake timeout, and the closing of the connection.
class ChannelSession: SimulatorSession, ChannelHandler {
    private static let handshakeTime: Duration = .seconds(10)

    private unowned let service: SimulatorService
    private let channel: Channel
    private var handshakeTimer: TimerID?
    /// Whether `abort` was called. The channel may still report its closing, and the service may no longer exist then.
    private var isAborted = false

    init(_ socket: consuming Socket, tls: TLSEngine?, of service: SimulatorService) {
        self.service = service
        channel = Channel(socket, on: service.loop, tls: tls, handler: nil)
        channel.handler = self
        handshakeTimer = service.loop.schedule(after: Self.handshakeTime) { [unowned self] in
            handshakeTimer = nil
            channel.fail(.timedOut("no TLS handshake within \(Self.handshakeTime)"))
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
    func gotThrough() {
        if let handshakeTimer = handshakeTimer.take() { service.loop.cancel(handshakeTimer) }
    }

    func endTimers() { gotThrough() }

    func channelOpened(_ channel: Channel) { gotThrough() }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {}

    func channelWantsOutput(_ channel: Channel) {}

    func channel(_ channel: Channel, closed reason: ChannelClosure) {
        if isAborted { return }
        endTimers()
        service.ended(self)
    }
}

/// One connection to the legacy gateway. It receives frames and sends nothing but the error packet that ends it.
final class BinarySession: ChannelSession {
    private unowned let service: SimulatorService
    private let arrival: SimulatorMachine.Arrival
    private var state: BinaryConnection?
    /// The timer of an error packet that a fault delays.
    private var timer: TimerID?

    init(
        _ socket: consuming Socket, tls: TLSEngine, _ arrival: SimulatorMachine.Arrival, of service: SimulatorService
    ) {
        self.service = service
        self.arrival = arrival
        super.init(socket, tls: tls, of: service)
    }

    override func endTimers() {
        super.endTimers()
        if let timer = timer.take() { service.loop.cancel(timer) }
    }

    override func channelOpened(_ channel: Channel) {
        super.channelOpened(channel)
        if arrival.closes {
            // Without a state no frame is processed, including frames that arrived together with the handshake.
            channel.close()
            return
        }
        state = service.machine.openBinary(
            arrival, environment: service.options.environment,
            certificate: CertificateIdentity(channel.session?.peerCertificate))
    }

    override func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        guard var state = state.take() else { return }
        let reaction = unsafe service.machine.receiveBinary(ByteView(borrowing: bytes), on: &state, now: service.now)
        self.state = consume state
        perform(reaction, channel)
    }

    private func perform(_ reaction: BinaryReaction, _ channel: Channel) {
        guard !reaction.packet.isEmpty || reaction.closes else { return }
        guard reaction.delay > 0 else {
            finish(reaction, channel)
            return
        }
        // There is no other reaction after this one, because all later bytes are discarded.
        timer = service.loop.schedule(after: .nanoseconds(reaction.delay)) { [unowned self, unowned channel] in
            timer = nil
            finish(reaction, channel)
        }
    }

    private func finish(_ reaction: BinaryReaction, _ channel: Channel) {
        channel.write(reaction.packet)
        if reaction.closes { channel.close() }
    }
}

/// One connection to the feedback service. It sends the list and closes.
final class FeedbackSession: ChannelSession {
    private unowned let service: SimulatorService
    private let arrival: SimulatorMachine.Arrival

    init(
        _ socket: consuming Socket, tls: TLSEngine, _ arrival: SimulatorMachine.Arrival, of service: SimulatorService
    ) {
        self.service = service
        self.arrival = arrival
        super.init(socket, tls: tls, of: service)
    }

    // Clients of the feedback service have nothing to send; received bytes are ignored.
    override func channelOpened(_ channel: Channel) {
        super.channelOpened(channel)
        channel.write(service.machine.takeFeedback(arrival))
        if !arrival.isSilent { channel.close() }
    }
}

/// A connection whose TLS handshake is rejected: the first bytes of the client are answered with a fatal alert.
final class TLSRefusal: ChannelSession {
    init(_ socket: consuming Socket, of service: SimulatorService) {
        super.init(socket, tls: nil, of: service)
    }

    // Without TLS the channel is open from the start, before the client has sent anything.
    override func channelOpened(_ channel: Channel) {}

    override func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        gotThrough()
        // The record: alert, TLS 1.2, two bytes: fatal, handshake_failure.
        channel.write([0x15, 3, 3, 0, 2, 2, 40])
        channel.close()
    }
}
