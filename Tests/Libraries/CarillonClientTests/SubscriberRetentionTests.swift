import PushRandom
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import CarillonClient

/// Seeded random walks of a consumer that ends and starts again, beside a log that drops old events.
@Suite(.waits) struct SubscriberRetentionTests {
    private struct Event {
        let number: Int64
        let previous: Int64
        let topic: String
    }

    private struct Walk {
        private static let topics = ["delivery/shop/sent", "delivery/shop/rejected", "message/shop/accepted"]

        var random: SeededRandom
        let prefix: String
        var machine: SubscriberMachine
        var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
        var log: [Event] = []
        var oldest: Int64 = 1
        var last: [String: Int64] = [:]
        var wire: [[Event]] = []
        /// The place of the consumer, and what it has not taken.
        var taken = EventPosition()
        var waiting: [SubscriberMachine.Delivery] = []
        var seen: [Int64: Int] = [:]
        var gaps: [ClosedRange<Int64>] = []
        /// The events that were dropped before anything was taken.
        var excused: Set<Int64> = []

        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            prefix = ["", "delivery/", "delivery/shop/sent", "message/"][Int(seed % 4)]
            machine = SubscriberMachine(prefix: prefix, start: .position(EventPosition()))
        }

        mutating func chance(_ share: Double) -> Bool { random.unit() < share }

        mutating func happen() {
            guard let topic = Self.topics.randomElement(using: &random) else { return }
            var events: [Event] = []
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let event = Event(number: (log.last?.number ?? 0) + 1, previous: last[topic] ?? 0, topic: topic)
                log.append(event)
                last[topic] = event.number
                events.append(event)
            }
            if topic.hasPrefix(prefix), chance(0.8) { wire.append(events) }
        }

        mutating func drop() {
            guard let newest = log.last?.number else { return }
            let before = oldest
            oldest = Int64.random(in: oldest...newest + 1, using: &random)
            guard taken == EventPosition() else { return }
            excused.formUnion(before..<oldest)
        }

        func lines(_ events: some Collection<Event>) -> EventLines? {
            guard let topic = events.first?.topic else { return nil }
            let text = events.map { "{\"v\":1,\"seq\":\($0.number),\"prev\":\($0.previous),\"ts\":1}" }
            return EventLines(topic: topic, bytes: Array(text.joined(separator: "\n").utf8))
        }

        mutating func replay() {
            let since = machine.since
            let page = log.filter { $0.number > since && $0.number >= oldest }.prefix(
                Int.random(in: 1...8, using: &random))
            let events = page.filter { $0.topic.hasPrefix(prefix) }.compactMap { lines([$0]) }
            // With nothing to send, Carillon names the newest number that it knows.
            let next = max(page.last?.number ?? since, min(oldest - 1, log.last?.number ?? 0), since)
            let isWhole = machine.receive(events, end: .page(next: next, oldest: oldest))
            #expect(isWhole)
        }

        mutating func heartbeat() {
            machine.receive(Heartbeat(number: log.last?.number ?? 0, topics: last), now: now)
        }

        /// Takes a number of deliveries as ``EventFeed`` does, and the last lines perhaps in part.
        mutating func take(_ count: Int) {
            waiting += machine.takeDeliveries()
            for _ in 0..<min(count, waiting.count) {
                switch waiting.removeFirst() {
                case .lines(let lines, let first):
                    let end = chance(0.3) ? Int.random(in: first..<lines.lines.count, using: &random) : nil
                    for line in lines.lines[first...(end ?? lines.lines.count - 1)] {
                        seen[line.number, default: 0] += 1
                        taken.take(line.number, of: lines.topic)
                    }
                    // The rest is taken after a restart.
                    if let end, end < lines.lines.count - 1 { return restart() }
                case .mark(let number, _): taken.raise(to: number)
                case .failure(let error, let position):
                    guard case .gap(let from, let to) = error else {
                        Issue.record("\(error)")
                        return
                    }
                    #expect(from <= to && to < oldest, "a gap has only events that are dropped")
                    gaps.append(from...to)
                    taken = position
                    return restart()
                }
            }
        }

        mutating func restart() {
            waiting = []
            wire = []
            machine = SubscriberMachine(prefix: prefix, start: .position(EventPosition("\(taken)") ?? EventPosition()))
        }

        mutating func step() {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<35: happen()
            case 35..<65:
                if machine.isReplaying {
                    replay()
                } else if !wire.isEmpty, let lines = lines(wire.removeFirst()) {
                    machine.receive(lines)
                }
            case 65..<75: if !machine.isReplaying { heartbeat() }
            case 75..<79: if chance(0.4) { drop() }
            case 79..<83:
                machine.disconnected()
                wire = []
            case 83..<86: restart()
            default: take(Int.random(in: 1...4, using: &random))
            }
        }

        mutating func finish() {
            for _ in 0..<10_000 {
                if machine.isReplaying { replay() } else { heartbeat() }
                take(.max)
                if !machine.isReplaying, taken.base >= log.last?.number ?? 0 { return }
            }
            Issue.record("no end")
        }
    }

    @Test(arguments: 0..<60)
    func `Each event is taken, or is in a gap that the consumer was told`(_ seed: Int) {
        var walk = Walk(seed: UInt64(seed))
        for _ in 0..<600 { walk.step() }
        walk.finish()
        for event in walk.log where event.topic.hasPrefix(walk.prefix) {
            let number = event.number
            if walk.seen[number] != nil || walk.excused.contains(number) { continue }
            #expect(walk.gaps.contains { $0.contains(number) }, "the event \(number) is missing without a word")
        }
        // Behind a gap, events of topics that were ahead of the others come again.
        if walk.gaps.isEmpty { #expect(walk.seen.values.allSatisfy { $0 == 1 }) }
        #expect(!walk.seen.isEmpty)
    }
}
