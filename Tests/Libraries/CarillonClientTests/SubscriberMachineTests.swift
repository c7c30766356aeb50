import PushTime
import TestSupport
import Testing

@testable import CarillonClient

@Suite struct SubscriberMachineTests {
    private let now = MonotonicTime(nanoseconds: 1_000_000_000_000)
    private let topic = "delivery/shop/sent"

    private func lines(_ numbers: [Int64], after previous: Int64) throws -> EventLines {
        var before = previous
        var text = ""
        for number in numbers {
            text += "{\"v\":1,\"seq\":\(number),\"prev\":\(before),\"ts\":1}\n"
            before = number
        }
        return try #require(EventLines(topic: topic, bytes: Array(text.utf8)))
    }

    private func numbers(_ deliveries: [SubscriberMachine.Delivery]) -> [Int64] {
        deliveries.flatMap { delivery -> [Int64] in
            guard case .lines(let lines, let first) = delivery else { return [] }
            return lines.lines[first...].map { $0.number }
        }
    }

    private func failure(_ deliveries: [SubscriberMachine.Delivery]) -> (EventError, EventPosition)? {
        guard case .failure(let error, let position)? = deliveries.last else { return nil }
        return (error, position)
    }

    @Test func `A subscription from now begins with the first heartbeat`() throws {
        var machine = SubscriberMachine(prefix: "", start: .now)
        machine.receive(try lines([5], after: 4))
        #expect(numbers(machine.takeDeliveries()).isEmpty && !machine.isReplaying)
        machine.receive(Heartbeat(number: 6, topics: [topic: 5]), now: now)
        #expect(!machine.isReplaying && machine.since == 6)
        machine.receive(try lines([7, 9], after: 5))
        #expect(numbers(machine.takeDeliveries()) == [7, 9])
    }

    @Test func `Events that are not kept any more are a gap, and the position moves behind it`() throws {
        var machine = SubscriberMachine(prefix: "", start: .position(EventPosition(after: 10)))
        machine.receive(Heartbeat(number: 60, topics: [:]), now: now)
        #expect(machine.isReplaying)
        _ = machine.receive([try lines([55], after: 40)], end: .page(next: 55, oldest: 50))
        let (error, position) = try #require(failure(machine.takeDeliveries()))
        #expect(error == .gap(from: 11, to: 49) && position == EventPosition(after: 49))
        #expect(machine.hasFailed && !machine.isReplaying)
    }

    @Test func `From the beginning, events that are not kept any more are no gap`() throws {
        var machine = SubscriberMachine(prefix: "", start: .position(EventPosition()))
        machine.receive(Heartbeat(number: 60, topics: [:]), now: now)
        _ = machine.receive([try lines([55], after: 40)], end: .page(next: 60, oldest: 50))
        #expect(numbers(machine.takeDeliveries()) == [55] && !machine.hasFailed && !machine.isReplaying)
    }

    @Test func `A position within the first page is at no beginning any more`() throws {
        var start = EventPosition()
        start.take(10, of: topic)
        for (oldest, gap) in [(11, nil), (12, .gap(from: 11, to: 11)), (60, .gap(from: 11, to: 59))]
            as [(Int64, EventError?)]
        {
            var machine = SubscriberMachine(prefix: "", start: .position(start))
            machine.receive(Heartbeat(number: 60, topics: [topic: 60]), now: now)
            _ = machine.receive([try lines([60], after: 10)], end: .page(next: 60, oldest: oldest))
            #expect(failure(machine.takeDeliveries())?.0 == gap)
        }
    }

    @Test func `At the beginning, the past comes before live events`() throws {
        var machine = SubscriberMachine(prefix: "", start: .position(EventPosition()))
        machine.receive(try lines([5], after: 0))
        #expect(machine.isReplaying && numbers(machine.takeDeliveries()).isEmpty)
        let other = try #require(EventLines(topic: "a/b/c", bytes: Array("{\"seq\":2,\"prev\":0}".utf8)))
        _ = machine.receive([other, try lines([5], after: 0)], end: .page(next: 5, oldest: 2))
        #expect(numbers(machine.takeDeliveries()) == [2, 5] && !machine.isReplaying && machine.since == 5)
    }

    @Test func `A replaced log and damaged events are errors with a position to continue from`() throws {
        var machine = SubscriberMachine(prefix: "", start: .position(EventPosition(after: 10)))
        machine.receive(Heartbeat(number: 4, topics: [:]), now: now)
        _ = machine.receive([], end: .page(next: 4, oldest: 1))
        let replaced = try #require(failure(machine.takeDeliveries()))
        #expect(replaced.0 == .logReplaced && replaced.1 == EventPosition())

        machine = SubscriberMachine(prefix: "", start: .position(EventPosition(after: 10)))
        machine.receive(Heartbeat(number: 40, topics: [:]), now: now)
        _ = machine.receive([], end: .damaged(next: 30))
        let damaged = try #require(failure(machine.takeDeliveries()))
        #expect(damaged.0 == .gap(from: 11, to: 30) && damaged.1 == EventPosition(after: 30))
    }

