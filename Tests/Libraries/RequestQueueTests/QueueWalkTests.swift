import Foundation
import Testing

@testable import RequestQueue

/// Random inputs beside a model of what must never happen.
@Suite struct QueueWalkTests {
    /// What an observer of the actions knows.
    private struct Model {
        var running: [QueueMachine.ID: (attempt: Int, host: String)] = [:]
        var stopping: [QueueMachine.ID: (attempt: Int, host: String)] = [:]
        var hosts: [QueueMachine.ID: String] = [:]
        var open: Set<QueueMachine.ID> = []

        mutating func take(_ actions: [QueueMachine.Action], limits: QueueLimits) throws {
            for action in actions {
                switch action {
                case .start(let id, let attempt):
                    try #require(open.contains(id) && running[id] == nil && stopping[id] == nil)
                    running[id] = (attempt, try #require(hosts[id]))
                case .redirect(let id, let step):
                    try #require(open.contains(id) && running[id] == nil)
                    hosts[id] = step.url.host
                case .stop(let id, let attempt):
                    try #require(running[id]?.attempt == attempt)
                    stopping[id] = running.removeValue(forKey: id)
                case .deliver(let id), .fail(let id, _):
                    try #require(open.remove(id) != nil, "the end of \(id) comes twice")
                    try #require(running[id] == nil)
                }
                let places = Array(running.values) + Array(stopping.values)
                try #require(places.count <= limits.maxRunning)
                for (_, group) in Dictionary(grouping: places, by: \.host) {
                    try #require(group.count <= limits.maxRunningPerHost)
                }
            }
        }
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>) func `Every request ends once, and limits hold`(_ seed: UInt64)
        throws
    {
        var random = Jitter(seed: seed)
        let limits = QueueLimits(
            maxRunning: .random(in: 1...5, using: &random), maxRunningPerHost: .random(in: 1...3, using: &random),
            maxWaiting: .random(in: 1...20, using: &random),
            overflow: Bool.random(using: &random) ? .rejectNew : .dropLowest)
        var machine = QueueMachine(limits: limits, seed: seed)
        var model = Model()
        var now = Duration.zero
        var next: QueueMachine.ID = 1
        for step in 0..<2000 {
            let isDraining = step >= 1500
            switch Int.random(in: isDraining ? 3...9 : 0...9, using: &random) {
            case 0...2:
                let host = "\("abcd".randomElement(using: &random) ?? "a").example"
                let total: Duration? =
                    Bool.random(using: &random) ? .seconds(Int.random(in: 1...200, using: &random)) : nil
                let job = QueueMachine.Job(
                    url: try #require(URL(string: "http://\(host)/")),
                    method: HTTPMethod.allCases.randomElement(using: &random) ?? .get, hasBody: false,
                    priority: Priority.allCases.randomElement(using: &random) ?? .low, retry: .standard,
                    redirect: RedirectRule(maxHops: 3), timeouts: Timeouts(idle: .seconds(20), total: total))
                model.open.insert(next)
                model.hosts[next] = host
                try model.take(machine.submitted(next, job: job, now: now), limits: limits)
                next += 1
            case 3:
                // Sorted, because the order of a dictionary is another one in each run.
                guard let id = model.open.sorted().randomElement(using: &random) else { continue }
                try model.take(machine.cancelled(id, now: now), limits: limits)
            case 4...7:
                let all = model.running.merging(model.stopping) { first, _ in first }
                guard let (id, place) = all.sorted(by: { $0.key < $1.key }).randomElement(using: &random) else {
                    continue
                }
                model.running[id] = nil
                model.stopping[id] = nil
                let status = [200, 200, 404, 302, 303, 429, 503].randomElement(using: &random) ?? 200
                let kinds: [QueueMachine.Failure.Kind] = [.network, .unsent, .changed, .final]
                let failure = QueueMachine.Failure(
                    kind: kinds.randomElement(using: &random) ?? .final,
                    error: RequestError(.connectionLost, message: "lost"))
                let answer = QueueMachine.Answer(
                    status: status, location: "http://\("abcd".randomElement(using: &random) ?? "a").example/x",
                    retryAfter: .seconds(Int.random(in: 0...400, using: &random)))
                try model.take(
                    Bool.random(using: &random)
                        ? machine.answered(id, attempt: place.attempt, answer: answer, now: now)
                        : machine.failed(id, attempt: place.attempt, failure: failure, now: now), limits: limits)
            default:
                now = max(now, machine.nextTime ?? now) + .milliseconds(Int.random(in: 0...5000, using: &random))
                // A stopped transfer whose end is never reported loses its place in the machine; the model follows.
                let actions = machine.elapsed(now: now)
                for id in model.stopping.keys
                where machine.entries[id] == nil || machine.attempt(of: id) != model.stopping[id]?.attempt {
                    model.stopping[id] = nil
                }
                for id in model.stopping.keys {
                    if case .stopping = machine.entries[id]?.state { continue }
                    model.stopping[id] = nil
                }
                try model.take(actions, limits: limits)
            }
            let waiting = machine.entries.values.filter { $0.state == .waiting }.count
            try #require(machine.waiting.count == waiting && machine.running <= limits.maxRunning)
            try #require(waiting == 0 || machine.running > 0, "requests wait although there is room")
        }
        // In the end, everything that is open ends by itself.
        for _ in 0..<2000 where !model.open.isEmpty || !model.running.isEmpty || !model.stopping.isEmpty {
            for (id, place) in model.running.merging(model.stopping, uniquingKeysWith: { first, _ in first }) {
                model.running[id] = nil
                model.stopping[id] = nil
                let answer = QueueMachine.Answer(status: 200)
                try model.take(machine.answered(id, attempt: place.attempt, answer: answer, now: now), limits: limits)
            }
            now = max(now, machine.nextTime ?? now)
            try model.take(machine.elapsed(now: now), limits: limits)
        }
        #expect(model.open.isEmpty && machine.entries.isEmpty && machine.places.isEmpty && machine.running == 0)
        #expect(machine.nextTime == nil && machine.timed.isEmpty)
    }
}
