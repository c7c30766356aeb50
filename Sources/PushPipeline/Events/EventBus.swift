package import PushLoop
package import PushModel
package import PushTransport
package import PushWire

/// Publishes what the ledger has numbered and synced, and answers who missed some of it.
///
/// It is pinned to its loop. Segments come in from any thread; what has come by the next turn of the loop goes out
/// together, one message a topic, and only what somebody asks for is rendered. Whoever opened it stops it before its
/// loop is shut down.
package actor EventBus {
    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// What came in and has not been rendered.
    private struct Inbox {
        var segments: [LogSegment] = []
        /// Of those, and of those that the loop has taken and not rendered yet.
        var bytes = 0
        var last: UInt64 = 0
        var dropped: UInt64 = 0
        var isScheduled = false
        var isStopped = false
    }

    private nonisolated let inbox: Locked<Inbox>
    private nonisolated let inboxBytes: Int
    let context: ZMQContext
    let log: any EventLog
    var settings: EventBusSettings

    var publisher: ZMQSocket?
    /// Where `publisher` is bound, with the port that the system chose.
    var publishEndpoint: String?
    var rebinding: Rebinding?
    var router: ZMQSocket?
    /// Of both sockets.
    var door: ZMQDoor?
    private var heartbeat: TimerHandle?
    var topics: TopicTable
    var prefixes: SubscribedPrefixes
    var prefixesChanged = false
    /// At the last heartbeat nobody was connected to the publishing socket, and nobody has subscribed since.
    var isDeserted = false
    /// Until the first heartbeat can be told of them.
    private var firstHeads: [LogWriter.Head]
    /// The next one is at the end.
    private var pending: [LogSegment] = []
    var counts = EventBusStatus()

    /// Requests that are being answered, by the routing id of who asked.
    var replays: [[UInt8]: Replay] = [:]
    private(set) var isStopped = false
    private var stopWaiters: [CheckedContinuation<Void, Never>] = []

    /// Events rendered in one go before others on the loop get their turn: some milliseconds.
    private static let eventsPerTurn = 20_000

    /// - Parameters:
    ///   - last: the newest number in the log.
    ///   - heads: the topics that the first heartbeats tell of, so that a subscriber sees what it missed before a restart.
    package init(
        on loop: EventLoop, in context: ZMQContext, log: any EventLog, settings: EventBusSettings, last: UInt64 = 0,
        heads: [LogWriter.Head] = []
    ) {
        self.loop = loop
        self.context = context
        self.log = log
        self.settings = settings
        inboxBytes = settings.inboxBytes
        inbox = Locked(Inbox(last: last))
        prefixes = SubscribedPrefixes(limit: settings.prefixLimit)
        topics = TopicTable(messageBytes: settings.messageBytes, messageLines: settings.messageLines)
        counts.last = last
        firstHeads = heads
    }

    // MARK: Any thread

    /// Takes what is on the disk, in the order of the numbers: one thread calls at a time.
    package nonisolated func publish(_ segments: [LogSegment]) {
        guard let newest = segments.last else { return }
        let wakes = inbox.withLock { inbox in
            guard !inbox.isStopped else { return false }
            inbox.last = max(inbox.last, newest.last)
            for segment in segments {
                guard inbox.bytes < inboxBytes else {
                    inbox.dropped += UInt64(segment.count)
                    continue
                }
                inbox.bytes += segment.bytes.count
                inbox.segments.append(segment)
            }
            defer { inbox.isScheduled = true }
            return !inbox.isScheduled
        }
        if wakes { scheduleDrain() }
    }

    private nonisolated func scheduleDrain() {
        loop.execute { self.assumeIsolated { $0.drain() } }
    }

    // MARK: Life

    /// Binds the sockets and begins to beat. Once. One that is bound nowhere is there, and hears and reaches nobody.
    package func open() throws(ZMQError) -> EventBusEndpoints {
        precondition(publisher == nil && !isStopped, "an event bus is opened once")
        let publisher = try ZMQSocket(.xpub, in: context, on: loop, options: publisherOptions)
        let router: ZMQSocket
        do {
            router = try ZMQSocket(.router, in: context, on: loop, options: routerOptions)
        } catch {
            publisher.close()
            throw error
        }
        do {
            let door = ZMQDoor(limits: settings.door, tell: settings.doorNews)
            for socket in [publisher, router] { try door.watch(socket) }
            self.door = door
            let endpoints = EventBusEndpoints(
                publish: try Self.bind(publisher, settings.publish), replay: try Self.bind(router, settings.replay))
            publishEndpoint = endpoints.publish
            begin(publisher, router)
            return endpoints
        } catch {
            publisher.close()
            router.close()
            throw error
        }
    }

    private static func bind(_ socket: ZMQSocket, _ endpoint: String?) throws(ZMQError) -> String? {
        guard let endpoint else { return nil }
        return try socket.bind(endpoint)
    }

    var publisherOptions: ZMQSocketOptions {
        var options = ZMQSocketOptions()
        options.security = settings.publishSecurity.ofServer
        options.ipcMode = settings.ipcMode
        options.usesIPv6 = settings.publish?.hasPrefix("tcp://[") == true
        options.sendHighWaterMark = settings.sendHighWater
        options.unacknowledgedTimeout = settings.unacknowledgedTimeout
        options.linger = .milliseconds(500)
        // Subscribers send subscriptions and handshakes. A subscription costs libzmq some thirty times its length, and
        // the handshake of CURVE takes more than 128 bytes.
        options.maxFrameSize = 640
        // libzmq reads subscriptions into a queue of its own at once, whatever the mark. With none, input is never
        // stopped, and `ignoresResets` is not needed, with which a subscriber that was killed would hold its queue for
        // half a minute.
        options.receiveHighWaterMark = 0
        return options
    }

    private var routerOptions: ZMQSocketOptions {
        var options = ZMQSocketOptions()
        options.security = settings.replaySecurity.ofServer
        options.ipcMode = settings.ipcMode
        options.usesIPv6 = settings.replay?.hasPrefix("tcp://[") == true
        options.sendHighWaterMark = settings.replays.sendHighWater
        options.unacknowledgedTimeout = settings.unacknowledgedTimeout
        options.linger = .milliseconds(500)
        options.maxFrameSize = 4096
        // A monitor that starts anew under its old routing id would not be heard for as long as its old connection is.
        options.routerHandover = true
        options.receiveHighWaterMark = 256
        options.ignoresResets = true
        return options
    }

    private func begin(_ publisher: ZMQSocket, _ router: ZMQSocket) {
        self.publisher = publisher
        self.router = router
        for head in firstHeads { topics.note(head.kind, head.app, last: head.seq, at: loop.now) }
        firstHeads = []
        takeSubscriptions(of: publisher)
        router.onMessage = { [unowned self] message in
            let question = ReplayQuestion(message, frames: message.count)
            take(question)
        }
        router.onMalformed = { [unowned self] message, count in
            let question = ReplayQuestion(message, frames: count)
            take(question)
        }
        router.onWritable = { [unowned self] in resumeReplays() }
        heartbeat = loop.scheduleRepeating(every: EventBusSettings.heartbeatInterval) { [unowned self] in beat() }
    }

    /// Ends both sockets and the answers under way; returns when nothing of it is on the loop any more. What is handed
    /// in afterwards is not published.
    package func stop() async {
        if !isStopped {
            isStopped = true
            inbox.withLock { $0.isStopped = true }
            if let heartbeat { loop.cancel(heartbeat) }
            publisher?.close()
            router?.close()
            endRebinding()
            resumeReplays()
        }
        if !replays.isEmpty { await withCheckedContinuation { stopWaiters.append($0) } }
    }

    func replayEnded() {
        guard isStopped, replays.isEmpty else { return }
        for waiter in stopWaiters { waiter.resume() }
        stopWaiters = []
    }

    package var status: EventBusStatus {
        var status = counts
        status.prefixCount = prefixes.all.count
        status.prefixes = prefixes.all.prefix(EventBusStatus.shownPrefixes).map { String(decoding: $0, as: UTF8.self) }
            .sorted()
        status.rendersAll = prefixes.isOverfull
        status.replaysRunning = replays.count
        status.connections = door?.gate.open ?? 0
        inbox.withLock { inbox in
            status.last = inbox.last
            status.dropped += inbox.dropped
        }
        return status
    }

    // MARK: Publishing

    private func drain() {
        if pending.isEmpty {
            inbox.withLock { swap(&$0.segments, &pending) }
            pending.reverse()
        }
        if prefixesChanged {
            prefixesChanged = false
            topics.choose(prefixes)
        }
        let now = loop.now
        var events = 0
        var bytes = 0
        while events < Self.eventsPerTurn, let segment = pending.popLast() {
            events += segment.count
            bytes += segment.bytes.count
            counts.last = segment.last
            do {
                try topics.add(segment, prefixes, now: now, emit: emit)
            } catch {
                // Made by the ledger of this very process: a fault of the machine.
                counts.dropped += UInt64(segment.count)
            }
        }
        topics.finish(emit: emit)
        let goesOn = inbox.withLock { inbox in
            inbox.bytes -= bytes
            inbox.isScheduled = !inbox.isStopped && (!pending.isEmpty || !inbox.segments.isEmpty)
            if pending.isEmpty, inbox.segments.isEmpty { counts.last = inbox.last }
            return inbox.isScheduled
        }
        if goesOn { scheduleDrain() }
    }

    private func emit(_ topic: [UInt8], _ lines: [UInt8], _ count: Int) {
        if send(topic, lines) {
            counts.published += UInt64(count)
        } else {
            counts.dropped += UInt64(count)
        }
    }

    private func send(_ topic: [UInt8], _ lines: [UInt8]) -> Bool {
        guard let publisher, !isStopped else { return false }
        let result = publisher.send { outbox in
            outbox.add(topic)
            outbox.add(lines)
        }
        counts.messages += 1
        return result == .sent
    }

    /// `{"seq": last, "topics": {topic: last seq, …}}`: who missed the end of something sees it here.
    private func beat() {
        forgetSubscribersThatAreGone()
        let topic = Array("heartbeat".utf8)
        guard prefixes.wants(topic) else { return }
        var line = Array("{\"seq\":".utf8)
        DecimalText.append(counts.last, to: &line)
        line.append(contentsOf: ",\"topics\":".utf8)
        topics.appendLasts(since: loop.now + (.zero - EventBusSettings.topicMemory), to: &line)
        line.append(UInt8(ascii: "}"))
        _ = send(topic, line)
    }
}
