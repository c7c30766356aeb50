import PushRandom

/// The properties that a rule can match.
struct FaultFacts {
    var moment: FaultRule.Moment
    var token = TokenBytes()
    var topic: ByteView?
    var pushType = PushType.unspecified
    var connection: UInt32 = 0
    /// The number of the request on its connection.
    var request: UInt64 = 0
    var status: UInt16 = 0
    var reason = Reason.none
}

struct FaultDecision: Equatable {
    /// The largest delay: a script may have any number of rules whose latencies add up.
    static let maxDelay: Int64 = 1_000_000_000_000_000_000

    /// The delay in nanoseconds.
    var delay: Int64 = 0
    var streams: UInt32?
    var effect: FaultRule.Effect?
    var isProcessed: Bool?
}

/// The state of a fault script: how often each rule was applied, and the random numbers of each rule.
struct Faults {
    private(set) var script = FaultScript()
    /// The rules as they were sent to the control port; empty for a script from elsewhere.
    private(set) var sources: [[UInt8]] = []
    private struct Progress {
        var matched: UInt64 = 0
        var applied: UInt64 = 0
        var random: SeededRandom
    }
    private var progress: [Progress] = []

    init(_ script: FaultScript = FaultScript()) {
        replace(script)
    }

    /// Replaces the script; counts and random numbers start again.
    mutating func replace(_ script: FaultScript, sources: [[UInt8]] = []) {
        self.script = script
        self.sources = sources
        progress = script.rules.indices.map {
            Progress(random: SeededRandom(seed: SeededRandom.mix(script.seed &+ UInt64($0) &* 0x9e37_79b9_7f4a_7c15)))
        }
    }

    var isEmpty: Bool { script.rules.isEmpty }

    func applied(_ rule: Int) -> UInt64 { progress[rule].applied }

    /// Evaluates the rules in order: latencies add up, the last stream limit applies, and the first effect ends the
    /// evaluation.
    mutating func decide(_ facts: FaultFacts) -> FaultDecision {
        var decision = FaultDecision()
        for index in script.rules.indices {
            guard script.rules[index].moment == facts.moment, evaluateRule(at: index, for: facts) else { continue }
            progress[index].applied += 1
            let rule = script.rules[index]
            var latency = rule.latency
            if rule.spread > 0 {
                latency += Int64(progress[index].random.unit() * Double(rule.spread))
            }
            decision.delay = min(decision.delay + latency, FaultDecision.maxDelay)
            if let streams = rule.streams { decision.streams = streams }
            if let effect = rule.effect {
                decision.effect = effect
                decision.isProcessed = rule.isProcessed
                break
            }
        }
        return decision
    }

    /// Returns whether the rule applies, and counts the events that it matches.
    private mutating func evaluateRule(at index: Int, for facts: FaultFacts) -> Bool {
        if let times = script.rules[index].times, progress[index].applied >= times { return false }
        let match = script.rules[index].match
        if let connection = match.connection, connection != facts.connection { return false }
        if let request = match.request, request != facts.request { return false }
        if let after = match.after, facts.request <= after { return false }
        if let status = match.status, status != facts.status { return false }
        if let reason = match.reason, reason != facts.reason { return false }
        if let pushType = match.pushType, pushType != facts.pushType { return false }
        if let pattern = match.token, !facts.token.withBytes({ pattern.matches($0) }) { return false }
        if let topic = match.topic {
            guard let given = facts.topic, ByteView.lending(Array(topic.utf8), to: { given.equals($0) }) else {
                return false
            }
        }
        progress[index].matched += 1
        if let every = match.every, progress[index].matched % every != 0 { return false }
        if let share = match.share, progress[index].random.unit() >= share { return false }
        return true
    }
}
