import PushRandom
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import CarillonClient

/// Tests of a subscription to a cluster, whose log has several parts.
@Suite(.waits) struct SubscriberPartsTests {
    private let topic = "delivery/shop/sent"
    private let now = MonotonicTime(nanoseconds: 1_000_000_000_000)

    private func lines(_ events: [(part: Int, number: Int64, previous: Int64)]) -> [EventLines] {
        let text = events.map { event in
            let part = event.part == 0 ? "" : ",\"part\":\(event.part)"
            return "{\"v\":1,\"seq\":\(event.number),\"prev\":\(event.previous)\(part),\"ts\":1}"
        }
        return EventLines.read(topic: topic, bytes: Array(text.joined(separator: "\n").utf8))
    }

    private func numbers(_ deliveries: [SubscriberMachine.Delivery]) -> [String] {
        deliveries.flatMap { delivery in
            switch delivery {
            case .lines(let lines, let first): lines.lines[first...].map { "\(lines.part):\($0.number)" }
            case .mark(let number, let part): ["\(part)>\(number)"]
            case .failure(let error, _): ["\(error)"]
            }
        }
    }

    @Test func `The lines of a message are taken by their parts`() throws {
        let read = lines([(0, 5, 4), (3, 2, 1), (0, 6, 5), (3, 4, 2), (3, 3, 2)])
        #expect(read.map(\.part) == [0, 3] && read.map(\.previous) == [4, 1])
        #expect(read.map { $0.lines.map(\.number) } == [[5, 6], [2, 4]])
        let slow = EventLines.read(topic: topic, bytes: Array(#"{"part":7,"prev":1,"seq":9}"#.utf8))
        #expect(slow.map(\.part) == [7] && slow.first?.lines.map(\.number) == [9])
        for part in ["256", "-1", "99999999999999999999"] {
            #expect(
                EventLines.read(topic: topic, bytes: Array(#"{"v":1,"seq":9,"prev":1,"part":\#(part),"ts":1}"#.utf8))
                    .isEmpty)
        }
    }

    @Test func `A position has the places in all parts as text`() throws {
        var position = EventPosition(after: 7)
        #expect(position.description == #"{"base":7,"topics":{}}"#)
        position.raise(to: 5, inPart: 3)
        position.take(9, of: topic, inPart: 3)
        position.take(8, of: topic, inPart: 0)
        let text = position.description
        #expect(
            text
                == #"{"base":7,"topics":{"delivery/shop/sent":8},"parts":{"3":{"base":5,"topics":{"delivery/shop/sent":9}}}}"#
        )
        #expect(EventPosition(text) == position)
        for part in ["0", "256", "x", "-1"] {
            #expect(EventPosition(#"{"base":7,"topics":{},"parts":{"\#(part)":{"base":1,"topics":{}}}}"#) == nil)
        }
        #expect(EventPosition(#"{"base":7,"topics":{},"parts":{"3":{"topics":{}}}}"#) == nil)
    }

    /// A message with lines of two parts, of which the first has a gap.
    @Test func `A gap in one part is filled before what came with it is taken`() throws {
        var machine = SubscriberMachine(prefix: "", start: .position(EventPosition()))
        machine.receive(Heartbeat(number: 0, topics: [:], parts: [0: .init(number: 0, topics: [:])]), now: now)
        #expect(machine.request == .part(0))
        _ = machine.receive([], end: .page(next: 0, oldest: 1))
        #expect(!machine.isReplaying)
        for part in lines([(3, 4, 2), (5, 1, 0)]) { machine.receive(part) }
        #expect(machine.request == .part(3) && machine.since == 0 && numbers(machine.takeDeliveries()).isEmpty)
        let isWhole = machine.receive(lines([(3, 1, 0), (3, 2, 1)]), end: .page(next: 2, oldest: 1))
        #expect(isWhole)
        // The other part is at its beginning, and its past comes first.
        #expect(machine.request == .part(5))
        #expect(numbers(machine.takeDeliveries()) == ["3:1", "3:2", "3>2", "3:4"])
        _ = machine.receive(lines([(5, 1, 0)]), end: .page(next: 1, oldest: 1))
        #expect(!machine.isReplaying && numbers(machine.takeDeliveries()) == ["5:1", "5>1"])
        #expect(machine.position[part: 3].base == 2 && machine.position[part: 5].base == 1)
    }

    @Test func `A subscription to new events learns where each part begins`() throws {
        var machine = SubscriberMachine(prefix: "", start: .now)
        let beat = try #require(
            Heartbeat(Array(#"{"ts":1,"parts":{"3":{"seq":9,"topics":{"delivery/shop/sent":8}}}}"#.utf8)))
        #expect(beat.parts == [3: Heartbeat(number: 9, topics: [topic: 8])])
        machine.receive(beat, now: now)
        #expect(machine.request == .heads)
        let end = try #require(
            ReplayEnd(kind: Array("replay-end/1".utf8), Array(#"{"next":{"0":4,"3":10},"oldest":{"0":1,"3":1}}"#.utf8)))
        #expect(end == .heads([0: 4, 3: 10]))
        _ = machine.receive([], end: end)
        #expect(!machine.isReplaying && numbers(machine.takeDeliveries()) == ["0>4", "3>10"])
        for part in lines([(3, 10, 8), (3, 11, 10), (0, 5, 4), (7, 1, 0)]) { machine.receive(part) }
        #expect(machine.request == .part(7) && numbers(machine.takeDeliveries()) == ["3:11", "0:5"])
        _ = machine.receive(lines([(7, 1, 0)]), end: .page(next: 1, oldest: 1))
        #expect(!machine.isReplaying && numbers(machine.takeDeliveries()) == ["7:1", "7>1"])
    }

    @Test func `What one part has lost does not move the place in others`() throws {
        var start = EventPosition(after: 3)
        start[part: 3] = EventPosition(after: 5)
        var machine = SubscriberMachine(prefix: "", start: .position(start))
        machine.receive(Heartbeat(number: 0, topics: [:], parts: [3: .init(number: 40, topics: [:])]), now: now)
        #expect(machine.request == .part(3) && machine.since == 5)
        _ = machine.receive([], end: .page(next: 40, oldest: 21))
        guard case .failure(let error, let position)? = machine.takeDeliveries().last else {
            Issue.record("there is no failure")
            return
        }
        #expect(error == .gap(from: 6, to: 20) && position.base == 3 && position[part: 3].base == 20)
    }

    /// Parts publish to one subscription, with losses. Their owners list them in heartbeats.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `Walks over several parts deliver each event once, in the order of its part`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var machine = SubscriberMachine(prefix: "", start: .position(EventPosition()))
        var logs: [[Int64]] = [[], [], []]
        var delivered: [[Int64]] = [[], [], []]
        var now = now
        var wire: [(part: Int, number: Int64, previous: Int64)] = []
        func take() {
            for delivery in machine.takeDeliveries() {
                switch delivery {
                case .lines(let lines, let first): delivered[lines.part] += lines.lines[first...].map(\.number)
                case .mark(let number, let part):
                    #expect(
                        delivered[part].count == logs[part].count { $0 <= number }
                            || delivered[part].last ?? 0 >= number)
                case .failure(let error, _): Issue.record("\(error)")
                }
            }
        }
        func replay() {
            guard case .part(let part) = machine.request else {
                Issue.record("an unexpected request")
                return
            }
            let since = machine.since
            let page = logs[part].filter { $0 > since }.prefix(Int.random(in: 1...4, using: &random))
            let events = page.map { (part: part, number: $0, previous: $0 - 1) }
            let isWhole = machine.receive(lines(events), end: .page(next: page.last ?? since, oldest: 1))
            #expect(isWhole)
        }
        func beat() {
            var parts: [Int: Heartbeat] = [:]
            for part in 0..<3 {
                let last = Int64(logs[part].count)
                parts[part] = Heartbeat(number: last, topics: last > 0 ? [topic: last] : [:])
            }
            machine.receive(Heartbeat(number: 0, topics: [:], parts: parts), now: now)
        }
        for _ in 0..<150 {
            now = now + .milliseconds(700)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                let part = Int.random(in: 0..<3, using: &random)
                let number = Int64(logs[part].count + 1)
                logs[part].append(number)
                if random.unit() < 0.8 { wire.append((part, number, number - 1)) }
            case 4..<8:
                if machine.isReplaying {
                    replay()
                } else if !wire.isEmpty {
                    // The lines of a part in one message follow each other.
                    var (count, last) = (0, [Int: Int64]())
                    for event in wire.prefix(Int.random(in: 1...5, using: &random)) {
                        guard last[event.part].map({ $0 == event.previous }) ?? true else { break }
                        last[event.part] = event.number
                        count += 1
                    }
                    for part in lines(Array(wire.prefix(count))) { machine.receive(part) }
                    wire.removeFirst(count)
                }
            case 8: if !machine.isReplaying { beat() }
            default: machine.disconnected()
            }
            take()
        }
        while machine.isReplaying { replay() }
        beat()
        while machine.isReplaying { replay() }
        take()
        #expect(delivered == logs)
    }
}
