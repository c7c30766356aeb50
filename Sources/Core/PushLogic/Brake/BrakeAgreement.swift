package import PushModel
package import PushTime

/// The brakes of all apps on one node, which agrees on them with the other nodes of its cluster if there are any.
///
/// Each node counts its own answers at once and those of the others when their counts arrive, about a second later. So
/// a flood that is spread over all nodes is noticed as one node would notice it. The node that notices it first stops
/// at once and asks the board to store that the brake is on. The board stores one of such changes and refuses the
/// others, and stores the event with the change, so that it is published once. All nodes follow what is stored.
///
/// A release begins a new **generation**, and what was counted before no longer counts, on no node. Otherwise the
/// answers of the flood, which arrive from other nodes a little later, would set the brake again.
///
/// Until a change is known to be stored, the brake stays on rather than off.
package struct BrakeAgreement: Sendable {
    package enum Action: Sendable, Equatable {
        /// Ask the board to store the change, then call ``decided(_:with:)``. Without a board it is stored.
        case decide(BrakeDecision)
        /// Drop the candidates of the app that wait.
        case hold(AppID)
        /// This node has made a change. Without a board, its event is to be published.
        case announce(BrakeDecision)
        /// Another node has changed the brake.
        case followed(AppID, isOn: Bool)
    }

    package enum Release: Sendable, Equatable {
        case isOff
        /// A change is being stored.
        case isBusy
        case begun(BrakeDecision)
    }

    private struct Tally: Equatable {
        var answers: UInt64 = 0
        var misdirected: UInt64 = 0
        var dead: UInt64 = 0
    }

    private struct Entry {
        var brake: BrakeMachine
        var generation: Int64 = 0
        /// What this node has counted in this generation, and what of it the others were told.
        var counted = Tally()
        var reported = Tally()
        var countedAt = MonotonicTime(nanoseconds: .min)
        var deciding: BrakeDecision?
        /// A change of which it is not known whether it is stored.
        var uncertain: BrakeDecision?
    }

    /// What was read of another node.
    private struct Other {
        var run: Int64
        /// Whether all reports of this run were read, so that an app that is new in one began at zero.
        var isComplete: Bool
        var counts: [AppID: BrakeCounts] = [:]
    }

    /// For how long counts are repeated in reports, for nodes that have missed one.
    private static let repeats: Duration = .seconds(10)
    /// The limit of apps that another node can report.
    private static let maxApps = 100_000

    private let policy: BrakeMachine.Policy
    private var entries: [AppID: Entry] = [:]
    private var others: [String: Other] = [:]
    private var hasRead = false

    package init(_ policy: BrakeMachine.Policy = BrakeMachine.Policy()) {
        self.policy = policy
    }

    /// The apps whose brake is on.
    package var stopped: Set<AppID> { Set(entries.filter(\.value.brake.isStopped).keys) }

    package func isStopped(_ app: AppID) -> Bool { entries[app]?.brake.isStopped ?? false }

    // MARK: Answers

    /// Takes answers that this node had. Returns whether deactivations may continue.
    package mutating func answered(
        _ answers: Int, candidates: BrakeMachine.Candidates, of app: AppID, now: MonotonicTime
    ) -> (mayPass: Bool, actions: [Action]) {
        var entry = entries[app] ?? Entry(brake: BrakeMachine(policy))
        entry.counted.answers &+= UInt64(max(0, answers))
        entry.counted.misdirected &+= UInt64(max(0, candidates.misdirected))
        entry.counted.dead &+= UInt64(max(0, candidates.dead))
        entry.countedAt = now
        let result = Self.count(answers, candidates: candidates, in: &entry, of: app, now: now)
        entries[app] = entry
        return result
    }

    private static func count(
        _ answers: Int, candidates: BrakeMachine.Candidates, in entry: inout Entry, of app: AppID,
        now: MonotonicTime
    ) -> (mayPass: Bool, actions: [Action]) {
        switch entry.brake.answered(answers, candidates: candidates, now: now) {
        case .pass: return (true, [])
        case .hold: return (false, [])
        case .trip(let candidates, let answers):
            let decision = BrakeDecision(
                app, isOn: true, generation: entry.generation, candidates: candidates, answers: answers)
            return (false, [.hold(app)] + begin(decision, in: &entry))
        case .release(let candidates, let answers):
            let decision = BrakeDecision(
                app, isOn: false, generation: entry.generation, candidates: candidates, answers: answers)
            return (true, begin(decision, in: &entry))
        }
    }

    /// Returns nothing while another change of the app is being stored: its result decides what is done next.
    private static func begin(_ decision: BrakeDecision, in entry: inout Entry) -> [Action] {
        guard entry.deciding == nil else { return [] }
        entry.deciding = decision
        return [.decide(decision)]
    }

    /// Begins a release by an operator.
    package mutating func release(_ app: AppID) -> Release {
        guard var entry = entries[app], entry.brake.isStopped else { return .isOff }
        guard entry.deciding == nil else { return .isBusy }
        let window = entry.brake.window
        let decision = BrakeDecision(
            app, isOn: false, generation: entry.generation, candidates: window.candidates.all, answers: window.answers)
        entry.deciding = decision
        entries[app] = entry
        return .begun(decision)
    }

    /// Takes the result of a change.
    package mutating func decided(_ decision: BrakeDecision, with verdict: BrakeVerdict) -> [Action] {
        guard var entry = entries[decision.app], entry.deciding == decision else { return [] }
        defer { entries[decision.app] = entry }
        entry.deciding = nil
        switch verdict {
        case .stored:
            // A brake that has released itself keeps its window, whose answers are normal.
            if !decision.isOn {
                Self.beginGeneration(decision.generation &+ 1, in: &entry, clearing: entry.brake.isStopped)
            }
            return [.announce(decision)]
        case .unknown:
            entry.uncertain = decision
            return []
        case .overtaken, .failed: return []
        }
    }

    private static func beginGeneration(_ generation: Int64, in entry: inout Entry, clearing: Bool = true) {
        entry.generation = generation
        entry.counted = Tally()
        entry.reported = Tally()
        if clearing { entry.brake.release() }
    }

    // MARK: Other nodes

    /// Takes what the nodes share, as it was read after all changes of this node had a result.
    package mutating func read(_ shared: SharedApps, now: MonotonicTime) -> [Action] {
        var actions: [Action] = []
        for (app, mark) in shared.brakes where entries[app] == nil && mark != SharedBrake() {
            entries[app] = Entry(brake: BrakeMachine(policy))
            entries[app]?.generation = mark.generation
        }
        for app in entries.keys.sorted(by: { $0.name < $1.name }) {
            actions += follow(shared.brakes[app] ?? SharedBrake(), app: app)
        }
        for report in shared.reports { actions += count(report, now: now) }
        hasRead = true
        return actions
    }

    private mutating func follow(_ mark: SharedBrake, app: AppID) -> [Action] {
        guard var entry = entries[app], entry.deciding == nil else { return [] }
        defer { entries[app] = entry }
        var actions: [Action] = []
        if let decision = entry.uncertain.take() {
            let isStored =
                mark.isOwn && mark.isOn == decision.isOn
                && mark.generation == decision.generation &+ (decision.isOn ? 0 : 1)
            if isStored { actions.append(.announce(decision)) }
        }
        if mark.generation != entry.generation {
            let wasStopped = entry.brake.isStopped
            Self.beginGeneration(mark.generation, in: &entry)
            if wasStopped, !mark.isOn, actions.isEmpty { actions.append(.followed(app, isOn: false)) }
        }
        if mark.isOn, !entry.brake.isStopped {
            entry.brake.stop()
            actions.append(.hold(app))
            if !mark.isOwn { actions.append(.followed(app, isOn: true)) }
        } else if !mark.isOn, entry.brake.isStopped {
            // This node has noticed a flood, and could not store it.
            let window = entry.brake.window
            let decision = BrakeDecision(
                app, isOn: true, generation: entry.generation, candidates: window.candidates.all,
                answers: window.answers)
            actions += Self.begin(decision, in: &entry)
        }
        return actions
    }

    private mutating func count(_ received: ReceivedReport, now: MonotonicTime) -> [Action] {
        // What a node had counted before this one read anything is of unknown age.
        let isFirst = !hasRead
        var other = others[received.node] ?? Other(run: received.run, isComplete: !isFirst)
        if other.run != received.run { other = Other(run: received.run, isComplete: true) }
        defer { others[received.node] = other }
        var actions: [Action] = []
        for counts in received.report.brakes.prefix(Self.maxApps) {
            let last = other.counts.updateValue(counts, forKey: counts.app)
            guard last != nil || other.isComplete, !isFirst else { continue }
            var entry = entries[counts.app] ?? Entry(brake: BrakeMachine(policy))
            guard counts.generation == entry.generation else { continue }
            let base = last.flatMap { $0.generation == counts.generation ? $0 : nil }
            let candidates = BrakeMachine.Candidates(
                misdirected: Self.growth(of: counts.misdirected, since: base?.misdirected),
                dead: Self.growth(of: counts.dead, since: base?.dead))
            let answers = Self.growth(of: counts.answers, since: base?.answers)
            guard answers > 0 || candidates.all > 0 else { continue }
            actions += Self.count(answers, candidates: candidates, in: &entry, of: counts.app, now: now).actions
            entries[counts.app] = entry
        }
        return actions
    }

    /// Returns what a count has grown by, limited to a number that no sum of which overflows.
    private static func growth(of now: UInt64, since before: UInt64?) -> Int {
        let before = before ?? 0
        return now > before ? Int(min(now - before, 1 << 40)) : 0
    }

    /// Returns the counts that the other nodes should have, or nil if there is nothing that they need to know. Good
    /// answers matter only beside bad ones.
    package mutating func report(now: MonotonicTime) -> [BrakeCounts]? {
        let isNews = entries.values.contains { entry in
            entry.counted != entry.reported && (entry.brake.isStopped || entry.brake.window.candidates.all > 0)
        }
        guard isNews else { return nil }
        var report: [BrakeCounts] = []
        for (app, entry) in entries where entry.counted != Tally() {
            guard entry.counted != entry.reported || now < entry.countedAt + Self.repeats else { continue }
            entries[app]?.reported = entry.counted
            report.append(
                BrakeCounts(
                    app, generation: entry.generation, answers: entry.counted.answers,
                    misdirected: entry.counted.misdirected, dead: entry.counted.dead))
        }
        return report.sorted { $0.app.name < $1.app.name }
    }
}
