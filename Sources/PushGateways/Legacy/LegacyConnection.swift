import PushLogic
package import PushLoop
package import PushModel
package import PushTransport
package import PushWire

/// One connection to a legacy push gateway: TLS with the push certificate, frames out, and at most one error packet in.
///
/// `LegacyMachine` decides; this owns the socket. What "accepted" means where nothing is acknowledged stands there.
/// An idle connection is kept open, and has no way to ask for a sign of life: a peer that has gone is noticed when
/// what is sent next is not acknowledged by its TCP.
package actor LegacyConnection: PushConnection {
    package struct Settings: Sendable {
        package var tls: TLSContext
        package var serverName: String
        package var resolver: NameResolver
        package var command = LegacyCommand.modern
        /// See `LegacyMachine.Options`.
        package var settleAfter: Duration = .seconds(2)
        package var ringSize = 8192
        package var stallAfter: Duration = .seconds(30)
        package var drainFor: Duration = .seconds(10)
        /// For peers that do not answer what is bad on purpose.
        package var probes = true
        /// From the first look-up to the end of TLS. Default 10 s.
        package var connectTimeout: Duration = .seconds(10)

        /// `tls` shows the push certificate and offers no protocol by ALPN.
        package init(tls: TLSContext, serverName: String, resolver: NameResolver) {
            self.tls = tls
            self.serverName = serverName
            self.resolver = resolver
        }

        fileprivate var machineOptions: LegacyMachine.Options {
            var options = LegacyMachine.Options()
            options.ringSize = ringSize
            options.settleAfter = settleAfter
            options.stallAfter = stallAfter
            options.drainFor = drainFor
            options.probes = probes
            options.payloadLimit = LegacyFrame.payloadLimit
            options.hasIdentifiers = command.carriesIdentifier
            return options
        }
    }

    /// Frames gathered before the channel is asked whether it has room.
    private static let gatherSize = 64 * 1024

    package nonisolated let id: ConnectionID
    private nonisolated let loop: EventLoop
    private let place: HostPort
    private let settings: Settings
    private let outlet: ConnectionOutlet
    private var begunAt: MonotonicTime?
    private var machine: LegacyMachine
    private var decoder = LegacyErrorDecoder()
    private var connector: TCPConnector?
    private var channel: Channel?
    private var address: String?
    private var timer: (id: TimerID, at: MonotonicTime)?
    private var checkIsAsked = false
    private var isEnded = false
    private var gathered: [UInt8] = []

    /// Begins to connect.
    package init(
        id: ConnectionID, on loop: EventLoop, to place: HostPort, settings: Settings, outlet: ConnectionOutlet
    ) {
        self.id = id
        self.loop = loop
        self.place = place
        self.settings = settings
        self.outlet = outlet
        machine = LegacyMachine(settings.machineOptions)
        loop.execute { self.assumeIsolated { $0.begin() } }
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe loop.asUnownedSerialExecutor()
    }

    // MARK: Commands

    package nonisolated func deliver(_ deliveries: [Delivery]) {
        loop.execute { self.assumeIsolated { $0.perform($0.machine.deliver(deliveries)) } }
    }

    /// A certificate says who we are.
    package nonisolated func use(_ token: ProviderToken) {}

    package nonisolated func drain() {
        loop.execute { self.assumeIsolated { $0.perform($0.machine.drain(now: $0.loop.now)) } }
    }

    package nonisolated func close() {
        loop.execute { self.assumeIsolated { $0.perform($0.machine.close(now: $0.loop.now)) } }
    }

    /// The protocol has no such question: a connection whose TLS came up is all that can be known of the peer.
    package nonisolated func ping() {
        loop.execute {
            self.assumeIsolated {
                if $0.machine.status == .open { $0.outlet.send(ConnectionReport($0.id, event: .alive)) }
            }
        }
    }

    package func status() -> ConnectionStatus {
        var status = ConnectionStatus(id: id, state: machine.status, age: begunAt.map { loop.now - $0 } ?? .zero)
        status.address = address
        status.streamLimit = machine.status == .open ? settings.ringSize : nil
        status.inFlight = machine.inFlight
        status.waiting = machine.waitingCount
        status.answered = machine.answered
        status.oldestUnanswered = machine.oldestSentAt.map { loop.now - $0 }
        return status
    }

    // MARK: Connecting

    private func begin() {
        begunAt = loop.now
        let deadline = loop.now + settings.connectTimeout
        connector = TCPConnector(on: loop, to: place, resolver: settings.resolver, deadline: deadline) { result in
            self.connected(result)
        }
        set(timerAt: deadline)
    }

    private func connected(_ result: consuming TCPConnectResult) {
        connector = nil
        switch consume result {
        case .failed(let error):
            lost(ConnectionEnd(error))
        case .connected(let socket, let address):
            self.address = address.description
            do throws(TLSError) {
                let tls = try TLSEngine(context: settings.tls, role: .client(serverName: settings.serverName))
                let channel = Channel(socket, on: loop, tls: tls, handler: self)
                self.channel = channel
                channel.start()
            } catch {
                closed(.tls(error))
            }
        }
    }

    private func opened() {
        guard !isEnded else { return }
        cancelTimer()
        perform(machine.opened(now: loop.now))
    }

    // MARK: Sending

    private func fill() {
        guard let channel, !isEnded else { return }
        while !channel.isCongested {
            gathered.removeAll(keepingCapacity: true)
            while gathered.count < Self.gatherSize, let frame = machine.nextFrame(now: loop.now) { encode(frame) }
            if gathered.isEmpty { break }
            channel.write(gathered)
        }
        askForCheck()
        arm()
    }

    private func encode(_ frame: LegacyMachine.Frame) {
        switch frame {
        case .probe(let identifier):
            LegacyFrame.appendProbe(settings.command, identifier: identifier, into: &gathered)
        case .notification(let delivery, let identifier):
            do throws(LegacyFrameError) {
                try LegacyFrame.append(
                    settings.command, delivery.message, to: delivery.token, identifier: identifier, into: &gathered)
            } catch {
                preconditionFailure("the machine let something through that has no frame: \(error)")
            }
        }
    }

    /// After this tick's end has sent what it could.
    private func askForCheck() {
        guard machine.hasUnmarked, !checkIsAsked else { return }
        checkIsAsked = true
        loop.execute { self.assumeIsolated { $0.check() } }
    }

    private func check() {
        checkIsAsked = false
        // What the socket did not take is looked at again when the channel asks for more.
        guard !isEnded, let channel, channel.outputBacklog == 0 else { return }
        machine.handedOver(bytes: channel.bytesSent, now: loop.now)
        arm()
    }

    // MARK: Time

    private func arm() {
        guard !isEnded, let deadline = machine.nextDeadline else { return }
        if let timer, timer.at <= deadline { return }
        set(timerAt: deadline)
    }

    private func set(timerAt deadline: MonotonicTime) {
        cancelTimer()
        timer = (loop.schedule(at: deadline) { self.timerFired() }, deadline)
    }

    private func cancelTimer() {
        if let timer { loop.cancel(timer.id) }
        timer = nil
    }

    private func timerFired() {
        timer = nil
        guard !isEnded else { return }
        if machine.status == .connecting {
            let closure = ChannelClosure.timedOut("no TLS within \(settings.connectTimeout)")
            lost(ConnectionEnd(closure, at: "\(place)", wasConnected: false))
            return
        }
        perform(machine.timePassed(now: loop.now, acknowledged: channel?.bytesAcknowledged ?? 0))
    }

    // MARK: What the peer says

    private func received(_ bytes: [UInt8]) {
        guard !isEnded else { return }
        do throws(LegacyPacketError) {
            if let packet = try decoder.decode(bytes) {
                perform(
                    machine.errorReceived(status: packet.status, identifier: packet.identifier, now: loop.now))
            } else {
                machine.packetBegan()
            }
        } catch {
            lost(ConnectionEnd(.broken, "\(place): \(error)"))
        }
    }

    private func closed(_ reason: ChannelClosure) {
        guard !isEnded else { return }
        let cut = decoder.pendingCount > 0 ? "; \(decoder.pendingCount) bytes of an error packet came" : ""
        let told = ConnectionEnd(reason, at: "\(place)", wasConnected: machine.status != .connecting)
        let end = ConnectionEnd(kind(of: reason) ?? told.kind, ConnectionFault(told.fault.code, told.message + cut))
        switch reason {
        case .byPeer, .lost: lost(end, isWordless: cut.isEmpty)
        case .byUs, .tls, .timedOut: lost(end)
        }
    }

    /// Where the certificate is all that says who we are, a handshake that fails for good is about it.
    private func kind(of reason: ChannelClosure) -> ConnectionEnd.Kind? {
        switch reason {
        case .tls(let error): error.disposition == .terminal ? .credential : .broken
        case .lost, .byPeer: .lost
        case .byUs, .timedOut: nil
        }
    }

    private func lost(_ end: ConnectionEnd, isWordless: Bool = false) {
        perform(machine.connectionEnded(end, isWordless: isWordless, now: loop.now))
    }

    // MARK: Actions

    private func perform(_ action: LegacyMachine.Action) {
        if !action.ended.isEmpty || action.event != nil {
            outlet.send(ConnectionReport(id, ended: action.ended, event: action.event))
        }
        if let end = action.end {
            finish(end, orderly: action.isOrderly)
            return
        }
        guard !isEnded, machine.status != .connecting else { return }
        channel?.askForFlush()
        arm()
    }

    private func finish(_ end: ConnectionEnd, orderly: Bool) {
        guard !isEnded else { return }
        isEnded = true
        connector?.cancel()
        connector = nil
        cancelTimer()
        if let channel {
            channel.handler = nil
            // What has been given back as not processed must not go out any more, so there is a reset.
            if orderly { channel.close() } else { channel.abort() }
        }
        channel = nil
        gathered = []
        outlet.send(ConnectionReport(id, event: .closed(end)))
    }
}

// The channel calls on the loop, which is the actor's executor.
extension LegacyConnection: ChannelHandler {
    package nonisolated func channelOpened(_ channel: Channel) {
        assumeIsolated { $0.opened() }
    }

    package nonisolated func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        // One packet is all that is ever looked at.
        let bytes = unsafe Array(bytes.prefix(LegacyErrorDecoder.packetLength))
        assumeIsolated { $0.received(bytes) }
    }

    package nonisolated func channelWantsOutput(_ channel: Channel) {
        assumeIsolated { $0.fill() }
    }

    package nonisolated func channel(_ channel: Channel, closed reason: ChannelClosure) {
        assumeIsolated { $0.closed(reason) }
    }
}
