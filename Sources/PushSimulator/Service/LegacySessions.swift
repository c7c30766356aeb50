import PushLoop
import PushTransport

/// One connection to the legacy gateway: frames come in, and nothing goes out but the error packet that ends it.
final class BinarySession: SimulatorSession {
    private unowned let service: SimulatorService
    private let arrival: SimulatorMachine.Arrival
    private let channel: Channel
    private var state: BinaryConnection?

    init(
        _ socket: consuming Socket, tls: TLSEngine, _ arrival: SimulatorMachine.Arrival, of service: SimulatorService
    ) {
        self.service = service
        self.arrival = arrival
        channel = Channel(socket, on: service.loop, tls: tls, handler: nil)
        channel.handler = self
        channel.start()
    }

    func abort() {
        channel.abort()
    }

    private func perform(_ reaction: BinaryReaction) {
        guard !reaction.packet.isEmpty || reaction.closes else { return }
        let finish = { [channel] in
            channel.write(reaction.packet)
            if reaction.closes { channel.close() }
        }
        if reaction.delay > 0 {
            service.loop.schedule(after: .nanoseconds(reaction.delay), finish)
        } else {
            finish()
        }
    }
}

extension BinarySession: ChannelHandler {
    func channelOpened(_ channel: Channel) {
        state = service.machine.openBinary(
            arrival, environment: service.options.environment,
            certificate: CertificateIdentity(channel.session?.peerCertificate))
        if arrival.closes { channel.close() }
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        guard var state = state.take() else { return }
        let reaction = unsafe service.machine.receiveBinary(ByteView(borrowing: bytes), on: &state, now: service.now)
        self.state = consume state
        perform(reaction)
    }

    func channelWantsOutput(_ channel: Channel) {}

    func channel(_ channel: Channel, closed reason: ChannelClosure) {
        service.ended(self)
    }
}

/// One connection to the feedback service: the list goes out, and then it is over.
final class FeedbackSession: SimulatorSession {
    private unowned let service: SimulatorService
    private let arrival: SimulatorMachine.Arrival
    private let channel: Channel

    init(
        _ socket: consuming Socket, tls: TLSEngine, _ arrival: SimulatorMachine.Arrival, of service: SimulatorService
    ) {
        self.service = service
        self.arrival = arrival
        channel = Channel(socket, on: service.loop, tls: tls, handler: nil)
        channel.handler = self
        channel.start()
    }

    func abort() {
        channel.abort()
    }
}

extension FeedbackSession: ChannelHandler {
    func channelOpened(_ channel: Channel) {
        channel.write(service.machine.takeFeedback(arrival))
        if !arrival.isSilent { channel.close() }
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        // Clients of the feedback service send nothing; what they send all the same is not looked at.
    }

    func channelWantsOutput(_ channel: Channel) {}

    func channel(_ channel: Channel, closed reason: ChannelClosure) {
        service.ended(self)
    }
}

/// A connection whose TLS handshake is refused: whatever the client says first, it gets a fatal alert.
final class TLSRefusal: SimulatorSession {
    private unowned let service: SimulatorService
    private let channel: Channel

    init(_ socket: consuming Socket, of service: SimulatorService) {
        self.service = service
        channel = Channel(socket, on: service.loop, tls: nil, handler: nil)
        channel.handler = self
        channel.start()
    }

    func abort() {
        channel.abort()
    }
}

extension TLSRefusal: ChannelHandler {
    func channelOpened(_ channel: Channel) {}

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        // Alert, TLS 1.2, two bytes: fatal, handshake_failure.
        channel.write([0x15, 3, 3, 0, 2, 2, 40])
        channel.close()
    }

    func channelWantsOutput(_ channel: Channel) {}

    func channel(_ channel: Channel, closed reason: ChannelClosure) {
        service.ended(self)
    }
}
