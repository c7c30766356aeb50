package import PushTime

/// The delivery of events to one receiver: at least once, in the order of their numbers, one request at a time.
///
/// It says what to do next, and learns the result before it says anything else. Operators may pause, resume and move it
/// at any time, also while a step is under way.
package struct WebhookMachine: Sendable {
    package enum Step: Sendable, Equatable {
        /// A step is under way, or the webhook is paused or disabled.
        case rest
        /// Nothing is due before this time.
        case wait(until: MonotonicTime)
        /// All events are examined: wait for one with a greater number.
        case listen(after: UInt64)
        /// Sync this record to disk.
        case store(WebhookRecord)
        /// Make a batch of the events after this number.
        case read(after: UInt64)
        /// Make the body of a batch of an earlier run again.
        case rebuild(WebhookBatch)
        case send(WebhookBatch)
    }

    /// The effect of the end of a request.
    package enum Verdict: Sendable, Equatable {
        case delivered
        case retry(at: MonotonicTime)
        case disabled
        /// The position was moved, or the address has changed meanwhile, so that the result does not count.
        case overtaken
    }

    /// The longest pause after a failure that follows a success: a receiver that fails now and then must not fall behind.
    static let firstPause: Duration = .milliseconds(50)
    private static let backoff = Backoff(first: .seconds(1), maxDelay: .seconds(3600))
    /// A position that only passes events of other topics is stored after this time, because a sync for each read would
    /// cost more than reading these events again after a restart.
    static let lazyStore: Duration = .seconds(60)

    package private(set) var record: WebhookRecord
    /// The number of failed requests since the last success.
    package private(set) var failures = 0
    /// The step whose result is expected.
    private var underWay: Step?
    /// Whether the settings have changed so that the result of this step does not count.
    private var isOutdated = false
    private var mustStore = false
    /// Whether the success of the last batch is not stored. It is stored with the next batch, or as soon as none follows.
    private var isSuccessUnstored = false
    /// The time of the first move of the position that is not stored.
    private var movedAt: MonotonicTime?
    private var storeFailures = 0
    /// Nothing is stored before this time, because the disk has refused it.
    private var storeAgainAt: MonotonicTime?
    /// Nothing is sent before this time.
    private var sendAgainAt: MonotonicTime?
    /// Whether the body of the batch is at hand.
    private var hasBody = false
    private var isDrained = false

    /// Continues from a record.
    ///
    /// - Parameter isStored: Whether the record is on disk. Otherwise it is stored before anything else, so that a restart
    ///   does not begin after events that came since then.
    package init(_ record: WebhookRecord, isStored: Bool = true) {
        self.record = record
        mustStore = !isStored
    }

    /// What operators see.
    package enum State: String, Sendable, CaseIterable {
        /// All events are delivered that concern the receiver.
        case idle
        /// It looks for events, or stores a position.
        case reading
        case sending
        /// A request has failed, and the next one is not due yet.
        case backingOff = "backing_off"
        case paused, disabled
    }

    package func state(now: MonotonicTime) -> State {
        switch record.standing {
        case .paused: return .paused
        case .disabled, .damaged: return .disabled
        case .active: break
        }
        if case .send = underWay { return .sending }
        if failures > 0, let sendAgainAt, now < sendAgainAt { return .backingOff }
        return isDrained && record.batch == nil ? .idle : .reading
    }

    /// Returns the next step. The result of any step but the first three must be reported before another one follows.
    package mutating func next(now: MonotonicTime) -> Step {
        guard underWay == nil else { return .rest }
        let step = due(now: now)
        switch step {
        case .store, .read, .rebuild, .send:
            underWay = step
            isOutdated = false
        case .rest, .wait, .listen: break
        }
        return step
    }

    private func due(now: MonotonicTime) -> Step {
        let isLate = movedAt.map { now - $0 >= Self.lazyStore } ?? false
        if mustStore || isLate {
            if let storeAgainAt, now < storeAgainAt { return .wait(until: storeAgainAt) }
            return .store(record)
        }
        guard record.standing == .active else { return .rest }
        if let sendAgainAt, now < sendAgainAt { return .wait(until: sendAgainAt) }
        if let batch = record.batch { return hasBody ? .send(batch) : .rebuild(batch) }
        return isDrained ? .listen(after: record.position) : .read(after: record.position)
    }

    // MARK: The disk

    package mutating func stored() {
        guard case .store(let written) = underWay.take() else { preconditionFailure("no record was being stored") }
        storeFailures = 0
        storeAgainAt = nil
        movedAt = nil
        isSuccessUnstored = false
        // An operator may have changed it meanwhile.
        mustStore = record != written
    }

    /// Nothing is sent while the disk refuses: the same id could otherwise have another body after a restart.
    package mutating func storeFailed(now: MonotonicTime, random: Double) {
        guard case .store = underWay.take() else { preconditionFailure("no record was being stored") }
        storeFailures = min(storeFailures + 1, 64)
        storeAgainAt =
            now
            + Backoff(first: .seconds(1), maxDelay: .seconds(60))
            .delay(afterFailures: storeFailures, random: random)
    }

    // MARK: The log

    /// Takes the batch that was asked for. Returns whether its body is to be kept.
    package mutating func found(_ batch: WebhookBatch) -> Bool {
        guard endRead() else { return false }
        record.batch = batch
        hasBody = true
        mustStore = true
        return true
    }

    /// No event up to this number concerns the receiver. There may be more events after it unless `isEnd`.
    package mutating func examined(through last: UInt64, isEnd: Bool, now: MonotonicTime) {
        guard endRead() else { return }
        if last > record.position {
            record.position = last
            if movedAt == nil { movedAt = now }
        }
        isDrained = isEnd
        if isSuccessUnstored { mustStore = true }
    }

    /// The log cannot be read now.
    package mutating func readFailed(now: MonotonicTime) {
        underWay = nil
        if isSuccessUnstored { mustStore = true }
        sendAgainAt = now + .seconds(1)
    }

    /// Ends the reading of a batch. Returns false if its result does not count any more.
    private mutating func endRead() -> Bool {
        guard case .read(let after) = underWay.take() else { preconditionFailure("no events were being read") }
        return after == record.position && record.batch == nil && !isOutdated
    }

    /// The body of the batch was made again, with this digest.
    package mutating func rebuilt(_ digest: [UInt8]) {
        guard case .rebuild(let batch) = underWay.take() else { preconditionFailure("no batch was being made again") }
        guard record.batch == batch, !isOutdated else { return }
        if digest == batch.digest {
            hasBody = true
        } else {
            dropBatch()
            mustStore = true
        }
    }

    /// Retention has removed the events before this number. Returns how many numbers that skips, if the receiver has
    /// not had all of them.
    package mutating func trimmed(before oldest: UInt64) -> UInt64? {
        guard oldest > record.position, oldest - record.position > 1 else { return nil }
        let skipped = oldest - record.position - 1
        record.position = oldest - 1
        dropBatch()
        mustStore = true
        return skipped
    }

    /// The log ends before the position, because another one has taken its place. The delivery begins with its oldest
    /// event. Returns false if the position is within the log.
    package mutating func replaced(oldest: UInt64, newest: UInt64) -> Bool {
        guard record.position > newest else { return false }
        record.position = oldest - min(oldest, 1)
        dropBatch()
        mustStore = true
        return true
    }

    package mutating func eventsCommitted() { isDrained = false }

    // MARK: The receiver

    package mutating func answered(
        _ status: Int, retryAfter: Duration?, now: MonotonicTime, random: Double
    ) -> Verdict {
        let batch = endRequest()
        guard !isOutdated else { return .overtaken }
        if status == 410 {
            record.standing = .disabled
            mustStore = true
            return .disabled
        }
        guard record.batch == batch else { return .overtaken }
        guard (200...299).contains(status) else {
            // Who counts requests may count those that it refuses, too.
            let asked = retryAfter ?? (status == 429 ? .seconds(1) : nil)
            return failed(asked: asked, now: now, random: random)
        }
        record.position = batch.through
        dropBatch()
        failures = 0
        sendAgainAt = nil
        isDrained = false
        isSuccessUnstored = true
        return .delivered
    }

    /// The request had no answer.
    package mutating func unanswered(now: MonotonicTime, random: Double) -> Verdict {
        guard record.batch == endRequest(), !isOutdated else { return .overtaken }
        return failed(asked: nil, now: now, random: random)
    }

    private mutating func endRequest() -> WebhookBatch {
        guard case .send(let batch) = underWay.take() else { preconditionFailure("no request was under way") }
        return batch
    }

    private mutating func failed(asked: Duration?, now: MonotonicTime, random: Double) -> Verdict {
        failures = min(failures + 1, Int(Int32.max))
        let own = Self.pause(afterFailures: failures, random: random)
        let time = now + min(max(own, asked ?? .zero), Self.backoff.maxDelay)
        sendAgainAt = time
        return .retry(at: time)
    }

    /// Returns the pause after so many failures in a row. `random` in 0..<1 shortens it by up to a half.
    package static func pause(afterFailures failures: Int, random: Double) -> Duration {
        failures == 1 ? firstPause * (1 - random / 2) : backoff.delay(afterFailures: failures - 1, random: random)
    }

    // MARK: Operators

    /// Returns whether that changed anything.
    package mutating func pause() -> Bool {
        guard record.standing == .active else { return false }
        record.standing = .paused
        mustStore = true
        return true
    }

    /// Lets a paused or disabled webhook continue, and ends a back-off. Returns whether it was paused or disabled.
    package mutating func resume() -> Bool {
        endBackOff()
        guard record.standing != .active else { return false }
        record.standing = .active
        mustStore = true
        return true
    }

    /// Takes a standing that was decided elsewhere. Where that is to go on, a back-off ends.
    package mutating func follow(_ standing: WebhookRecord.Standing) {
        if standing == .active {
            _ = resume()
        } else if record.standing != standing {
            record.standing = standing
            mustStore = true
        }
    }

    /// Continues with the events after this number, whatever was delivered.
    package mutating func seek(to position: UInt64) {
        record.position = position
        dropBatch()
        endBackOff()
        isDrained = false
        mustStore = true
        // What was refused was the record before the move.
        storeAgainAt = nil
    }

    // MARK: Settings

    /// The receiver gets the events of other topics. The body of the batch is made again; if it has become another one,
    /// its id does, too.
    package mutating func prefixesChanged() {
        hasBody = false
        isDrained = false
        switch underWay {
        case .read, .rebuild: isOutdated = true
        case .send, .store, .rest, .wait, .listen, nil: break
        }
    }

    /// Another receiver gets the events: what the earlier one answers to the request under way does not count.
    package mutating func addressChanged() {
        if case .send = underWay { isOutdated = true }
    }

    /// Sends again at once after a failure.
    package mutating func endBackOff() {
        failures = 0
        sendAgainAt = nil
    }

    private mutating func dropBatch() {
        record.batch = nil
        hasBody = false
    }
}
