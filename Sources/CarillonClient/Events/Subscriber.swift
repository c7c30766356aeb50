import PushLoop
import PushTime
import PushTransport
import PushWire

/// The loop's half of one subscription: it executes what ``SubscriberMachine`` decides.
actor Subscriber {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
    nonisolated let buffer: EventBuffer

    private let context: ZMQContext
    private let settings: ClientSettings
    private var machine: SubscriberMachine
    private var endpoints: EndpointMachine
    private var live: ClientConnection?
    private var replay: ClientConnection?
    private var page: [EventLines] = []
    private var pageBytes = 0
    private var isFull = false
    private var retry: TimerID?
    private var replayTimer: TimerID?
    private var watch: TimerHandle?
    private var lastMessage = MonotonicTime(nanoseconds: 0)
    private var replayFailures = 0
    private var isClosed = false

    /// The events of one page of a replay, at most.
    private static let pageEvents: Int64 = 1_000
    /// The bytes of one page, at most. More means that the peer is not Carillon.
    private static let maxPageBytes = 64 << 20
    /// Carillon sends a heartbeat each second.
    private static let maxSilence = Duration.seconds(5)
    private static let replayTimeout = Duration.seconds(5)

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
        } else if let lines = EventLines(topic: name, bytes: bytes) {
            machine.receive(lines)
        }
        step()
    }

    /// Hands over what is ready, and pauses or continues the sockets.
    private func step() {
        let deliveries = machine.takeDeliveries()
        if !deliveries.isEmpty, !buffer.add(deliveries) { isFull = true }
        if machine.hasFailed { return close() }
        if isFull || machine.isReplaying { live?.socket.pauseReceiving() } else { live?.socket.resumeReceiving() }
        if machine.isReplaying, !isFull { askReplay() }
    }

    // MARK: Replay

    private func askReplay() {
        guard replayTimer == nil, !isClosed else { return }
        page = []
        pageBytes = 0
        startReplayTimer(after: Self.replayTimeout)
        if let replay, replay.isConnected { return sendReplay(on: replay) }
        replay?.close()
        replay = nil
        do throws(ZMQError) {
            let made = try ClientConnection(
                .dealer, to: settings.replay, in: context, on: loop, keys: settings.keys
            ) { [unowned self] change in replayChanged(change) }
            replay = made
            made.socket.onMessage = { [unowned self] message in
                let frames = (0..<min(message.count, 3)).map { message.copied($0) }
                receive(frames)
            }
        } catch {
            failReplay("\(settings.replay): \(error.message)")
        }
    }

    private func replayChanged(_ change: ClientConnection.Change) {
        switch change {
        case .connected: if let replay { sendReplay(on: replay) }
        case .lost(let reason): failReplay(reason)
        }
    }

    private func sendReplay(on connection: ClientConnection) {
        var json = JSONWriter()
        json.beginObject()
        json.member("since", value: machine.since)
        json.member("prefix", value: machine.prefix)
        json.member("limit", value: Self.pageEvents)
        json.endObject()
        let bytes = json.bytes
        let result = connection.socket.send { outbox in
            outbox.add("replay/1")
            outbox.add(bytes)
        }
        if case .sent = result { return }
        failReplay("\(settings.replay): cannot send")
    }

    private func receive(_ frames: [[UInt8]]) {
        guard !isClosed, replayTimer != nil, machine.isReplaying else { return }
        if frames.count == 3, frames[0] == Array("event/1".utf8) {
            pageBytes += frames[2].count + 256
            guard pageBytes <= Self.maxPageBytes else { return failReplay("\(settings.replay): an endless answer") }
            let topic = String(decoding: frames[1], as: UTF8.self)
            if let lines = EventLines(topic: topic, bytes: frames[2]) { page.append(lines) }
            return startReplayTimer(after: Self.replayTimeout)
        }
        guard frames.count == 2, let end = ReplayEnd(kind: frames[0], frames[1]) else {
            return failReplay("\(settings.replay): not an answer")
        }
        if case .busy(let pause) = end {
            closeReplay()
            settings.log(.debug, "replay busy", ["retry": "\(pause)"])
            return startReplayTimer(after: pause)
        }
        stopReplayTimer()
        guard machine.receive(exchange(&page, with: []), end: end) else {
            return failReplay("\(settings.replay): events are missing in the answer")
        }
        replayFailures = 0
        if !machine.isReplaying { closeReplay() }
        step()
    }

    /// Tries again later. The base has not moved, so the same page is asked for.
    private func failReplay(_ reason: String) {
        closeReplay()
        guard !isClosed else { return }
        settings.log(.warning, "replay failed", ["reason": reason])
        replayFailures = min(replayFailures + 1, 6)
        startReplayTimer(after: .milliseconds(50) * (1 << replayFailures))
    }

    private func startReplayTimer(after delay: Duration) {
        stopReplayTimer()
        replayTimer = loop.schedule(after: delay) { [unowned self] in
            replayTimer = nil
            if replay != nil { settings.log(.warning, "replay timed out", ["endpoint": settings.replay]) }
            closeReplay()
            step()
        }
    }

    private func stopReplayTimer() {
        if let timer = replayTimer.take() { loop.cancel(timer) }
    }

    private func closeReplay() {
        stopReplayTimer()
        replay?.close()
        replay = nil
        page = []
    }
}
