import PushAPI
import PushConfiguration
import PushLogic
import PushLoop
import PushModel
import PushStore
import PushTransport

/// The delivery of the events of one part of the log to one receiver: it carries out what its machine decides.
///
/// It is pinned to no loop: it reads and signs some hundred kilobytes at a time, which would delay the work of a loop.
actor Webhook {
    /// The longest time between two looks at the log.
    private static let longestRest: Duration = .seconds(60)
    /// The shortest time between two warnings that the receiver fails, unless a pause is longer. One that fails now and
    /// then would fill the log.
    private static let warningInterval: Duration = .seconds(60)

    nonisolated let name: String
    /// The part of the log; 0 on a single node.
    nonisolated let part: Int
    nonisolated let reading: Locked<WebhookReading>
    private let parts: Dependencies
    private let place: any WebhookPlace
    private let log: Logger
    private(set) var loaded: LoadedWebhook
    private var machine: WebhookMachine
    /// What the machine's record follows. Both change together, so that an earlier record is never stored over a later
    /// decision.
    private(set) var revision: WebhookRevision
    /// The body of the machine's batch.
    private var body: [UInt8] = []
    /// The time of the next request after one that failed, by the clock of the wall.
    private var nextAttemptAt: WallTime?
    /// The changes that are announced when they are stored.
    private var unannounced: [EventDraft] = []
    private var isTroubled = false
    private var warnedAt: MonotonicTime?
    private var resting: Task<Void, Never>?
    private var working: Task<Void, Never>?

    init(
        _ loaded: LoadedWebhook, machine: WebhookMachine, at place: any WebhookPlace, part: Int = 0,
        revision: WebhookRevision = WebhookRevision(), parts: Dependencies
    ) {
        name = loaded.settings.name
        (self.loaded, self.machine, self.place, self.part, self.parts) = (loaded, machine, place, part, parts)
        self.revision = revision
        log = parts.log.with([.webhook: loaded.settings.name])
        reading = Locked(WebhookReading(position: machine.record.position))
    }

    func begin() { working = Task { await work() } }

    func stop() async {
        working?.cancel()
        await working?.value
    }

    /// Uses changed settings from the next request on.
    func use(_ loaded: LoadedWebhook) {
        let old = exchange(&self.loaded, with: loaded)
        if loaded.settings.prefixes != old.settings.prefixes { machine.prefixesChanged() }
        if loaded.settings.address != old.settings.address { machine.addressChanged() }
        if !loaded.asks(like: old) {
            machine.endBackOff()
            nextAttemptAt = nil
        }
        wake()
    }

    // MARK: Steps

    private func work() async {
        while !Task.isCancelled {
            let now = MonotonicTime.current()
            let step = machine.next(now: now)
            reading.withLock { $0.position = machine.record.position }
            switch step {
            case .rest: await rest { try? await Task.sleep(for: .seconds(3600)) }
            case .wait(let time): await rest { try? await Task.sleep(for: max(.zero, time - now)) }
            case .listen(let position):
                await rest { [waiting = parts.waiting, place = LogPosition(onlyAfter: position, of: parts.partCount)] in
                    await waiting.waitForEvents(after: place, for: Self.longestRest)
                }
                machine.eventsCommitted()
            case .store(let record): await store(record, at: revision)
            case .read(let position): await read(after: position)
            case .rebuild(let batch): await rebuild(batch)
            case .send(let batch): await send(batch)
            }
        }
    }

    /// Waits until something is done, or until ``wake()``.
    private func rest(_ wait: @escaping @Sendable () async -> Void) async {
        let task = Task { await wait() }
        resting = task
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        resting = nil
    }

    private func wake() { resting?.cancel() }

    private func store(_ record: WebhookRecord, at revision: WebhookRevision) async {
        // An operator may change more meanwhile.
        let changes = unannounced
        do {
            let isNews = try await place.write(record, at: revision)
            machine.stored()
            unannounced.removeFirst(changes.count)
            for change in changes where isNews || change.kind != .webhookDisabled { publish(change) }
        } catch is WebhookRecordTaken {
            // What comes next is up to those who have taken it.
            machine.storeFailed(now: .current(), random: .random(in: 0..<1))
        } catch {
            log.error("cannot store the position of a webhook: nothing is sent", [.error: "\(error)"])
            machine.storeFailed(now: .current(), random: .random(in: 0..<1))
        }
    }

    private func read(after position: UInt64) async {
        do {
            let found = try await parts.events.batch(after: position, prefixes: loaded.settings.prefixes)
            report(found)
            skip(found.bounds, after: position)
            guard found.count > 0 else {
                return machine.examined(through: found.examined, isEnd: found.isEnd, now: .current())
            }
            let id = "msg_" + Hex.encode(SecureRandom.bytes(16))
            let batch = WebhookBatch(
                id: id, after: position, through: found.last, digest: SHA256.hash(found.body).bytes)
            if machine.found(batch) { body = found.body }
        } catch {
            readFailed(error)
        }
    }

    private func rebuild(_ batch: WebhookBatch) async {
        do {
            let found = try await parts.events.batch(
                after: batch.after, through: batch.through, prefixes: loaded.settings.prefixes)
            report(found)
            skip(found.bounds, after: batch.after)
            let digest = SHA256.hash(found.body).bytes
            if machine.record.batch == batch, digest == batch.digest { body = found.body }
            machine.rebuilt(digest)
        } catch {
            readFailed(error)
        }
    }

    private func readFailed(_ error: any Error) {
        if !Task.isCancelled { log.warning("cannot read the events for a webhook", [.error: "\(error)"]) }
        machine.readFailed(now: .current())
    }

    private func report(_ found: EventBatch) {
        guard !found.damaged.isEmpty else { return }
        log.error(
            "events are damaged and not delivered; check the disk",
            [.event: "ledger.damaged", .count: found.damaged.count, .next: Int(clamping: found.damaged[0])])
    }

    /// Moves the position if the log does not have it any more.
    private func skip(_ bounds: LogBounds, after position: UInt64) {
        // An operator may have moved it meanwhile.
        guard machine.record.position == position else { return }
        if machine.replaced(oldest: bounds.oldest, newest: bounds.newest) {
            announce(.webhookSkipped, reason: "log_replaced", skipped: 0)
        } else if let count = machine.trimmed(before: bounds.oldest) {
            announce(.webhookSkipped, reason: "retention", skipped: count)
        }
    }

    // MARK: Requests

    private func send(_ batch: WebhookBatch) async {
        let verdict: WebhookMachine.Verdict
        do throws(HTTP1ClientFault) {
            let answer = try await parts.call.send(body, id: batch.id, to: loaded)
            take(.init(status: answer.status), status: answer.status, fault: nil)
            verdict = machine.answered(
                answer.status, retryAfter: answer.retryAfter, now: .current(), random: .random(in: 0..<1))
        } catch {
            if !Task.isCancelled { take(.none, status: nil, fault: error.reason) }
            verdict = machine.unanswered(now: .current(), random: .random(in: 0..<1))
        }
        nextAttemptAt = nil
        switch verdict {
        case .delivered:
            body = []
            reading.withLock { $0.lastSuccess = .current() }
            if exchange(&isTroubled, with: false) {
                log.notice("the receiver of a webhook takes events again", [.event: "webhook.delivered"])
            }
        case .retry(let time): failed(until: time)
        case .disabled: announce(.webhookDisabled, reason: WebhookAnswer.Reason.gone.rawValue)
        case .overtaken: break
        }
    }

    private func take(_ outcome: WebhookReading.Outcome, status: Int?, fault: String?) {
        reading.withLock { $0.take(outcome, status: status, fault: fault, at: .current()) }
    }

    private func failed(until time: MonotonicTime) {
        let now = MonotonicTime.current()
        let pause = max(.zero, time - now)
        nextAttemptAt = WallTime.current() + pause
        // Each further failure is in the metrics.
        let isDue = pause >= Self.warningInterval || warnedAt.map { now - $0 >= Self.warningInterval } ?? true
        guard !Task.isCancelled, !isTroubled, isDue else { return }
        isTroubled = true
        warnedAt = now
        let last = reading.withLock { $0 }
        log.warning(
            "the receiver of a webhook does not take events; the batch is sent again until it does",
            [
                .event: "webhook.failing", .code: last.lastStatus.map { "\($0)" } ?? "-",
                .reason: last.lastFault ?? "-", .duration: pause,
            ])
    }

    private func announce(_ kind: EventKind, reason: String? = nil, skipped: UInt64? = nil) {
        var draft = EventDraft(kind, ofWebhook: name, reason: reason)
        if let skipped { draft.add("skipped", number: Int64(clamping: skipped)) }
        unannounced.append(draft)
    }

    private func publish(_ change: EventDraft) {
        parts.announce(change)
        let word = "\(change.kind.name)"
        log.notice("webhook \(word)", [.event: "webhook.\(word)", .reason: change.reason ?? "-"])
    }

    // MARK: Operators

    /// Stores the record at once, also beside a request, so that a kill does not undo what an operator was answered.
    func storeNow() async throws { _ = try await place.write(machine.record, at: revision) }

    /// Returns whether it is paused now; false if it is disabled, which nothing changes.
    func pause() -> Bool {
        if machine.pause() { announce(.webhookPaused) }
        wake()
        return machine.record.standing == .paused
    }

    func resume() {
        nextAttemptAt = nil
        if machine.resume() { announce(.webhookResumed) }
        wake()
    }

    func seek(to position: UInt64, moves: Int64 = 0) {
        nextAttemptAt = nil
        revision.moves = moves
        machine.seek(to: position)
        wake()
    }

    /// Follows a standing that was decided for all parts, with a number of changes.
    func follow(_ standing: WebhookRecord.Standing, changes: Int64) {
        nextAttemptAt = nil
        revision.changes = changes
        machine.follow(standing)
        wake()
    }

    var answer: WebhookAnswer {
        let last = reading.withLock { $0 }
        let (now, record) = (MonotonicTime.current(), machine.record)
        let newest = parts.newest(of: part)
        return WebhookAnswer(
            name: name, host: "\(loaded.settings.address.endpoint)",
            state: WebhookAnswer.State(machine.state(now: now)), reason: record.standing.reason,
            prefixes: loaded.settings.prefixes, position: EventNumber.within(record.position),
            lag: newest - min(newest, record.position), lastStatus: last.lastStatus,
            lastFault: last.lastFault, lastAt: last.lastAt, lastSuccessAt: last.lastSuccess,
            nextAttemptAt: record.standing == .active ? nextAttemptAt : nil, failures: machine.failures)
    }
}

extension WebhookRecord.Standing {
    /// Why nothing is sent, if no operator has paused it.
    fileprivate var reason: WebhookAnswer.Reason? {
        switch self {
        case .active, .paused: nil
        case .disabled: .gone
        case .damaged: .damaged
        }
    }
}

extension WebhookAnswer.State {
    fileprivate init(_ state: WebhookMachine.State) {
        self =
            switch state {
            case .idle: .idle
            case .reading: .reading
            case .sending: .sending
            case .backingOff: .backingOff
            case .paused: .paused
            case .disabled: .disabled
            }
    }
}
