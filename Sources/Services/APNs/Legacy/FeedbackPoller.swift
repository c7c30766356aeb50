import PushLogic
package import PushLoop
package import PushModel
package import PushTransport

/// Polls the feedback service of one app for dead devices, about once a day, and passes them to a sink.
///
/// Reading clears the list on the server. So tuples are written to the spool and synced, and only then passed to the
/// sink. If the sink fails, they are passed to it again later, also after a restart. At most two batches are in memory,
/// whatever the length of the list.
package actor FeedbackPoller {
    package struct Settings: Sendable {
        package var tls: TLSContext
        package var serverName: String
        package var resolver: NameResolver
        package var schedule = FeedbackMachine.Options()
        /// The maximum number of tuples in one call of the sink. Default 1000.
        package var batchSize = 1000
        /// The time limit from the first look-up to the end of the TLS handshake. Default 10 s.
        package var connectTimeout: Duration = .seconds(10)
        /// The maximum time without data before the end of the list. Default 60 s.
        package var silenceLimit: Duration = .seconds(60)

        /// - Parameter tls: presents the push certificate and offers no ALPN protocol.
        package init(tls: TLSContext, serverName: String, resolver: NameResolver) {
            self.tls = tls
            self.serverName = serverName
            self.resolver = resolver
        }
    }

    package struct Status: Sendable, Equatable {
        package var polls: UInt64 = 0
        package var failedPolls: UInt64 = 0
        /// The tuples that this run has read from the service.
        package var received: UInt64 = 0
        /// The tuples that the sink has taken, including those of earlier runs.
        package var taken: UInt64 = 0
        /// The lists that ended within a tuple.
        package var truncated: UInt64 = 0
        /// The tuples with an invalid token.
        package var malformed: UInt64 = 0
        /// The tuples that were read, and neither spooled nor taken.
        package var lost: UInt64 = 0
        /// Whether the spool contains tuples that the sink has not taken.
        package var isBehind = false
    }

    private nonisolated let loop: EventLoop
    private let app: AppID
    private let endpoint: HostPort
    private let settings: Settings
    private let spool: FeedbackSpool
    private let sink: any FeedbackSink
    private let log: Logger
    private var machine: FeedbackMachine?
    private var task: Task<Void, Never>?
    private var isStopping = false
    private var reader: FeedbackReader?
    private var sleeper: CheckedContinuation<Void, Never>?
    private var timer: TimerID?
    package private(set) var status = Status()

    /// Creates a poller, which is idle until ``start()``.
    package init(
        app: AppID, on loop: EventLoop, to endpoint: HostPort, settings: Settings, spool: FeedbackSpool,
        sink: any FeedbackSink, log: Logger
    ) {
        self.app = app
        self.loop = loop
        self.endpoint = endpoint
        self.settings = settings
        self.spool = spool
        self.sink = sink
        self.log = log
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Starts the poller. It begins with the tuples that the last run left in the spool.
    package func start() {
        guard task == nil, !isStopping else { return }
        task = Task { await run() }
    }

    /// Closes the open connection. Returns when all tuples that were read are in the spool or taken.
    package func stop() async {
        isStopping = true
        wake()
        await reader?.cancel()
        await task?.value
        task = nil
    }

    // MARK: The schedule

    private func run() async {
        machine = FeedbackMachine(settings.schedule, now: loop.now, random: .random(in: 0..<1))
        while !isStopping, let (step, time) = machine?.next {
            guard loop.now >= time else {
                await sleep(until: time)
                continue
            }
            switch step {
            case .replay: await replay()
            case .poll: await poll()
            }
        }
    }

    /// Sleeps until `time`, or until ``wake()`` is called.
    private func sleep(until time: MonotonicTime) async {
        await withCheckedContinuation { continuation in
            sleeper = continuation
            timer = loop.schedule(at: time) {
                self.timer = nil
                self.wake()
            }
        }
    }

    private func wake() {
        if let timer { loop.cancel(timer) }
        timer = nil
        sleeper.take()?.resume()
    }

    // MARK: The spool

    private func replay() async {
        do {
            var offset: Int? = 0
            var torn = 0
            var count = 0
            while let next = offset, !isStopping {
                let piece = try await spool.read(from: next, limit: settings.batchSize)
                if !piece.tuples.isEmpty {
                    status.isBehind = true
                    try await sink.take(piece.tuples, of: app)
                    status.taken += UInt64(piece.tuples.count)
                    count += piece.tuples.count
                }
                offset = piece.next
                torn = piece.torn
            }
            guard offset == nil else { return }
            if torn > 0 {
                log.error(
                    "feedback spool truncated: incomplete record dropped",
                    [.file: spool.path, .size: torn])
            }
            if count > 0 || torn > 0 { try await spool.clear() }
            if count > 0 { log.info("feedback spool replayed", [.count: count]) }
            status.isBehind = false
            machine?.replayed()
        } catch {
            machine?.replayFailed(now: loop.now, random: .random(in: 0..<1))
            log.warning("feedback not processed, kept in the spool for retry", [.file: spool.path, .error: "\(error)"])
        }
    }

    // MARK: Polling

    private func poll() async {
        status.polls += 1
        let reader = FeedbackReader(on: loop, to: endpoint, settings: settings)
        self.reader = reader
        var count = 0
        var malformed: UInt64 = 0
        var end: FeedbackReader.End?
        while end == nil {
            let piece = await reader.next()
            count += piece.tuples.count
            malformed = piece.malformed
            end = piece.end
            guard !piece.tuples.isEmpty else { continue }
            status.received += UInt64(piece.tuples.count)
            // Further reading would clear tuples on the server that cannot be kept.
            if await !keep(piece.tuples) { await reader.cancel() }
        }
        self.reader = nil
        status.malformed += malformed
        if malformed > 0 {
            log.error("feedback list contains malformed tokens, skipped", [.count: malformed, .host: endpoint.host])
        }
        let hasFailed = report(end, count: count)
        machine?.pollEnded(
            failed: hasFailed, isBehind: status.isBehind, now: loop.now, random: .random(in: 0..<1))
    }

    /// Logs the end of a list. Returns true if the poll failed.
    private func report(_ end: FeedbackReader.End?, count: Int) -> Bool {
        switch end {
        case .complete(let truncation):
            if let truncation {
                status.truncated += 1
                log.error("\(truncation.description)", [.count: count, .host: endpoint.host])
            }
            log.info("feedback list read", [.count: count, .host: endpoint.host])
            return false
        case .failed(let message):
            if !isStopping {
                status.failedPolls += 1
                log.warning("feedback poll failed before the end of the list", [.count: count, .error: message])
            }
            return true
        case nil:
            return true
        }
    }

    /// Writes tuples to the spool, then passes them to the sink. Returns false if neither has them.
    private func keep(_ tuples: [FeedbackTuple]) async -> Bool {
        var isSpooled = false
        do {
            try await spool.append(tuples)
            isSpooled = true
        } catch {
            log.error(
                "cannot write the feedback spool; feedback is passed on without it",
                [.file: spool.path, .error: "\(error)"])
        }
        // The tuples in the spool are passed to the sink first.
        if status.isBehind, isSpooled { return true }
        do {
            try await sink.take(tuples, of: app)
            status.taken += UInt64(tuples.count)
        } catch {
            log.warning("feedback not processed: sink failed", [.count: tuples.count, .error: "\(error)"])
            if isSpooled {
                status.isBehind = true
            } else {
                status.lost += UInt64(tuples.count)
                log.error("feedback lost: spool and sink failed", [.count: tuples.count])
            }
            return isSpooled
        }
        guard isSpooled else { return true }
        do {
            try await spool.clear()
        } catch {
            // The sink will get these tuples twice.
            log.warning("cannot remove the feedback spool", [.file: spool.path, .error: "\(error)"])
            status.isBehind = true
        }
        return true
    }
}