    /// After a restore, the first event of each topic names the end of the gap, and the oldest event of an answer that
    /// begins in the gap is the one after it.
    @Test(arguments: [8, 10, 15] as [Int64])
    func `A log that was restored from a backup is a gap, and the position moves behind it`(at: Int64) throws {
        var machine = SubscriberMachine(prefix: "", start: .position(EventPosition(after: at)))
        // The backup ends at 10, and the next event is 1001.
        machine.receive(try lines([1001], after: 1000))
        #expect(machine.isReplaying && machine.since == at)
        if at < 10 {
            #expect(machine.receive([try lines([9, 10], after: at)], end: .page(next: 10, oldest: 1)))
            #expect(numbers(machine.takeDeliveries()) == [9, 10] && machine.isReplaying && machine.since == 10)
        }
        #expect(machine.receive([try lines([1001], after: 1000)], end: .page(next: 1001, oldest: 1001)))
        let (error, position) = try #require(failure(machine.takeDeliveries()))
        #expect(error == .gap(from: max(at, 10) + 1, to: 1000) && position == EventPosition(after: 1000))
        machine = SubscriberMachine(prefix: "", start: .position(position))
        machine.receive(try lines([1001], after: 1000))
        #expect(numbers(machine.takeDeliveries()) == [1001] && !machine.isReplaying)
    }

    @Test func `Topics that fell silent for long are asked for`() {
        var machine = SubscriberMachine(prefix: "delivery/", start: .position(EventPosition(after: 5)))
        machine.receive(Heartbeat(number: 5, topics: [:]), now: now)
        _ = machine.receive([], end: .page(next: 5, oldest: 1))
        #expect(!machine.isReplaying)
        machine.receive(Heartbeat(number: 8, topics: ["message/shop/accepted": 8]), now: now + .seconds(1))
        #expect(!machine.isReplaying && machine.since == 8)
        machine.receive(Heartbeat(number: 9, topics: [:]), now: now + .seconds(40))
        #expect(machine.isReplaying)
    }

    @Test(arguments: [
        "", "{}", "[1]", "{\"seq\":0,\"prev\":0}", "{\"seq\":-4}", "{\"seq\":\"7\"}", "{\"v\":1,\"seq\":,\"prev\":1,",
        "{\"v\":1,\"seq\":99999999999999999999,\"prev\":1}",
    ])
    func `Lines without a number are left out`(_ text: String) {
        #expect(EventLines(topic: topic, bytes: Array(text.utf8)) == nil)
    }

    @Test func `Lines whose numbers do not ascend are left out`() throws {
        let text = "{\"seq\":5,\"prev\":3}\n{ \"prev\": 5, \"seq\": 5 }\nx\n{\"v\":1,\"seq\":8,\"prev\":5,\"a\":1}\n"
        let lines = try #require(EventLines(topic: topic, bytes: Array(text.utf8)))
        #expect(lines.lines.map { $0.number } == [5, 8] && lines.previous == 3)
    }

    @Test func `The number of topics above the base is bounded, and a replay raises the base`() throws {
        var machine = SubscriberMachine(prefix: "", start: .position(EventPosition()))
        func line(_ number: Int) throws -> EventLines {
            try #require(EventLines(topic: "a/\(number)/b", bytes: Array("{\"seq\":\(number),\"prev\":0}".utf8)))
        }
        machine.receive(Heartbeat(number: 0, topics: [:]), now: now)
        _ = machine.receive([], end: .page(next: 0, oldest: 1))
        for number in 1...SubscriberMachine.maxTopics { machine.receive(try line(number)) }
        #expect(!machine.isReplaying && numbers(machine.takeDeliveries()).count == SubscriberMachine.maxTopics)
        let next = SubscriberMachine.maxTopics + 1
        machine.receive(try line(next))
        #expect(machine.isReplaying && numbers(machine.takeDeliveries()).isEmpty)
        _ = machine.receive([try line(1), try line(next)], end: .page(next: Int64(next), oldest: 1))
        #expect(numbers(machine.takeDeliveries()) == [Int64(next)])
        #expect(!machine.isReplaying && machine.position == EventPosition(after: Int64(next)))
    }

    @Test func `A position survives its text`() {
        var position = EventPosition(after: 7)
        position.take(9, of: "a/\"b\"/c")
        position.take(6, of: "old")
        #expect(EventPosition(position.description) == position && position.topics.count == 1)
        for text in ["", "{}", "7", "{\"base\":-1}", "{\"base\":1,\"topics\":{\"a\":\"b\"}}"] {
            #expect(EventPosition(text) == nil)
        }
    }

    @Test func `The largest number of a heartbeat does not overflow`() throws {
        var machine = SubscriberMachine(prefix: "delivery/", start: .now)
        machine.receive(Heartbeat(number: .max, topics: [:]), now: now)
        machine.receive(Heartbeat(number: 5, topics: [:]), now: now)
        #expect(machine.isReplaying && machine.since == .max)
        let isTaken = machine.receive([], end: .damaged(next: 7))
        #expect(isTaken && machine.hasFailed)
        var other = SubscriberMachine(prefix: "delivery/", start: .position(EventPosition(after: .max)))
        other.receive(Heartbeat(number: 5, topics: [:]), now: now)
        let isComplete = other.receive([], end: .page(next: .max, oldest: .max))
        #expect(isComplete)
    }
}
