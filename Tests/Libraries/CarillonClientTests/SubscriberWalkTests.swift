import PushRandom
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import CarillonClient

/// Seeded random walks of ``SubscriberMachine`` beside a log that publishes with losses and answers replays.
@Suite(.waits) struct SubscriberWalkTests {
    private struct Event {
        let number: Int64
        let previous: Int64
        let topic: String
    }

    private struct Walk {
        private static let topics = ["delivery/shop/sent", "delivery/shop/rejected", "message/shop/accepted"]

        var random: SeededRandom
        var machine: SubscriberMachine
        let prefix: String
        var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
        var log: [Event] = []
        var last: [String: Int64] = [:]
        /// When each topic had its last event.
        var times: [String: MonotonicTime] = [:]
        /// What was published and is on its way; `nil` is a heartbeat.
        var wire: [[Event]] = []
        var delivered: [Event] = []
        var seen: Set<Int64> = []
        var mark: Int64 = 0

        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            prefix = ["", "delivery/", "delivery/shop/sent", "message/"][Int(seed % 4)]
            machine = SubscriberMachine(prefix: prefix, start: .position(EventPosition()))
        }

        mutating func chance(_ share: Double) -> Bool { random.unit() < share }

        /// Adds the events of a tick to the log, and publishes one message for each topic, in any order.
        mutating func happen() {
            var messages: [String: [Event]] = [:]
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                guard let topic = Self.topics.randomElement(using: &random) else { return }
                let number = (log.last?.number ?? 0) + Int64.random(in: 1...3, using: &random)
                let event = Event(number: number, previous: last[topic] ?? 0, topic: topic)
                log.append(event)
                last[topic] = number
                times[topic] = now
                messages[topic, default: []].append(event)
            }
            for (topic, events) in messages.shuffled(using: &random) where topic.hasPrefix(prefix) && chance(0.85) {
                wire.append(events)
            }
        }

        func lines(_ events: some Collection<Event>) -> EventLines? {
            guard let topic = events.first?.topic else { return nil }
            let text = events.map { "{\"v\":1,\"seq\":\($0.number),\"prev\":\($0.previous),\"ts\":1}" }
            return EventLines(topic: topic, bytes: Array(text.joined(separator: "\n").utf8))
        }

        mutating func heartbeat() {
            let recent = last.filter { times[$0.key].map { now - $0 < .seconds(60) } ?? false }
            machine.receive(Heartbeat(number: log.last?.number ?? 0, topics: recent), now: now)
        }

        mutating func replay() throws {
            if chance(0.1) {
                _ = machine.receive([], end: .busy(.milliseconds(5)))
                return
            }
            let since = machine.since
            let after = log.filter { $0.number > since }
            let page = after.prefix(Int.random(in: 1...8, using: &random))
            var runs: [[Event]] = []
            for event in page where event.topic.hasPrefix(prefix) {
                if let run = runs.last, run[0].topic == event.topic {
                    runs[runs.count - 1].append(event)
                } else {
                    runs.append([event])
                }
            }
            let isWhole = machine.receive(
                runs.compactMap { lines($0) }, end: .page(next: page.last?.number ?? since, oldest: 1))
            #expect(isWhole)
        }

        mutating func take() {
            for delivery in machine.takeDeliveries() {
                switch delivery {
                case .lines(let lines, let first):
                    for line in lines.lines[first...] {
                        #expect(seen.insert(line.number).inserted, "an event is delivered once")
                        let before = delivered.last { $0.topic == lines.topic }
                        #expect(before.map { $0.number < line.number } ?? true, "in the order of its topic")
                        let event = log.first { $0.number == line.number }
                        #expect(event?.topic == lines.topic)
                        // Nothing of the topic lies between it and the event before.
                        #expect(before?.number ?? 0 == event?.previous)
                        if let event { delivered.append(event) }
                    }
                case .mark(let number, _):
                    #expect(number > mark)
                    mark = number
                    let all = log.filter { $0.number <= number && $0.topic.hasPrefix(prefix) }
                    #expect(all.allSatisfy { seen.contains($0.number) }, "a mark is behind no gap")
                case .failure(let error, _): Issue.record("\(error)")
                }
            }
        }

        mutating func step() throws {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<35: happen()
            case 35..<80:
                if machine.isReplaying {
                    try replay()
                } else if !wire.isEmpty {
                    let events = wire.removeFirst()
                    if let lines = lines(events) { machine.receive(lines) }
                }
            case 80..<90: if !machine.isReplaying { heartbeat() }
            case 90..<93:
                machine.disconnected()
                wire = []
            case 93..<94: now = now + .seconds(Int64.random(in: 20..<100, using: &random))
            default: now = now + .milliseconds(500)
            }
            take()
        }
    }

    @Test(arguments: 0..<24)
    func `Each event is delivered once and in order, whatever is lost`(_ seed: Int) throws {
        var walk = Walk(seed: UInt64(seed))
        for _ in 0..<500 { try walk.step() }
        // After the last heartbeat nothing is missing.
        walk.wire = []
        while walk.machine.isReplaying { try walk.replay() }
        walk.take()
        walk.machine.disconnected()
        walk.heartbeat()
        while walk.machine.isReplaying { try walk.replay() }
        walk.take()
        let wanted = walk.log.filter { $0.topic.hasPrefix(walk.prefix) }.map { $0.number }
        #expect(walk.seen == Set(wanted) && walk.machine.position.topics.isEmpty)
    }
}
