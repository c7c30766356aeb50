package import PushLoop
import PushRandom
package import PushTransport

/// The simulated Apple push service on sockets: the HTTP/2 provider API, the legacy gateway, the feedback service and
/// the control port, all on one event loop. The machine decides; the service executes. It belongs to its event loop.
package final class SimulatorService {
    package struct Options: Sendable {
        package var host = "127.0.0.1"
        /// The port of each service; 0 selects any free port, nil disables the service.
        package var providerPort: UInt16? = 0
        package var binaryPort: UInt16? = 0
        package var feedbackPort: UInt16? = 0
        package var controlPort: UInt16? = 0
        /// The port of the simulated App Store, which verifies receipts over HTTPS.
        package var storePort: UInt16?
        /// The signatures of the App Store; nil if nothing can be signed.
        package var store: StoreSignature?
        /// The resolver of the addresses that notifications of the store are sent to; nil if none can be sent.
        package var resolver: NameResolver?
        package var environment = APNsEnvironment.production
        package var settings = SimulatorSettings()
        /// The certificate and key of the services.
        package var identity: TLSIdentity
        /// The certificate for the fault `expired_certificate`.
        package var expiredIdentity: TLSIdentity?
        /// The authorities whose client certificates are accepted.
        package var clientTrust: TLSTrust
        /// The public keys for the provider keys in `settings`, by key id.
        package var publicKeys: [String: ES256PublicKey] = [:]

        package init(identity: TLSIdentity, clientTrust: TLSTrust) {
            self.identity = identity
            self.clientTrust = clientTrust
        }
    }

    package let loop: EventLoop
    package let options: Options
    package var machine: SimulatorMachine
    var answerText = AnswerText()
    private let providerTLS: TLSContext
    private let legacyTLS: TLSContext
    private let expiredTLS: TLSContext?
    private var listeners: [TCPListener] = []
    private var control: HTTP1Server?
    private var storeServer: HTTP1Server?
    /// The simulated FCM, whose requests the control port answers; nil without one.
    package var fcm: FCMService?
    /// The simulated push service of browsers, whose requests the control port answers; nil without one.
    package var webPush: WebPushService?
    var storeRandom: SeededRandom
    var receipts = ReceiptVerifier()
    private var sessions: [ObjectIdentifier: any SimulatorSession] = [:]
    private var wallTime = WallTime.current()
    private var wallTimeTick = UInt64.max

    package private(set) var providerAddress: SocketAddress?
    package private(set) var binaryAddress: SocketAddress?
    package private(set) var feedbackAddress: SocketAddress?
    package private(set) var controlPort: UInt16?
    package private(set) var storePort: UInt16?

    /// Listens on every enabled port. Must be called on the event loop.
    package init(on loop: EventLoop, options: Options, script: FaultScript = FaultScript()) throws {
        self.loop = loop
        self.options = options
        storeRandom = SeededRandom(seed: options.settings.seed)
        let keys = options.publicKeys
        let check: SignatureCheck = { keyID, input, signature in
            keys[keyID].map { $0.verify(input, signature: signature) }
        }
        machine = SimulatorMachine(
            options.settings, script: script, signatures: keys.isEmpty ? nil : check, now: .current())
        let clients = TLSClientCertificates.optional(options.clientTrust)
        providerTLS = try .server(
            TLSServerConfiguration(identity: options.identity, alpn: ["h2"], clientCertificates: clients))
        legacyTLS = try .server(TLSServerConfiguration(identity: options.identity, clientCertificates: clients))
        expiredTLS = try options.expiredIdentity.map { (identity) throws(TLSError) in
            try .server(TLSServerConfiguration(identity: identity, alpn: ["h2"]))
        }
        try listen()
    }

    private func listen() throws {
        do {
            if let port = options.providerPort {
                providerAddress = try listen(on: port) { [unowned self] in arrived($0, at: .provider) }
            }
            if let port = options.binaryPort {
                binaryAddress = try listen(on: port) { [unowned self] in arrived($0, at: .binary) }
            }
            if let port = options.feedbackPort {
                feedbackAddress = try listen(on: port) { [unowned self] in arrived($0, at: .feedback) }
            }
            if let port = options.controlPort {
                let server = HTTP1Server(on: loop) { [weak self] request, responder in
                    self?.answer(request, with: responder)
                }
                control = server
                controlPort = try server.listen(host: options.host, port: port)
            }
            if let port = options.storePort {
                let tls = try TLSContext.server(TLSServerConfiguration(identity: options.identity, alpn: ["http/1.1"]))
                let server = HTTP1Server(on: loop, tls: tls) { [weak self] request, responder in
                    self?.answerStore(request, with: responder)
                }
                storeServer = server
                storePort = try server.listen(host: options.host, port: port)
            }
        } catch {
            stop()
            throw error
        }
    }

    private func listen(
        on port: UInt16, accepted: @escaping (consuming Socket) -> Void
    ) throws(TCPError) -> SocketAddress {
        let listener = try TCPListener(on: loop, at: HostPort(host: options.host, port: port), accepted: accepted)
        listeners.append(listener)
        return listener.address
    }

    /// Closes all ports and connections at once. `whenDone` is called on the event loop when the control port has
    /// answered its clients and closed.
    package func stop(whenDone: @escaping () -> Void = {}) {
        for listener in listeners { listener.close() }
        listeners = []
        for session in sessions.values { session.abort() }
        sessions = [:]
        fcm?.stop()
        fcm = nil
        webPush?.stop()
        webPush = nil
        let servers = [control.take(), storeServer.take()].compactMap { $0 }
        guard !servers.isEmpty else {
            loop.execute { [box = LoopBound(whenDone, on: loop)] in box.wrapped() }
            return
        }
        var open = servers.count
        for server in servers {
            server.close {
                open -= 1
                if open == 0 { whenDone() }
            }
        }
    }

    package var connectionCount: Int { sessions.count }

    /// The largest number of bytes that a client has not read yet.
    var largestBacklog: Int { sessions.values.reduce(0) { max($0, $1.backlog) } }

    /// The wall clock time, read once per tick of the event loop.
    var now: WallTime {
        let tick = loop.tickCount
        if tick != wallTimeTick {
            wallTimeTick = tick
            wallTime = .current()
        }
        return wallTime
    }

    func ended(_ session: any SimulatorSession) {
        sessions[ObjectIdentifier(session)] = nil
    }

    // MARK: Arrivals

    private func arrived(_ socket: consuming Socket, at port: SimulatorMachine.Port) {
        let arrival = machine.arrive(at: port)
        if arrival.isRefused {
            socket.refuse()
            return
        }
        guard arrival.delay > 0 else {
            begin(socket, as: arrival, at: port)
            return
        }
        add(WaitingArrival(socket, arrival: arrival, port: port, of: self))
    }

    /// Continues a connection whose delay has passed.
    fileprivate func begin(_ waiting: WaitingArrival) {
        ended(waiting)
        guard let socket = waiting.socket.take() else { return }
        begin(socket, as: waiting.arrival, at: waiting.port)
    }

    private func begin(
        _ socket: consuming Socket, as arrival: SimulatorMachine.Arrival, at port: SimulatorMachine.Port
    ) {
        let context: TLSContext
        switch arrival.tls {
        case .normal: context = port == .provider ? providerTLS : legacyTLS
        case .expiredCertificate: context = expiredTLS ?? providerTLS
        case .refused:
            add(TLSRefusal(socket, of: self))
            return
        }
        guard let engine = try? TLSEngine(context: context, role: .server) else { return }
        switch port {
        case .provider: add(ProviderSession(socket, tls: engine, arrival: arrival, of: self))
        case .binary: add(BinarySession(socket, tls: engine, arrival: arrival, of: self))
        case .feedback: add(FeedbackSession(socket, tls: engine, arrival: arrival, of: self))
        }
    }

    private func add(_ session: any SimulatorSession) {
        sessions[ObjectIdentifier(session)] = session
    }

    // MARK: Control

    private func answer(_ request: HTTP1Request, with responder: HTTP1Responder) {
        let parts = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let control = ControlRequest(
            method: request.method.rawValue, path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "",
            body: request.body)
        if let signature = options.store, control.method == "POST", control.path.hasPrefix("/store/") {
            controlStore(control, signature: signature) { self.respond($0, with: responder) }
        } else if let fcm, control.path.hasPrefix("/fcm/") {
            respond(fcm.control(control), with: responder)
        } else if let webPush, WebPushMachine.isOwn(control.path) {
            respond(webPush.machine.control(control), with: responder)
        } else {
            respond(machine.control(control, now: .current()), with: responder)
        }
    }

    private func respond(_ response: ControlResponse, with responder: HTTP1Responder) {
        do throws(HTTP1Error) {
            try responder.respond(
                status: Int(response.status), headers: ["content-type": response.contentType], body: response.body)
        } catch {
            // The responder answers with status 500 when it is dropped.
        }
    }
}

