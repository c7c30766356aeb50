package import PushGateways
import PushLogic
package import PushLoop
package import PushModel
package import PushTime
package import PushTransport
import PushWire

/// One connection to a legacy push gateway: TLS with the push certificate. It sends frames and receives at most one
/// error packet.
///
/// `LegacyMachine` decides, and also documents what "accepted" means without acknowledgements; this actor owns the
/// socket. An idle connection stays open. The protocol has no way to check the peer, so a lost peer is noticed when its
/// TCP does not acknowledge what is sent next.
package actor LegacyConnection: PushConnection {
    package struct Settings: Sendable {
        package var tls: TLSContext
        package var serverName: String
        package var resolver: NameResolver
        package var wallClock: @Sendable () -> WallTime
        package var command = LegacyCommand.modern
        /// See `LegacyMachine.Options`; the same applies to the following settings.
        package var settleAfter: Duration = .seconds(2)
        package var ringSize = 8192
        package var stallAfter: Duration = .seconds(30)
        package var drainFor: Duration = .seconds(10)
        /// Whether to send a probe frame at the end. Set it to false for peers that do not answer an invalid frame.
        package var probes = true
        /// While it is not valid, nothing is written: the connection is reset if there is something to write.
        package var permit: SendingPermit?
        /// The time limit from the first look-up to the end of the TLS handshake. Default 10 s.
        package var connectTimeout: Duration = .seconds(10)

        /// - Parameter tls: presents the push certificate and offers no ALPN protocol.
        package init(
            tls: TLSContext, serverName: String, resolver: NameResolver,
            wallClock: @escaping @Sendable () -> WallTime
        ) {
            self.tls = tls
            self.serverName = serverName
            self.resolver = resolver
            self.wallClock = wallClock
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

    /// The number of bytes of frames that are gathered before the channel's congestion is checked.
    private static let gatherSize = 64 * 1024

    package nonisolated let id: ConnectionID
    private nonisolated let loop: EventLoop
    private let endpoint: HostPort
    private let settings: Settings
    private let outlet: ConnectionOutlet
    private var begunAt: MonotonicTime?
    private var machine: LegacyMachine
    private var decoder = LegacyErrorDecoder()
    private var connector: TCPConnector?
    private var channel: Channel?
    private var address: String?
    private var timer = DeadlineTimer()
    private var isCheckRequested = false
    private var isEnded = false
    private var gathered: [UInt8] = []

    /// Starts to connect.
    package init(
        id: ConnectionID, on loop: EventLoop, to endpoint: HostPort, settings: Settings, outlet: ConnectionOutlet
    ) {
        self.id = id
        self.loop = loop
        self.endpoint = endpoint
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

    /// Does nothing: a certificate authenticates the connection.
    package nonisolated func use(_ token: ProviderToken) {}

    package nonisolated func drain() {
        loop.execute { self.assumeIsolated { $0.perform($0.machine.drain(now: $0.loop.now)) } }
    }

    package nonisolated func recall(_ number: UInt64) {
        loop.execute {
            self.assumeIsolated {
                $0.outlet.send(ConnectionReport($0.id, ended: $0.machine.recall(), event: .recalled(number)))
            }
        }
    }

    package nonisolated func giveBack() {
        loop.execute { self.assumeIsolated { $0.perform($0.machine.giveBack()) } }
    }

    package nonisolated func close() {
        loop.execute { self.assumeIsolated { $0.perform($0.machine.close(now: $0.loop.now)) } }
    }

    /// Reports `alive` if the connection is open. The protocol has no ping, so a completed TLS handshake is the only
    /// evidence.
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
        connector = TCPConnector(on: loop, to: endpoint, resolver: settings.resolver, deadline: deadline) { result in
            self.connected(result)
        }
        armTimer(at: deadline)
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
                if let permit = settings.permit {
                    channel.mayWrite = { [unowned channel] in permit.isValid || !channel.isOpen }
                }
                self.channel = channel
                channel.start()
            } catch {
                closed(.tls(error))
            }
        }
    }

    private func opened() {
        guard !isEnded else { return }
        timer.disarm(on: loop)
        perform(machine.opened(now: loop.now))
    }

    // MARK: Sending

    private func fill() {
        guard let channel, !isEnded else { return }
        let time = settings.wallClock()
        var unsent: [AttemptReport] = []
        while !channel.isCongested {
            gathered.removeAll(keepingCapacity: true)
            while gathered.count < Self.gatherSize,
                let frame = machine.nextFrame(now: loop.now, at: time, unsent: &unsent)
            { encode(frame) }
            if gathered.isEmpty { break }
            channel.write(gathered)
        }
        if !unsent.isEmpty { outlet.send(ConnectionReport(id, ended: unsent)) }
        requestCheck()
        armTimer()
    }

    private func encode(_ frame: LegacyMachine.Frame) {
        switch frame {
        case .probe(let identifier):
            LegacyFrame.appendProbe(as: settings.command, identifier: identifier, to: &gathered)
        case .notification(let delivery, let identifier):
            do throws(LegacyFrameError) {
                try LegacyFrame.append(
                    delivery.message, for: delivery.token, as: settings.command, identifier: identifier, to: &gathered)
            } catch {
                preconditionFailure("LegacyMachine admitted a notification that has no frame: \(error)")
            }
        }
    }

    /// Schedules a check of the sent bytes after the end of this tick, when the channel has flushed.
    private func requestCheck() {
        guard machine.hasUnmarked, !isCheckRequested else { return }
        isCheckRequested = true
        loop.execute { self.assumeIsolated { $0.check() } }
    }

    private func check() {
        isCheckRequested = false
        // If the socket did not accept all bytes, `fill()` runs again when the channel has room, and checks then.
        guard !isEnded, let channel, channel.outputBacklog == 0 else { return }
        machine.handedOver(bytes: channel.bytesSent, now: loop.now)
        armTimer()
    }

    // MARK: Time

    private func armTimer() {
        guard !isEnded, let deadline = machine.nextDeadline else { return }
        if let armed = timer.deadline(on: loop), armed <= deadline { return }
        armTimer(at: deadline)
    }

    private func armTimer(at deadline: MonotonicTime) {
        // The reference to this actor is strong: the connection keeps itself alive until it has closed.
        timer.arm(at: deadline, on: loop, action: { self.timerFired() })
    }

    private func timerFired() {
        guard !isEnded else { return }
        if machine.status == .connecting {
            let closure = ChannelClosure.timedOut("no TLS connection within \(settings.connectTimeout)")
            lost(ConnectionEnd(closure, at: "\(endpoint)", wasConnected: false))
            return
        }
        perform(machine.timePassed(now: loop.now, acknowledged: channel?.bytesAcknowledged ?? 0))
    }

    // MARK: Events of the peer

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
            lost(ConnectionEnd(.broken, message: "\(endpoint): \(error)"))
        }
    }

    private func closed(_ reason: ChannelClosure) {
        guard !isEnded else { return }
        let cut = decoder.pendingCount > 0 ? "; incomplete error packet (\(decoder.pendingCount) bytes)" : ""
        let reported = ConnectionEnd(reason, at: "\(endpoint)", wasConnected: machine.status != .connecting)
        let end = ConnectionEnd(
            kind(of: reason) ?? reported.kind,
            fault: ConnectionFault(reported.fault.code, sentence: reported.message + cut))
        switch reason {
        case .byPeer, .lost: lost(end, isWordless: cut.isEmpty)
        case .byUs, .tls, .timedOut: lost(end)
        }
    }

    /// Returns the kind of an end. The certificate is the only credential here, so a permanent failure of the handshake
    /// concerns the certificate.
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
        armTimer()
    }

    private func finish(_ end: ConnectionEnd, orderly: Bool) {
        guard !isEnded else { return }
        isEnded = true
        connector?.cancel()
        connector = nil
        timer.disarm(on: loop)
        if let channel {
            channel.handler = nil
            // Deliveries that were reported as not processed must not be sent any more, so the connection is reset.
            if orderly { channel.close() } else { channel.abort() }
        }
        channel = nil
        gathered = []
        outlet.send(ConnectionReport(id, event: .closed(end)))
    }
}

// The channel calls its handler on the loop, which is the executor of the actor.
extension LegacyConnection: ChannelHandler {
    package nonisolated func channelOpened(_ channel: Channel) {
        assumeIsolated { $0.opened() }
    }

    package nonisolated func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        // Only one packet is ever parsed.
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
