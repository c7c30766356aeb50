package import PushModel

extension StatsAnswer {
    /// Returns the statistics of all nodes together. Nodes without an answer are named, with the reason.
    ///
    /// - Parameter own: The answer of the node that adds, which has the values that all nodes share.
    package static func sum(
        own: (node: NodeID, answer: StatsAnswer), others: [(node: NodeID, answer: Result<StatsAnswer, LedgerFault>)]
    ) -> StatsAnswer {
        var sum = own.answer
        var nodes = [Node(own.node, of: own.answer)]
        sum.obstacles = sum.obstacles.map { "node \(own.node): \($0)" }
        for (node, result) in others {
            switch result {
            case .success(let answer):
                sum.add(answer, of: node)
                nodes.append(Node(node, of: answer))
            case .failure(let fault):
                var missing = Node(node.name)
                missing.fault = fault.description
                nodes.append(missing)
                sum.ready = false
                sum.obstacles.append("the numbers of node \(node) are missing: \(fault)")
            }
        }
        sum.apps.sort { $0.app < $1.app }
        let answers =
            [own]
            + others.compactMap { other in
                guard case .success(let answer) = other.answer else { return nil }
                return (other.node, answer)
            }
        sum.addMissingApps(in: answers)
        sum.history = own.answer.history.map { _ in Point.sum(of: answers.compactMap(\.answer.history)) }
        sum.nodes = nodes.sorted { $0.node < $1.node }
        return sum
    }

    /// Adds an obstacle for each app that only some of the nodes have: its messages come to the partitions of all nodes.
    /// A node without any app says so itself.
    private mutating func addMissingApps(in answers: [(node: NodeID, answer: StatsAnswer)]) {
        let answers = answers.filter { !$0.answer.apps.isEmpty }
        for app in apps {
            let names = answers.filter { _, answer in !answer.apps.contains { $0.app == app.app } }.map(\.node.name)
            guard !names.isEmpty else { continue }
            ready = false
            let nodes = "\(names.count == 1 ? "node" : "nodes") \(names.sorted().joined(separator: ", "))"
            obstacles.append(
                "the app \(app.app) is missing on \(nodes), where its messages wait; give all nodes the same apps")
        }
    }

    private mutating func add(_ other: StatsAnswer, of node: NodeID) {
        startedAt = max(startedAt, other.startedAt)
        ready = ready && other.ready
        obstacles += other.obstacles.map { "node \(node): \($0)" }
        if let added = other.intake {
            var now = intake ?? Intake()
            Self.add(added.accepted, to: &now.accepted)
            Self.add(added.duplicate, to: &now.duplicate)
            Self.add(added.rejected, to: &now.rejected)
            Self.add(added.busy, to: &now.busy)
            intake = now
        }
        if let added = other.backlog {
            var now = backlog ?? Backlog()
            Self.add(added.waiting, to: &now.waiting)
            Self.add(added.scheduled, to: &now.scheduled)
            now.nextDue = [now.nextDue, added.nextDue].compactMap { $0 }.min()
            now.oldestWaitingMilliseconds = Self.larger(
                now.oldestWaitingMilliseconds, than: added.oldestWaitingMilliseconds)
            backlog = now
        }
        for app in other.apps {
            if let index = apps.firstIndex(where: { $0.app == app.app }) {
                apps[index].add(app, of: node)
            } else {
                apps.append(app)
            }
        }
        if let added = other.ledger {
            var now = ledger ?? Ledger()
            Self.add(added.events, to: &now.events)
            Self.add(added.oldest, to: &now.oldest)
            Self.add(added.newest, to: &now.newest)
            Self.add(added.bytes, to: &now.bytes)
            now.lastCommitMilliseconds = Self.larger(now.lastCommitMilliseconds, than: added.lastCommitMilliseconds)
            now.fault = now.fault ?? added.fault.map { "node \(node): \($0)" }
            ledger = now
        }
        // All nodes have the same registry.
        registry = registry ?? other.registry
        if let added = other.events {
            var now = events ?? Events()
            Self.add(added.subscriptions, to: &now.subscriptions)
            Self.add(added.published, to: &now.published)
            events = now
        }
        if let added = other.http {
            http = HTTP(refused: (http?.refused ?? [:]).merging(added.refused) { $0 &+ $1 })
        }
    }

    fileprivate static func add<Number: FixedWidthInteger>(_ more: Number?, to sum: inout Number?) {
        guard let more else { return }
        sum = (sum ?? 0) &+ more
    }

    fileprivate static func larger<Value: Comparable>(_ one: Value?, than other: Value?) -> Value? {
        guard let one, let other else { return one ?? other }
        return max(one, other)
    }
}

