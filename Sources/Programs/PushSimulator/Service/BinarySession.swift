import PushLoop
import PushTransport

/// One connection to the legacy gateway. It receives frames and sends nothing but the error packet that ends it.
final class BinarySession: ChannelSession {
    private unowned let service: SimulatorService
    private let arrival: SimulatorMachine.Arrival
    private var state: BinaryConnection?
    /// The timer of an error packet that a fault delays.
    private var timer: TimerID?

    init(
        _ socket: consuming Socket, tls: TLSEngine, arrival: SimulatorMachine.Arrival, of service: SimulatorService
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
        perform(reaction, on: channel)
    }

    private func perform(_ reaction: BinaryReaction, on channel: Channel) {
        guard !reaction.packet.isEmpty || reaction.closes else { return }
        guard reaction.delay > 0 else {
            finish(reaction, on: channel)
            return
        }
        // There is no other reaction after this one, because all later bytes are discarded.
        timer = service.loop.schedule(after: .nanoseconds(reaction.delay)) { [unowned self, unowned channel] in
            timer = nil
            finish(reaction, on: channel)
        }
    }

    private func finish(_ reaction: BinaryReaction, on channel: Channel) {
        channel.write(reaction.packet)
        if reaction.closes { channel.close() }
    }
}
