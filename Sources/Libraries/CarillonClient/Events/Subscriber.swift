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
    private var feeds: [LiveFeed] = []
    var replayEndpoints: EndpointMachine
    var replay: ClientConnection?
    var page: [EventLines] = []
    var pageBytes = 0
    var isFull = false
    var replayTimer: TimerID?
    private var watch: TimerHandle?
    var isClosed = false

    init(
        _ settings: ClientSettings, prefix: String, start: SubscriberMachine.Start, context: ZMQContext,
        on loop: EventLoop, buffer: EventBuffer
    ) {
        self.settings = settings
        self.context = context
        self.loop = loop
        self.buffer = buffer
        machine = SubscriberMachine(prefix: prefix, start: start)
        replayEndpoints = EndpointMachine(settings.replay)
    }

    // MARK: Life

    func start() {
        guard !isClosed, feeds.isEmpty else { return }
        watch = loop.scheduleRepeating(every: .seconds(1)) { [unowned self] in
            for feed in feeds { feed.checkSilence() }
        }
        for endpoint in settings.events {
            feeds.append(
                LiveFeed(
                    endpoint, prefix: machine.prefix, settings: settings, context: context, on: loop
                ) { [unowned self] change in changed(change) })
        }
        for feed in feeds { feed.start() }
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        buffer.end()
        if let watch = watch.take() { loop.cancel(watch) }
        for feed in feeds { feed.close() }
        closeReplay()
    }

    /// Continues after the consumer has made room.
    func goOn() {
        guard !isClosed, isFull else { return }
        isFull = false
        step()
    }

    // MARK: Live

    private func changed(_ change: LiveFeed.Change) {
        guard !isClosed else { return }
        switch change {
        case .lost: return machine.disconnected()
        case .message(let topic, let bytes):
            let name = String(decoding: topic, as: UTF8.self)
            if name == "heartbeat" {
                if let heartbeat = Heartbeat(bytes) { machine.receive(heartbeat, now: loop.now) }
            } else {
                for lines in EventLines.read(topic: name, bytes: bytes) { machine.receive(lines) }
            }
        }
        step()
    }

    /// Hands over what is ready, and pauses or continues the sockets.
    func step() {
        let deliveries = machine.takeDeliveries()
        if !deliveries.isEmpty, !buffer.add(deliveries) { isFull = true }
        if machine.hasFailed { return close() }
        let isPaused = isFull || machine.isReplaying
        for feed in feeds { if isPaused { feed.pause() } else { feed.resume() } }
        if machine.isReplaying, !isFull { askReplay() }
    }
}
