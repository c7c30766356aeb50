package import PushLogic
package import PushLoop
package import PushModel
package import PushTransport

/// Asks the feedback service of one app which devices are gone, about once a day, and hands that to a sink.
///
/// Reading clears the list on the server, so tuples go to the spool, are synced, and only then to the sink; what the sink
/// did not take is offered again, also by the next run. Memory holds two batches at most, however long the list is.
package actor FeedbackPoller {
    package struct Settings: Sendable {
        package var tls: TLSContext
        package var serverName: String
        package var resolver: NameResolver
        package var schedule = FeedbackMachine.Options()
        /// Tuples handed on at once. Default 1000.
        package var batchSize = 1000
        /// From the first look-up to the end of TLS. Default 10 s.
        package var connectTimeout: Duration = .seconds(10)
        /// Nothing came for so long, and the list did not end. Default 60 s.
        package var silenceLimit: Duration = .seconds(60)

        /// `tls` shows the push certificate and offers no protocol by ALPN.
        package init(tls: TLSContext, serverName: String, resolver: NameResolver) {
            self.tls = tls
            self.serverName = serverName
            self.resolver = resolver
        }
    }

    package struct Status: Sendable, Equatable {
        package var polls: UInt64 = 0
        package var failedPolls: UInt64 = 0
        /// Read from the service, by this run.
        package var received: UInt64 = 0
        /// Taken by the sink, those of earlier runs too.
        package var taken: UInt64 = 0
        /// Lists that ended within a tuple.
        package var truncated: UInt64 = 0
        /// Tuples that were none.
        package var malformed: UInt64 = 0
        /// Read, and neither spooled nor taken.
        package var lost: UInt64 = 0
        /// Whether the spool holds what the sink has not taken.
        package var isBehind = false
    }

    private nonisolated let loop: EventLoop
    private let app: AppID
    private let place: HostPort
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

    /// It does nothing before `start`.
    package init(
        app: AppID, on loop: EventLoop, to place: HostPort, settings: Settings, spool: FeedbackSpool,
        sink: any FeedbackSink, log: Logger
    ) {
        self.app = app
        self.loop = loop
        self.place = place
        self.settings = settings
        self.spool = spool
        self.sink = sink
        self.log = log
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Begins with what the last run left in the spool.
    package func start() {
        guard task == nil, !isStopping else { return }
        task = Task { await run() }
    }

    /// Does not wait for the next time.
    package func pollNow() {
        machine?.pollRequested(now: loop.now)
        wake()
    }

    /// Ends the connection that is open and returns when what was read is in the spool or taken.
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

    /// Until then, or until something has changed.
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
            var place: Int? = 0
            var torn = 0
            var count = 0
            while let next = place, !isStopping {
                let piece = try await spool.read(from: next, limit: settings.batchSize)
                if !piece.tuples.isEmpty {
                    status.isBehind = true
                    try await sink.take(piece.tuples, of: app)
                    status.taken += UInt64(piece.tuples.count)
                    count += piece.tuples.count
                }
                place = piece.next
                torn = piece.torn
            }
            guard place == nil else { return }
            if torn > 0 {
                log.error(
                    "the feedback spool ended within a record: what stands there is lost",
                    [.file: spool.path, .size: torn])
            }
            if count > 0 || torn > 0 { try await spool.clear() }
            if count > 0 { log.info("took feedback from the spool", [.count: count]) }
            status.isBehind = false
            machine?.replayed()
        } catch {
            machine?.replayFailed(now: loop.now, random: .random(in: 0..<1))
            log.warning("feedback waits in the spool; it is tried again", [.file: spool.path, .error: "\(error)"])
        }
    }

    // MARK: Polling

    private func poll() async {
        status.polls += 1
        let reader = FeedbackReader(on: loop, to: place, settings: settings)
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
            // To read on would clear what can no longer be kept.
            if await !keep(piece.tuples) { await reader.cancel() }
        }
        self.reader = nil
        status.malformed += malformed
        if malformed > 0 {
            log.error("the feedback list held tokens that are none", [.count: malformed, .host: place.host])
        }
        let hasFailed = report(end, count)
        machine?.pollEnded(
            failed: hasFailed, isBehind: status.isBehind, now: loop.now, random: .random(in: 0..<1))
    }

    /// True if the poll counts as failed.
    private func report(_ end: FeedbackReader.End?, _ count: Int) -> Bool {
        switch end {
        case .complete(let truncation):
            if let truncation {
                status.truncated += 1
                log.error("\(truncation.description)", [.count: count, .host: place.host])
            }
            log.info("read the feedback list", [.count: count, .host: place.host])
            return false
        case .failed(let message):
            if !isStopping {
                status.failedPolls += 1
                log.warning("the feedback service was not read to its end", [.count: count, .error: message])
            }
            return true
        case nil:
            return true
        }
    }

    /// To the spool, then to the sink. False: neither has them.
    private func keep(_ tuples: [FeedbackTuple]) async -> Bool {
        var isSpooled = false
        do {
            try await spool.append(tuples)
            isSpooled = true
        } catch {
            log.error("cannot spool feedback; it goes to its sink at once", [.file: spool.path, .error: "\(error)"])
        }
        // What waits in the spool comes first, in its turn.
        if status.isBehind, isSpooled { return true }
        do {
            try await sink.take(tuples, of: app)
            status.taken += UInt64(tuples.count)
        } catch {
            log.warning("the sink does not take feedback", [.count: tuples.count, .error: "\(error)"])
            if isSpooled {
                status.isBehind = true
            } else {
                status.lost += UInt64(tuples.count)
                log.error("feedback is lost: neither spool nor sink took it", [.count: tuples.count])
            }
            return isSpooled
        }
        guard isSpooled else { return true }
        do {
            try await spool.clear()
        } catch {
            // Taken twice, then.
            log.warning("cannot remove the feedback spool", [.file: spool.path, .error: "\(error)"])
            status.isBehind = true
        }
        return true
    }
}
