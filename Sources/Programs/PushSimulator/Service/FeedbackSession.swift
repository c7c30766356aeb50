import PushTransport

/// One connection to the feedback service. It sends the list and closes.
final class FeedbackSession: ChannelSession {
    private unowned let service: SimulatorService
    private let arrival: SimulatorMachine.Arrival

    init(
        _ socket: consuming Socket, tls: TLSEngine, arrival: SimulatorMachine.Arrival, of service: SimulatorService
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
