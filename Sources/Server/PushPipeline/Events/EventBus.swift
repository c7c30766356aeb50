package import PushLoop
package import PushModel
package import PushTransport
package import PushWire

/// Publishes the events that the ledger has numbered and synced, and answers replay requests for missed ones.
///
/// The actor is pinned to its loop. Segments arrive from any thread. All that have arrived by the next turn of the loop
/// are published together, as one message for each topic; only topics with subscribers are rendered. The owner stops
/// the bus before it shuts the loop down.
package actor EventBus {
    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// The segments that were handed in and that the loop has not taken.
    private struct Inbox {
        var segments: [LogSegment] = []
        /// The parts that were opened and closed since the loop has looked.
        var changes: [PartChange] = []
        /// The bytes of these segments, and of those that the loop has taken and not rendered yet.
        var bytes = 0
        /// The newest numbers that were handed in.
        var parts = OpenParts()
        var dropped: UInt64 = 0
        var isScheduled = false
        var isStopped = false
    }

    private enum PartChange {
        case opened(Int, newest: UInt64, heads: [LogWriter.Head])
        case closed(Int)
    }

    private nonisolated let inbox: Locked<Inbox>
    private nonisolated let inboxBytes: Int
    let context: ZMQContext
    let log: any EventLog
    var settings: EventBusSettings

    var publisher: ZMQSocket?
    /// The endpoint of `publisher`, with the port that the system chose.
    var publishEndpoint: String?
    var rebinding: Rebinding?
    var router: ZMQSocket?
    /// The limiter for the connections of both sockets.
    var connectionGuard: ZMQGuard?
    private var heartbeat: TimerHandle?
    var topics: TopicTable
    /// The newest numbers that were published, or passed over because they have no subscriber.
    private var parts = OpenParts()
    var prefixes: SubscribedPrefixes
    var prefixesChanged = false
    /// Whether nobody was connected to the publishing socket at the last heartbeat, and nobody has subscribed since.
    var isDeserted = false
    /// The segments to render, in reverse order: the next one is at the end.
    private var pending: [LogSegment] = []
    var counts = EventBusStatus()

    /// The replay requests in progress, by requester.
    var replays: [ReplayPeer: Replay] = [:]
    private(set) var isStopped = false
    private var stopWaiters: [CheckedContinuation<Void, Never>] = []

    /// The number of events that are rendered in one turn, before other work on the loop runs. A turn takes some
    /// milliseconds.
    private static let eventsPerTurn = 20_000

    /// Creates a bus. If ``EventBusSettings/isOfCluster`` is false, the log has one part, which is open; otherwise parts
    /// are opened by ``opened(_:newest:heads:)``.
    ///
    /// - Parameters:
    ///   - last: the newest number in the log.
    ///   - heads: the topics that the first heartbeats list, so that a subscriber sees what it missed before a restart.
    package init(
        on loop: EventLoop, in context: ZMQContext, log: any EventLog, settings: EventBusSettings, last: UInt64 = 0,
        heads: [LogWriter.Head] = []
    ) {
        self.loop = loop
        self.context = context
        self.log = log
        self.settings = settings
        inboxBytes = settings.inboxBytes
        var first = Inbox()
        if !settings.isOfCluster {
            first.parts.open(0, newest: last)
            first.changes.append(.opened(0, newest: last, heads: heads))
        }
        inbox = Locked(first)
        prefixes = SubscribedPrefixes(limit: settings.prefixLimit)
        topics = TopicTable(messageBytes: settings.messageBytes, messageLines: settings.messageLines)
        counts.last = last
    }

    // MARK: Any thread

    /// Takes segments that are on disk, in the order of their numbers within each part. Only one thread may call this at
    /// a time.
    package nonisolated func publish(_ segments: [LogSegment]) {
        guard !segments.isEmpty else { return }
        let wakes = inbox.withLock { inbox in
            guard !inbox.isStopped else { return false }
            for segment in segments {
                inbox.parts.raise(to: segment.last)
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

    /// Begins to list a part of the log in heartbeats, because this process carries it out from now on.
    ///
    /// - Parameters:
    ///   - newest: the newest number in the part.
    ///   - heads: the topics that the next heartbeats list, so that a subscriber sees what it missed of the former owner.
    package nonisolated func opened(_ part: PartitionID, newest: UInt64, heads: [LogWriter.Head]) {
        change(.opened(part.number, newest: newest, heads: heads)) { $0.open(part.number, newest: newest) }
    }

    /// Ends the listing of a part, because this process does not carry it out any more. Segments of the part that are
    /// handed in later are published all the same.
    package nonisolated func closed(_ part: PartitionID) {
        change(.closed(part.number)) { $0.close(part.number) }
    }

    private nonisolated func change(_ change: PartChange, in parts: (inout OpenParts) -> Void) {
        let wakes = inbox.withLock { inbox in
            guard !inbox.isStopped else { return false }
            parts(&inbox.parts)
            inbox.changes.append(change)
            defer { inbox.isScheduled = true }
            return !inbox.isScheduled
        }
        if wakes { scheduleDrain() }
    }

    private nonisolated func scheduleDrain() {
        loop.execute { self.assumeIsolated { $0.drain() } }
    }

    // MARK: Opening and stopping

    /// Binds the sockets and starts the heartbeat. May be called once. A socket without an endpoint is created but not
    /// bound.
    package func open() throws(ZMQError) -> EventBusEndpoints {
        precondition(publisher == nil && !isStopped, "an event bus can be opened only once")
        let publisher = try ZMQSocket(.xpub, in: context, on: loop, options: publisherOptions)
        let router: ZMQSocket
        do {
            router = try ZMQSocket(.router, in: context, on: loop, options: routerOptions)
        } catch {
            publisher.close()
            throw error
        }
        do {
            let connectionGuard = ZMQGuard(limits: settings.connectionLimits, report: settings.connectionEvents)
            for socket in [publisher, router] { try connectionGuard.watch(socket) }
            self.connectionGuard = connectionGuard
            let endpoints = EventBusEndpoints(
                publish: try Self.bind(publisher, settings.publish), replay: try Self.bind(router, settings.replay))
            publishEndpoint = endpoints.publish
            begin(publisher: publisher, router: router)
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
        // Subscribers send only subscriptions and handshakes. A subscription costs libzmq about thirty times its
        // length, so frames are short; the CURVE handshake takes more than 128 bytes.
        options.maxFrameSize = 640
        // libzmq reads subscriptions into a queue of its own at once, whatever the high-water mark is. Without a mark
        // it never stops reading, so `ignoresResets` is not needed. With that option the queue of a killed subscriber
        // would be kept for half a minute.
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
        options.maxFrameSize = settings.isOfCluster ? ReplayRequest.maxLengthWithParts : 4096
        // Without handover, a monitor that restarts under its old routing id is ignored until its old connection ends.
        options.routerHandover = true
        options.receiveHighWaterMark = 256
        options.ignoresResets = true
        return options
    }

    private func begin(publisher: ZMQSocket, router: ZMQSocket) {
        self.publisher = publisher
        self.router = router
        takeChanges()
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

    /// Closes both sockets and ends the replays in progress. Returns when none of them runs on the loop any more.
    /// Segments that are handed in afterwards are not published.
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
        status.rendered = counts.last
        status.prefixCount = prefixes.all.count
        status.prefixes = prefixes.all.prefix(EventBusStatus.shownPrefixes).map { String(decoding: $0, as: UTF8.self) }
            .sorted()
        status.rendersAll = prefixes.isOverfull
        status.replaysRunning = replays.count
        status.connections = connectionGuard?.gate.open ?? 0
        inbox.withLock { inbox in
            status.last = inbox.parts.total
            status.dropped += inbox.dropped
        }
        return status
    }

    // MARK: Publishing

    /// Takes the parts that were opened and closed. It does not matter that segments which were handed in before may be
    /// rendered after this: the numbers of a part only ascend.
    private func takeChanges() {
        for change in inbox.withLock({ exchange(&$0.changes, with: []) }) {
            switch change {
            case .opened(let part, let newest, let heads):
                parts.open(part, newest: newest)
                for head in heads { topics.note(head.kind, head.app, last: head.seq, at: loop.now, prefixes) }
            case .closed(let part):
                parts.close(part)
                topics.forget(part: part)
            }
        }
        counts.last = parts.total
    }

    private func drain() {
        takeChanges()
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
            parts.raise(to: segment.last)
            do {
                try topics.add(segment, prefixes, now: now, emit: emit)
            } catch {
                // The ledger of this process made the segment, so damage means a hardware or memory fault.
                counts.dropped += UInt64(segment.count)
            }
        }
        topics.finish(emit: emit)
        let goesOn = inbox.withLock { inbox in
            inbox.bytes -= bytes
            inbox.isScheduled =
                !inbox.isStopped && (!pending.isEmpty || !inbox.segments.isEmpty || !inbox.changes.isEmpty)
            // Segments that were dropped count as passed over.
            if pending.isEmpty, inbox.segments.isEmpty, inbox.changes.isEmpty { parts = inbox.parts }
            return inbox.isScheduled
        }
        counts.last = parts.total
        if goesOn { scheduleDrain() }
    }

    private func emit(_ topic: [UInt8], _ lines: [UInt8], _ count: Int) {
        if send(lines, on: topic) {
            counts.published += UInt64(count)
        } else {
            counts.dropped += UInt64(count)
        }
    }

    private func send(_ lines: [UInt8], on topic: [UInt8]) -> Bool {
        guard let publisher, !isStopped else { return false }
        let result = publisher.send { outbox in
            outbox.add(topic)
            outbox.add(lines)
        }
        counts.messages += 1
        return result == .sent
    }

    /// Publishes heartbeats, so that a subscriber sees when it missed the last events.
    private func beat() {
        forgetSubscribersThatAreGone()
        let topic = Array("heartbeat".utf8)
        guard prefixes.wants(topic) else { return }
        if settings.isOfCluster { beatParts(topic) } else { beatWhole(topic) }
    }

    /// Publishes `{"seq": last, "ts": time, "topics": {topic: last seq, …}}`.
    private func beatWhole(_ topic: [UInt8]) {
        var line = Array("{\"seq\":".utf8)
        DecimalText.append(counts.last, to: &line)
        line.append(contentsOf: ",\"ts\":".utf8)
        DecimalText.append(settings.wallClock().milliseconds, to: &line)
        line.append(contentsOf: ",\"topics\":".utf8)
        topics.appendLasts(ofPart: 0, since: loop.now + (.zero - EventBusSettings.topicMemory), to: &line)
        line.append(UInt8(ascii: "}"))
        _ = send(line, on: topic)
    }

    /// Publishes `{"ts": time, "parts": {part: {"seq": last, "topics": {topic: last seq, …}}, …}}`, as several messages
    /// if there are many parts. Each message has whole parts.
    private func beatParts(_ topic: [UInt8]) {
        let since = loop.now + (.zero - EventBusSettings.topicMemory)
        var start = Array("{\"ts\":".utf8)
        DecimalText.append(settings.wallClock().milliseconds, to: &start)
        start.append(contentsOf: ",\"parts\":{".utf8)
        var line = start
        for (part, newest) in parts.all {
            if line.count > settings.messageBytes {
                line.append(contentsOf: "}}".utf8)
                _ = send(line, on: topic)
                line = start
            }
            if line.count > start.count { line.append(UInt8(ascii: ",")) }
            line.append(UInt8(ascii: "\""))
            DecimalText.append(UInt64(part), to: &line)
            line.append(contentsOf: "\":{\"seq\":".utf8)
            DecimalText.append(newest, to: &line)
            line.append(contentsOf: ",\"topics\":".utf8)
            topics.appendLasts(ofPart: part, since: since, to: &line)
            line.append(UInt8(ascii: "}"))
        }
        line.append(contentsOf: "}}".utf8)
        _ = send(line, on: topic)
    }
}
