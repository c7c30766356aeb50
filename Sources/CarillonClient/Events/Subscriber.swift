import PushLoop
import PushTime
import PushTransport
import PushWire

/// The loop's half of one subscription: it executes what ``SubscriberMachine`` decides.
actor Subscriber {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
    nonisolated let buffer: EventBuffer

    let context: ZMQContext
    let settings: ClientSettings
    var machine: SubscriberMachine
    private var endpoints: EndpointMachine
    private var live: ClientConnection?
    var replay: ClientConnection?
    var page: [EventLines] = []
    var pageBytes = 0
    var isFull = false
    private var retry: TimerID?
    var replayTimer: TimerID?
    private var watch: TimerHandle?
    private var lastMessage = MonotonicTime(nanoseconds: 0)
    var replayFailures = 0
    var isClosed = false

    /// Carillon sends a heartbeat each second.
    private static let maxSilence = Duration.seconds(5)

    init(
        _ settings: ClientSettings, prefix: String, start: SubscriberMachine.Start, context: ZMQContext,
        on loop: EventLoop, buffer: EventBuffer
    ) {
        self.settings = settings
        self.context = context
        self.loop = loop
        self.buffer = buffer
        machine = SubscriberMachine(prefix: prefix, start: start)
        endpoints = EndpointMachine([settings.events])
    }

    // MARK: Life

    func start() {
        guard !isClosed else { return }
        watch = loop.scheduleRepeating(every: .seconds(1)) { [unowned self] in checkSilence() }
        connect()
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        buffer.end()
        if let watch = watch.take() { loop.cancel(watch) }
        if let retry = retry.take() { loop.cancel(retry) }
        live?.close()
        live = nil
        closeReplay()
    }

    /// Continues after the consumer has made room.
    func goOn() {
        guard !isClosed, isFull else { return }
        isFull = false
        lastMessage = loop.now
        step()
    }

    // MARK: Live

    private func connect() {
        guard !isClosed, live == nil, retry == nil else { return }
        lastMessage = loop.now
        do throws(ZMQError) {
            let made = try ClientConnection(
                .sub, to: settings.events, in: context, on: loop, keys: settings.keys
            ) { [unowned self] change in changed(change) }
            live = made
            try made.socket.subscribe(machine.prefix)
            try made.socket.subscribe("heartbeat")
            listen(to: made.socket)
        } catch {
            lost("\(settings.events): \(error.message)")
        }
    }

    private func listen(to socket: ZMQSocket) {
        socket.onMessage = { [unowned self] message in
            guard message.count == 2, message.byteCount(ofFrame: 0) <= 1024 else { return }
            let topic = message.copied(0)
            let bytes = message.copied(1)
            receive(topic: topic, bytes: bytes)
        }
        if isFull || machine.isReplaying { socket.pauseReceiving() }
    }

    private func changed(_ change: ClientConnection.Change) {
        switch change {
        case .connected:
            endpoints.succeeded()
            lastMessage = loop.now
            settings.log(.info, "subscribed", ["endpoint": settings.events, "prefix": machine.prefix])
        case .lost(let reason): lost(reason)
        }
    }

    private func lost(_ reason: String) {
        live?.close()
        live = nil
        guard !isClosed, retry == nil else { return }
        machine.disconnected()
        settings.log(.warning, "subscription lost", ["reason": reason])
        let delay = endpoints.failed(chance: Double.random(in: 0...1))
        retry = loop.schedule(after: delay) { [unowned self] in
            retry = nil
            connect()
        }
    }

    private func checkSilence() {
        guard live?.isConnected == true, !isFull, !machine.isReplaying else { return }
        if loop.now - lastMessage > Self.maxSilence { lost("\(settings.events): no heartbeat") }
    }

    private func receive(topic: [UInt8], bytes: [UInt8]) {
        guard !isClosed else { return }
        lastMessage = loop.now
        let name = String(decoding: topic, as: UTF8.self)
        if name == "heartbeat" {
            if let heartbeat = Heartbeat(bytes) { machine.receive(heartbeat, now: loop.now) }
        } else {
            for lines in EventLines.read(topic: name, bytes: bytes) { machine.receive(lines) }
        }
        step()
    }

    /// Hands over what is ready, and pauses or continues the sockets.
    func step() {
        let deliveries = machine.takeDeliveries()
        if !deliveries.isEmpty, !buffer.add(deliveries) { isFull = true }
        if machine.hasFailed { return close() }
        if isFull || machine.isReplaying { live?.socket.pauseReceiving() } else { live?.socket.resumeReceiving() }
        if machine.isReplaying, !isFull { askReplay() }
    }
}