extension StatsAnswer.Point {
    /// Returns the points of several nodes together, at the moments of the longest history. Each node adds the point
    /// whose interval contains the moment.
    ///
    /// Rates and backlogs are sums. Quantiles cannot be added, so they are those of the slowest node.
    package static func sum(of histories: [[Self]]) -> [Self] {
        guard let longest = histories.indices.max(by: { histories[$0].count < histories[$1].count }) else { return [] }
        var sum = histories[longest]
        // The timer of a busy node is late. Further away, the node was not there.
        let reach = 2 * StatsHistory.interval.wholeMilliseconds
        for index in histories.indices where index != longest {
            let points = histories[index]
            var next = points.startIndex
            for place in sum.indices {
                let at = sum[place].at
                while next < points.endIndex, points[next].at < at { next += 1 }
                // The last moments may have no later point yet.
                let near = points[max(0, next - 1)..<min(next + 1, points.endIndex)].reversed()
                guard let point = near.first(where: { abs($0.at.milliseconds(since: at)) <= reach }) else { continue }
                sum[place] = sum[place].adding(point)
            }
        }
        return sum
    }

    private func adding(_ other: Self) -> Self {
        Self(
            at: at, accepted: accepted + other.accepted, refused: refused + other.refused, busy: busy + other.busy,
            sent: sent + other.sent, rejected: rejected + other.rejected, unknown: unknown + other.unknown,
            p50: StatsAnswer.larger(p50, than: other.p50), p99: StatsAnswer.larger(p99, than: other.p99),
            waiting: waiting &+ other.waiting,
            oldestWaitingMilliseconds: max(oldestWaitingMilliseconds, other.oldestWaitingMilliseconds))
    }
}

extension StatsAnswer.Node {
    fileprivate init(_ node: NodeID, of answer: StatsAnswer) {
        self.init(node.name)
        startedAt = answer.startedAt
        version = answer.version
        ready = answer.ready
        accepted = answer.intake?.accepted
        waiting = answer.backlog?.waiting
    }
}

extension StatsAnswer.App {
    /// Adds the numbers of the app on another node. A state that is not `up` is shown before one that is.
    fileprivate mutating func add(_ other: Self, of node: NodeID) {
        if other.state != state, state == "up" { state = "on node \(node): \(other.state)" }
        StatsAnswer.add(other.connections, to: &connections)
        StatsAnswer.add(other.credit, to: &credit)
        StatsAnswer.add(other.queue, to: &queue)
        StatsAnswer.add(other.inFlight, to: &inFlight)
        StatsAnswer.add(other.sent, to: &sent)
        StatsAnswer.add(other.rejected, to: &rejected)
        StatsAnswer.add(other.expired, to: &expired)
        StatsAnswer.add(other.suppressed, to: &suppressed)
        StatsAnswer.add(other.superseded, to: &superseded)
        StatsAnswer.add(other.cancelled, to: &cancelled)
        StatsAnswer.add(other.displayed, to: &displayed)
        StatsAnswer.add(other.opened, to: &opened)
        StatsAnswer.add(other.retries, to: &retries)
        StatsAnswer.add(other.unknown, to: &unknown)
        StatsAnswer.add(other.lostAnswers, to: &lostAnswers)
        StatsAnswer.add(other.waiting, to: &waiting)
        StatsAnswer.add(other.scheduled, to: &scheduled)
        oldestWaitingMilliseconds = StatsAnswer.larger(oldestWaitingMilliseconds, than: other.oldestWaitingMilliseconds)
        oldestUnansweredMilliseconds = StatsAnswer.larger(
            oldestUnansweredMilliseconds, than: other.oldestUnansweredMilliseconds)
        isBrakeOn = isBrakeOn == true || other.isBrakeOn == true ? true : isBrakeOn ?? other.isBrakeOn
        StatsAnswer.add(other.brakeDeactivated, to: &brakeDeactivated)
        brakeAdvice = brakeAdvice ?? other.brakeAdvice
        brakeReason = brakeReason ?? other.brakeReason
        brakeDeactivatedSince = [brakeDeactivatedSince, other.brakeDeactivatedSince].compactMap { $0 }.min()
        latency = latency.map { now in other.latency.map { now.adding($0) } ?? now } ?? other.latency
    }
}

extension Latency {
    /// Returns the sum of two histograms; this one if the other has other bounds.
    fileprivate func adding(_ other: Latency) -> Latency {
        guard other.bounds == bounds, other.counts.count == counts.count else { return self }
        return Latency(bounds: bounds, counts: zip(counts, other.counts).map { $0 &+ $1 })
    }
}
