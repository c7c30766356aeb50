package import PushLogic
package import PushLoop
package import PushModel
import PushTime

/// Decides which of the devices that a provider reported as dead are deactivated, and records events for them. It
/// changes nothing itself: the registry reads the events from the ledger, as monitors do.
///
/// A device that registered or was seen after the provider's timestamp stays active. A flood of bad tokens trips the
/// brake of its app (`BrakeMachine`); addresses that end with their Live Activity pass it. The queue is bounded. A
/// dropped candidate is found again with the next push to it, so nothing is kept on disk.
package actor Feedback: FeedbackSink {
    package struct Limits: Sendable, Equatable {
        /// The number of candidates that wait. Above it the oldest are dropped.
        package var waiting = 10_000
        /// The number of candidates that are looked up at once.
        package var batch = 500
        /// The number of devices that are remembered for a minute as already recorded; at most twice as many are kept.
        package var recorded = 10_000

        package init() {}
    }

    package struct Status: Sendable, Equatable {
        package var taken: UInt64 = 0
        package var waiting = 0
        /// Each taken candidate is counted in one of these: `dropped` (no room), `held` (by a brake), `alive`
        /// (registered or seen since), `known` (already inactive), `deactivated` (event recorded), `failed` (registry
        /// or ledger failed).
        package var dropped: UInt64 = 0
        package var held: UInt64 = 0
        package var alive: UInt64 = 0
        package var known: UInt64 = 0
        package var deactivated: UInt64 = 0
        package var failed: UInt64 = 0
        /// The apps whose brake is on.
        package var stopped: Set<AppID> = []
        /// What was deactivated before the brake stopped it, for the apps whose brake is on.
        package var misdirected: [AppID: MisdirectedDevices] = [:]
    }

    private nonisolated let loop: EventLoop
    private nonisolated let registry: any DeviceRegistry
    private nonisolated let ledger: any Ledger
    private nonisolated let identities: Identities
    /// Where the nodes of a cluster agree on brakes; nil on a single node.
    private let board: (any SharedBrakes)?
    private let limits: Limits
    private let wallClock: @Sendable () -> WallTime
    private let log: Logger
    private var brakes: BrakeAgreement
    private var waiting: [Deactivation] = []
    private var recorded: RecordedDevices
    private var task: Task<Void, Never>?
    private var isStopping = false
    private var counts = Status()
    /// The devices that bad answers have deactivated, by app.
    private var misdirected: [AppID: MisdirectedDevices] = [:]

    package init(
        on loop: EventLoop, registry: any DeviceRegistry, ledger: any Ledger, identities: Identities,
        policy: BrakeMachine.Policy = BrakeMachine.Policy(), board: (any SharedBrakes)? = nil,
        limits: Limits = Limits(),
        wallClock: @escaping @Sendable () -> WallTime = { .current() }, log: Logger
    ) {
        self.loop = loop
        self.registry = registry
        self.ledger = ledger
        self.identities = identities
        self.board = board
        self.limits = limits
        self.wallClock = wallClock
        self.log = log
        recorded = RecordedDevices(limit: limits.recorded)
        brakes = BrakeAgreement(policy)
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    package var status: Status {
        var status = counts
        status.waiting = waiting.count
        status.stopped = brakes.stopped
        status.misdirected = misdirected.filter { status.stopped.contains($0.key) }
        return status
    }

    /// Drops the candidates that wait, and returns when no work is in progress.
    package func stop() async {
        isStopping = true
        waiting = []
        await task?.value
    }

    // MARK: From the router

    /// Takes the answers of push services, and the candidates among them. May be called on any thread, and returns at
    /// once.
    package nonisolated func take(_ reports: [ProviderAnswers]) {
        loop.execute { self.assumeIsolated { $0.gather(reports) } }
    }

    private func gather(_ reports: [ProviderAnswers]) {
        guard !isStopping else { return }
        for report in reports {
            counts.taken += UInt64(report.candidates.count)
            if mayDeactivate(after: report) {
                waiting += report.candidates
            } else {
                let passing = report.candidates.filter(\.isEndOfActivity)
                waiting += passing
                counts.held += UInt64(report.candidates.count - passing.count)
            }
        }
        let excess = waiting.count - limits.waiting
        if excess > 0 {
            waiting.removeFirst(excess)
            counts.dropped += UInt64(excess)
        }
        if task == nil, !waiting.isEmpty { task = Task { await self.drain() } }
    }

    /// Passes the answers to the brake of the app. Returns whether deactivations may continue.
    private func mayDeactivate(after report: ProviderAnswers) -> Bool {
        let misdirected = report.candidates.count { $0.isMisdirected }
        let ended = report.candidates.count { $0.isEndOfActivity }
        let candidates = BrakeMachine.Candidates(
            misdirected: misdirected, dead: report.candidates.count - misdirected - ended)
        let (mayPass, actions) = brakes.answered(report.count, candidates: candidates, of: report.app, now: loop.now)
        perform(actions)
        return mayPass
    }

    // MARK: Brakes

    /// Takes what the nodes of the cluster share about their brakes, and shares what this one has counted. May be called
    /// on any thread, and returns at once.
    package nonisolated func take(_ shared: SharedApps) {
        loop.executeUnlessStopped { self.assumeIsolated { $0.read(shared) } }
    }

    private func read(_ shared: SharedApps) {
        guard !isStopping else { return }
        perform(brakes.read(shared, now: loop.now))
        if let board, let counts = brakes.report(now: loop.now) { board.publish(counts) }
    }

    private func perform(_ actions: [BrakeAgreement.Action]) {
        for action in actions {
            switch action {
            case .decide(let decision): decide(decision)
            case .hold(let app):
                let before = waiting.count
                waiting.removeAll { $0.app == app && !$0.isEndOfActivity }
                counts.held += UInt64(before - waiting.count)
            case .announce(let decision): announce(decision)
            case .followed(let app, let isOn):
                if !isOn { misdirected[app] = nil }
                log.notice(
                    isOn
                        ? "device brake on: another node has noticed too many bad tokens, deactivation paused"
                        : "device brake off: another node has released it, deactivation resumed",
                    [LogKey("app"): app.name])
            }
        }
    }

    private func decide(_ decision: BrakeDecision, then: (@Sendable (BrakeVerdict) -> Void)? = nil) {
        guard let board else {
            perform(brakes.decided(decision, with: .stored))
            then?(.stored)
            return
        }
        board.decide(decision) { [loop] verdict in
            loop.executeUnlessStopped {
                self.assumeIsolated { $0.perform($0.brakes.decided(decision, with: verdict)) }
            }
            then?(verdict)
        }
    }

    private func announce(_ decision: BrakeDecision) {
        let app = decision.app
        // The board has stored the event with the change.
        if board == nil {
            ledger.note(
                [
                    .brake(
                        decision.isOn ? "on" : "off", of: app, candidates: Int64(decision.candidates),
                        answers: Int64(decision.answers),
                        deactivated: decision.isOn ? misdirected[app]?.count ?? 0 : nil,
                        since: decision.isOn ? misdirected[app]?.since : nil)
                ], done: nil)
        }
        let before = misdirected[app] ?? MisdirectedDevices()
        if decision.isOn {
            log.warning(
                "device brake on: too many bad tokens, deactivation paused; check the app's environment and topic",
                [
                    LogKey("app"): app.name, LogKey("candidates"): decision.candidates,
                    LogKey("answers"): decision.answers, LogKey("deactivated"): before.count,
                ])
        } else {
            misdirected[app] = nil
            log.info("device brake off: deactivation resumed", [LogKey("app"): app.name])
        }
    }

    /// Releases the brake of an app for an operator, on all nodes, and returns whether it was on. The candidates that
    /// were held are reported again by the next push to each.
    package func releaseBrake(of app: AppID) async throws -> Bool {
        switch brakes.release(app) {
        case .isOff: return false
        case .isBusy: throw FeedbackError.brakeNotStored("an earlier change has not been stored yet")
        case .begun(let decision):
            let verdict = await withCheckedContinuation { continuation in
                decide(decision) { continuation.resume(returning: $0) }
            }
            switch verdict {
            case .stored:
                log.notice("device brake released by an operator", [LogKey("app"): app.name])
                return true
            // Another node has released it.
            case .overtaken: return false
            case .unknown(let reason), .failed(let reason): throw FeedbackError.brakeNotStored(reason)
            }
        }
    }

    // MARK: Batches

    private func drain() async {
        while !waiting.isEmpty, !isStopping {
            let batch = Array(waiting.prefix(limits.batch))
            waiting.removeFirst(batch.count)
            do {
                try await record(batch, mayBeHeld: true)
            } catch {
                counts.failed += UInt64(batch.count)
                log.warning(
                    "dead devices not deactivated; the next push to each reports it again",
                    [.count: batch.count, .error: "\(error)"])
            }
        }
        task = nil
    }

    /// Checks the suspects, and returns when the events of the dead ones are on disk.
    private func record(_ suspects: [Deactivation], mayBeHeld: Bool) async throws {
        let wanted = unknown(of: suspects)
        counts.known += UInt64(suspects.count - wanted.count)
        guard !wanted.isEmpty else { return }
        let sightings = try await registry.sightings(of: wanted.map(\.device))
        let dead = confirmed(zip(wanted, sightings), mayBeHeld: mayBeHeld)
        guard !dead.isEmpty else { return }
        // A provider's clock may be ahead. The registry limits the evidence to the time of the event, so the same limit
        // applies to what is remembered here. Otherwise a device that registers again would seem to be recorded
        // already.
        let written = wallClock()
        let devices = dead.map(\.device)
        // When the event is published, nothing more may be sent to the device, so deliveries to it are held first.
        let held = registry.hold(devices)
        guard await ledger.note(dead.map { .deactivated($0) }) != nil else {
            await registry.release(held)
            throw FeedbackError.ledgerRefused
        }
        counts.deactivated += UInt64(dead.count)
        for suspect in dead where suspect.isMisdirected {
            misdirected[suspect.app, default: MisdirectedDevices()].add(1, at: written)
        }
        for suspect in dead { recorded.add(suspect.device, evidence: min(suspect.evidence, written), now: loop.now) }
    }

    /// Returns each device once that is not known to be inactive, with the latest evidence.
    private func unknown(of suspects: [Deactivation]) -> [Deactivation] {
        var latest: [DeviceID: Deactivation] = [:]
        for suspect in suspects where suspect.evidence > latest[suspect.device]?.evidence ?? .distantPast {
            latest[suspect.device] = suspect
        }
        var wanted: [Deactivation] = []
        for suspect in suspects where latest[suspect.device] == suspect {
            latest[suspect.device] = nil
            if !registry.inactive.contains(suspect.device) { wanted.append(suspect) }
        }
        return wanted
    }

    /// Returns the suspects that are to be deactivated. The brake and the registry may have changed during the lookup.
    private func confirmed(
        _ suspects: some Sequence<(Deactivation, Sighting?)>, mayBeHeld: Bool
    ) -> [Deactivation] {
        var dead: [Deactivation] = []
        for (suspect, sighting) in suspects {
            let seen = sighting?.seen
            if mayBeHeld, brakes.isStopped(suspect.app), !suspect.isEndOfActivity {
                counts.held += 1
            } else if let sign = Self.signOfLife(of: suspect, in: sighting) {
                counts.alive += 1
                log.info(
                    "device stays active: \(sign)",
                    [
                        LogKey("app"): suspect.app.name, LogKey("device"): "\(suspect.device)",
                        .reason: suspect.reason ?? "-", LogKey("gone_since_ms"): suspect.evidence.milliseconds,
                        LogKey("last_seen_ms"): seen?.milliseconds ?? 0,
                    ])
            } else if registry.inactive.contains(suspect.device)
                || recorded.contains(suspect.device, since: seen ?? .distantPast, now: loop.now)
            {
                counts.known += 1
            } else {
                dead.append(suspect)
            }
        }
        return dead
    }

    /// Returns why a suspect is alive; nil if nothing says so.
    private static func signOfLife(of suspect: Deactivation, in sighting: Sighting?) -> String? {
        if let refused = suspect.refused, let address = sighting?.address, address != refused {
            return "it has another address by now than the one that the push service reported gone"
        }
        guard let seen = sighting?.seen, seen > suspect.evidence else { return nil }
        return "registered or seen after the time at which the push service reported it gone"
    }

    // MARK: From the feedback service

    /// Takes tuples of the feedback service. They bypass the brake, because they are not answers to pushes and can be
    /// read only once.
    package func take(_ tuples: [FeedbackTuple], of app: AppID) async throws {
        counts.taken += UInt64(tuples.count)
        for start in stride(from: 0, to: tuples.count, by: limits.batch) {
            let part = tuples[start..<min(start + limits.batch, tuples.count)].map { tuple in
                Deactivation(
                    of: identities.device(of: app, token: tuple.token), app: app, reason: "feedback",
                    evidence: WallTime(seconds: Int64(tuple.time)))
            }
            do {
                try await record(part, mayBeHeld: false)
            } catch {
                counts.failed += UInt64(part.count)
                throw error
            }
        }
    }
}

package enum FeedbackError: Error, Sendable, CustomStringConvertible {
    case ledgerRefused
    /// A change of a brake is not stored, or it is not known whether it is.
    case brakeNotStored(String)

    package var description: String {
        switch self {
        case .ledgerRefused: "the ledger did not record the events of dead devices; see its errors in the log"
        case .brakeNotStored(let reason): "the release of the brake is not stored: \(reason); try again"
        }
    }
}