/// One connection of the simulator, kept until it ends.
protocol SimulatorSession: AnyObject {
    /// The number of bytes that the client has not read yet.
    var backlog: Int { get }

    /// Closes the connection at once. After that it makes no calls and is not retained.
    func abort()
}

/// A connection that a fault delays before the handshake.
private final class WaitingArrival: SimulatorSession {
    private unowned let service: SimulatorService
    let arrival: SimulatorMachine.Arrival
    let port: SimulatorMachine.Port
    var socket: Socket?
    private var timer: TimerID?

    init(
        _ socket: consuming Socket, arrival: SimulatorMachine.Arrival, port: SimulatorMachine.Port,
        of service: SimulatorService
    ) {
        self.service = service
        self.arrival = arrival
        self.port = port
        self.socket = consume socket
        timer = service.loop.schedule(after: .nanoseconds(arrival.delay)) { [unowned self] in
            timer = nil
            self.service.begin(self)
        }
    }

    var backlog: Int { 0 }

    func abort() {
        if let timer = timer.take() { service.loop.cancel(timer) }
        socket = nil
    }
}

extension CertificateIdentity {
    /// The rights of a client's certificate; nil if it has no UID, because then it is not a push certificate.
    init?(_ certificate: CertificateInfo?) {
        guard let certificate, let userID = certificate.userID else { return nil }
        self.init(
            userID: userID,
            topicLists: [Self.topicsExtension, Self.voipTopicsExtension].compactMap {
                certificate.extensionValue(oid: $0)
            },
            isDevelopment: certificate.extensionValue(oid: Self.developmentExtension) != nil,
            isProduction: certificate.extensionValue(oid: Self.productionExtension) != nil)
    }
}
