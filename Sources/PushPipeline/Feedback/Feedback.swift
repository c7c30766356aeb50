package import PushLogic
package import PushLoop
package import PushModel
import PushTime

/// Decides which of the devices that a provider called dead are deactivated, and says so as events. It changes nothing
/// itself: the registry acts on the events when they are on disk, as monitors do.
///
/// A device that registered or was seen after the moment that the provider spoke of is alive. A flood of bad tokens trips
/// the brake of its app (`BrakeMachine`). What waits is bounded, and what is dropped is learned again from the next
/// answer, so nothing here is kept on disk.
package actor Feedback: FeedbackSink {
    package struct Limits: Sendable, Equatable {
        /// Candidates that wait: beyond so many the oldest are dropped.
        package var waiting = 10_000
        /// Candidates that are looked up at once.
        package var batch = 500
        /// Devices that are remembered for a minute to have been told of: at most twice as many.
        package var told = 10_000

        package init() {}
    }

    package struct Status: Sendable, Equatable {
        package var taken: UInt64 = 0
        package var waiting = 0
        /// Of those taken: dropped for want of room; held by a brake; registered since; known to be gone; made an event
        /// of; and lost because registry or ledger failed.
        package var dropped: UInt64 = 0
        package var held: UInt64 = 0
        package var alive: UInt64 = 0
        package var known: UInt64 = 0
        package var deactivated: UInt64 = 0
        package var failed: UInt64 = 0
        /// Apps whose brake is on.
        package var stopped: Set<AppID> = []
    }

    private nonisolated let loop: EventLoop
    private nonisolated let registry: any DeviceRegistry
    private nonisolated let ledger: any Ledger
    private nonisolated let identities: Identities
    private let policy: BrakeMachine.Policy
    private let limits: Limits
    private let wallClock: @Sendable () -> WallTime
    private let log: Logger
    private var brakes: [AppID: BrakeMachine] = [:]
    private var waiting: [DeactivationCandidate] = []
    private var told: ToldDevices
    private var task: Task<Void, Never>?
    private var isStopping = false
    private var counts = Status()

    package init(
        on loop: EventLoop, registry: any DeviceRegistry, ledger: any Ledger, identities: Identities,
        policy: BrakeMachine.Policy = BrakeMachine.Policy(), limits: Limits = Limits(),
        wallClock: @escaping @Sendable () -> WallTime = { .current() }, log: Logger
    ) {
        self.loop = loop
        self.registry = registry
        self.ledger = ledger
        self.identities = identities
        self.policy = policy
        self.limits = limits
        self.wallClock = wallClock
        self.log = log
        told = ToldDevices(limit: limits.told)
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    package var status: Status {
        var status = counts
        status.waiting = waiting.count
        status.stopped = Set(brakes.filter(\.value.isStopped).keys)
        return status
    }

    /// Drops what waits, and returns when nothing is under way.
    package func stop() async {
        isStopping = true
        waiting = []
        await task?.value
    }

    // MARK: From the router

    /// How many answers the provider gave, candidates included. From anywhere, before the candidates of the same report.
    package nonisolated func answers(_ app: AppID, _ count: Int) {
        loop.execute { self.assumeIsolated { $0.counted(count, app) } }
    }

    /// From anywhere. Returns at once.
    package nonisolated func take(_ candidates: [DeactivationCandidate]) {
        guard !candidates.isEmpty else { return }
        loop.execute { self.assumeIsolated { $0.gathered(candidates) } }
    }

    private func counted(_ count: Int, _ app: AppID) {
        guard !isStopping, count > 0 else { return }
        _ = brake(app, count, BrakeMachine.Candidates())
    }

    private func gathered(_ candidates: [DeactivationCandidate]) {
        guard !isStopping else { return }
        counts.taken += UInt64(candidates.count)
        var tallies: [AppID: BrakeMachine.Candidates] = [:]
        for candidate in candidates {
            if candidate.isMisdirected {
                tallies[candidate.app, default: BrakeMachine.Candidates()].misdirected += 1
            } else {
                tallies[candidate.app, default: BrakeMachine.Candidates()].dead += 1
            }
        }
        for (app, tally) in tallies where !brake(app, 0, tally) { counts.held += UInt64(tally.all) }
        waiting += candidates.filter { brakes[$0.app]?.isStopped != true }
        let excess = waiting.count - limits.waiting
        if excess > 0 {
            waiting.removeFirst(excess)
            counts.dropped += UInt64(excess)
        }
        if task == nil, !waiting.isEmpty { task = Task { await self.drain() } }
    }

    /// Whether deactivations of the app may go on.
    private func brake(_ app: AppID, _ answers: Int, _ candidates: BrakeMachine.Candidates) -> Bool {
        switch brakes[app, default: BrakeMachine(policy)].answered(answers, candidates, now: loop.now) {
        case .pass: return true
        case .hold: return false
        case .trip(let candidates, let answers):
            let before = waiting.count
            waiting.removeAll { $0.app == app }
            counts.held += UInt64(before - waiting.count)
            alarm(app, "on", candidates, answers)
            log.warning(
                "too many bad tokens of one app: nothing is deactivated until this is over; check its environment and topic",
                [LogKey("app"): app.name, LogKey("candidates"): candidates, LogKey("answers"): answers])
            return false
        case .release(let candidates, let answers):
            alarm(app, "off", candidates, answers)
            log.info("the answers of the app are as usual again: devices are deactivated", [LogKey("app"): app.name])
            return true
        }
    }

    private func alarm(_ app: AppID, _ state: String, _ candidates: Int, _ answers: Int) {
        var event = EventDraft(.deviceBrake, app: app)
        event.add("state", state)
        event.add("candidates", Int64(candidates))
        event.add("answers", Int64(answers))
        ledger.note([event], done: nil)
    }

    // MARK: One batch after the other

    private func drain() async {
        while !waiting.isEmpty, !isStopping {
            let batch = Array(waiting.prefix(limits.batch))
            waiting.removeFirst(batch.count)
            let suspects = batch.map {
                Suspect(
                    device: $0.device, app: $0.app, reason: $0.reason?.rawValue, evidence: $0.evidenceAt,
                    messageID: $0.messageID, apnsID: $0.apnsID)
            }
            do {
                try await tell(of: suspects, mayBeHeld: true)
            } catch {
                counts.failed += UInt64(batch.count)
                log.warning(
                    "dead devices were not deactivated, and will be found dead again",
                    [.count: batch.count, .error: "\(error)"])
            }
        }
        task = nil
    }

    /// Weighs them, and returns when the events of those that are dead are on disk.
    private func tell(of suspects: [Suspect], mayBeHeld: Bool) async throws {
        // Of those that are named several times, what is known latest.
        var latest: [DeviceID: Suspect] = [:]
        for suspect in suspects where suspect.evidence > latest[suspect.device]?.evidence ?? .min {
            latest[suspect.device] = suspect
        }
        var wanted: [Suspect] = []
        for suspect in suspects where latest[suspect.device] == suspect {
            latest[suspect.device] = nil
            if !registry.inactive.contains(suspect.device) { wanted.append(suspect) }
        }
        counts.known += UInt64(suspects.count - wanted.count)
        guard !wanted.isEmpty else { return }
        let seen = try await registry.lastSeen(wanted.map(\.device))
        var dead: [Suspect] = []
        for (suspect, seen) in zip(wanted, seen) {
            // Everything may have changed meanwhile.
            if mayBeHeld, brakes[suspect.app]?.isStopped == true {
                counts.held += 1
            } else if let seen, seen > suspect.evidence {
                counts.alive += 1
                log.info(
                    "a device stays active though the push service called it gone: it registered or was seen after the time that the answer names",
                    [
                        LogKey("app"): suspect.app.name, LogKey("device"): "\(suspect.device)",
                        .reason: suspect.reason ?? "-", LogKey("gone_since_ms"): suspect.evidence,
                        LogKey("last_seen_ms"): seen,
                    ])
            } else if registry.inactive.contains(suspect.device)
                || told.contains(suspect.device, since: seen ?? .min, now: loop.now)
            {
                counts.known += 1
            } else {
                dead.append(suspect)
            }
        }
        guard !dead.isEmpty else { return }
        // A provider's clock may be ahead. The registry takes no moment after the event's for evidence, and what is
        // remembered here is what the registry makes of it: else whoever registers again would seem to be told of already.
        let written = wallClock().milliseconds
        let devices = dead.map(\.device)
        // Whoever reads the event may count on it that nothing more is sent there.
        let held = registry.hold(devices)
        guard await ledger.note(dead.map(\.event)) != nil else {
            await registry.release(held)
            throw FeedbackError.ledgerRefused
        }
        counts.deactivated += UInt64(dead.count)
        for suspect in dead { told.add(suspect.device, evidence: min(suspect.evidence, written), now: loop.now) }
    }

    // MARK: From the feedback service

    /// Not through the brake: these are no answers, and they are read once.
    package func take(_ tuples: [FeedbackTuple], of app: AppID) async throws {
        counts.taken += UInt64(tuples.count)
        for start in stride(from: 0, to: tuples.count, by: limits.batch) {
            let part = tuples[start..<min(start + limits.batch, tuples.count)].map { tuple in
                Suspect(
                    device: identities.device(app, tuple.token), app: app, reason: "feedback",
                    evidence: Int64(tuple.time) * 1000, messageID: nil, apnsID: nil)
            }
            do {
                try await tell(of: part, mayBeHeld: false)
            } catch {
                counts.failed += UInt64(part.count)
                throw error
            }
        }
    }
}

package enum FeedbackError: Error, Sendable, CustomStringConvertible {
    case ledgerRefused

    package var description: String {
        "the ledger did not take the events of devices that are gone: see what its log says of the disk"
    }
}

extension DeactivationCandidate {
    /// What the provider tells every token that comes to the wrong place.
    fileprivate var isMisdirected: Bool { reason == .badDeviceToken || reason == .deviceTokenNotForTopic }
}
