import PushLoop
import PushTransport

/// What the connections without HTTP/2 have in common: a channel, a time to shake hands in, and an end.
class ChannelSession: SimulatorSession, ChannelHandler {
    private static let handshakeTime: Duration = .seconds(10)

    private unowned let service: SimulatorService
    private let channel: Channel
    private var handshakeTimer: TimerID?
    /// The service may be gone, and the channel may yet report its end.
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

    /// The client has shaken hands, or whatever stands for it.
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

/// One connection to the legacy gateway: frames come in, and nothing goes out but the error packet that ends it.
final class BinarySession: ChannelSession {
    private unowned let service: SimulatorService
    private let arrival: SimulatorMachine.Arrival
    private var state: BinaryConnection?
    /// For an error packet that a fault delays.
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
            // Without a state no frame is looked at: what came along with the handshake is not taken.
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
        // After this reaction there is no other: whatever follows is discarded.
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

/// One connection to the feedback service: the list goes out, and then it is over.
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

    // Clients of the feedback service send nothing; what they send all the same is not looked at.
    override func channelOpened(_ channel: Channel) {
        super.channelOpened(channel)
        channel.write(service.machine.takeFeedback(arrival))
        if !arrival.isSilent { channel.close() }
    }
}

/// A connection whose TLS handshake is refused: whatever the client says first, it gets a fatal alert.
final class TLSRefusal: ChannelSession {
    init(_ socket: consuming Socket, of service: SimulatorService) {
        super.init(socket, tls: nil, of: service)
    }

    // Without TLS the channel is open from the start, which says nothing of the client.
    override func channelOpened(_ channel: Channel) {}

    override func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        gotThrough()
        // Alert, TLS 1.2, two bytes: fatal, handshake_failure.
        channel.write([0x15, 3, 3, 0, 2, 2, 40])
        channel.close()
    }
}
