import PushLogic
import PushModel
import PushTime
import TestSupport
import Testing

@Suite struct ConnectionMachineTests {
    @Test func `Nothing is sent before the peer's SETTINGS, and then as much as they allow`() {
        let bench = MachineBench()
        bench.deliver(1...5)
        #expect(bench.send().isEmpty)
        #expect(bench.settings(2) == .ready(limit: 2))
        #expect(bench.send() == [1, 2])
        #expect(bench.send().isEmpty)
        #expect(bench.settings(2) == nil)
        #expect(bench.settings(3) == .limitChanged(3))
        #expect(bench.send() == [3])
        bench.answer(2, .accepted(providerID: nil))
        #expect(bench.send() == [4])
        #expect(bench.takeEnded() == [.init(2, .accepted(providerID: nil))])
    }

    @Test func `A lower limit lets requests in flight finish and delays the others`() {
        let bench = MachineBench(limit: 4)
        bench.deliver(1...6)
        #expect(bench.send() == [1, 2, 3, 4])
        #expect(bench.settings(1) == .limitChanged(1))
        for number in 1...3 { bench.answer(UInt64(number), .accepted(providerID: nil)) }
        #expect(bench.send().isEmpty)
        bench.answer(4, .accepted(providerID: nil))
        #expect(bench.send() == [5])
    }

    @Test func `A draining session returns waiting deliveries and waits for those in flight`() {
        let bench = MachineBench(limit: 2)
        bench.deliver(1...4)
        #expect(bench.send() == [1, 2])
        #expect(bench.drain())
        #expect(bench.takeEnded() == [.init(3, .notProcessed), .init(4, .notProcessed)])
        #expect(!bench.isDrained)
        bench.deliver(5...5)
        #expect(bench.takeEnded() == [.init(5, .notProcessed)])
        bench.answer(1, .accepted(providerID: nil))
        bench.answer(2, .accepted(providerID: nil))
        #expect(bench.isDrained)
        #expect(!bench.drain())
    }

    @Test func `GOAWAY drains, and a second one only adds its reason`() {
        let bench = MachineBench(limit: 5)
        bench.deliver(1...1)
        #expect(bench.send() == [1])
        #expect(bench.goAway(nil) == .goAway(reason: nil))
        #expect(
            bench.goAway("Shutdown") == nil)
        #expect(bench.goAwayReason?.rawValue == "Shutdown")
        #expect(bench.settings(9) == .limitChanged(9))
        bench.deliver(2...2)
        #expect(bench.send().isEmpty)
    }

    @Test func `Each kind of end is reported as such`() {
        let bench = MachineBench(limit: 10)
        bench.deliver(1...5)
        _ = bench.send()
        let refusal = Refusal(status: 410, reason: ProviderReason(rawValue: "Unregistered"), timestamp: 5)
        bench.answer(1, .refused(refusal))
        bench.notProcessed(2)
        bench.lose(3, .reset)
        bench.lose(4, .connectionLost)
        bench.close()
        #expect(
            bench.takeEnded() == [
                .init(1, .refused(refusal)), .init(2, .notProcessed), .init(3, .unknown(.reset)),
                .init(4, .unknown(.connectionLost)), .init(5, .unknown(.connectionLost)),
            ])
        #expect(bench.phase == .closed)
    }

    @Test func `The end of a session that never opened returns all deliveries`() {
        let bench = MachineBench()
        bench.deliver(1...3)
        bench.close()
        #expect(bench.takeEnded().map(\.result) == Array(repeating: .notProcessed, count: 3))
    }

    @Test func `Only requests that have timed out expire, oldest first, and late answers are ignored`() {
        let bench = MachineBench(limit: 10)
        bench.deliver(1...2)
        _ = bench.send()
        bench.now = bench.now + .seconds(20)
        bench.deliver(3...3)
        _ = bench.send()
        #expect(bench.nextDeadline == bench.now + .seconds(10))
        #expect(bench.expireOldest(after: .milliseconds(9999)) == nil)
        bench.now = bench.now + .seconds(10)
        #expect(bench.expireOldest() == bench.tag(1))
        #expect(bench.expireOldest() == bench.tag(2))
        #expect(bench.expireOldest() == nil)
        bench.answer(1, .accepted(providerID: nil))
        #expect(bench.takeEnded() == [.init(1, .unknown(.timeout)), .init(2, .unknown(.timeout))])
        #expect(bench.nextDeadline == bench.now + .seconds(20))
    }

    @Test func `A session retires when its peer has allowed no request for the answer timeout`() {
        let bench = MachineBench(limit: 2)
        bench.deliver(1...3)
        #expect(bench.send() == [1, 2])
        #expect(bench.settings(0) == .limitChanged(0))
        bench.now = bench.now + .seconds(29)
        bench.answer(1, .accepted(providerID: nil))
        bench.answer(2, .accepted(providerID: nil))
        #expect(bench.nextDeadline == bench.now + .seconds(1))
        #expect(bench.retireIfBarred() == nil)
        bench.now = bench.now + .seconds(1)
        #expect(bench.retireIfBarred() == .retiring)
        #expect(bench.takeEnded().map(\.number) == [1, 2, 3])
        #expect(bench.retireIfBarred() == nil)
    }

    @Test func `A tag does not identify the next delivery in the same slot`() {
        let bench = MachineBench(limit: 1)
        bench.deliver(1...2)
        _ = bench.send()
        let old = bench.tag(1)
        bench.answer(1, .accepted(providerID: nil))
        #expect(bench.send() == [2])
        bench.answer(tag: old)
        #expect(bench.takeEnded() == [.init(1, .accepted(providerID: nil))])
        #expect(bench.inFlightCount == 1)
    }

    @Test func `A session retires before its stream ids run out`() {
        var settings = ConnectionMachine.Settings()
        settings.maxRequests = 3
        let bench = MachineBench(settings: settings, limit: 2)
        bench.deliver(1...5)
        #expect(bench.send() == [1, 2])
        bench.answer(1, .accepted(providerID: nil))
        bench.answer(2, .accepted(providerID: nil))
        #expect(bench.send() == [3])
        #expect(bench.lastEvent == .retiring)
        #expect(bench.phase == .draining)
        #expect(bench.takeEnded().map(\.number) == [1, 2, 4, 5])
    }

    @Test func `Deliveries that the transport does not take are not processed`() {
        let bench = MachineBench(limit: 9)
        bench.deliver(1...3)
        bench.refusesAfter = 1
        #expect(bench.send() == [1])
        #expect(bench.lastEvent == .retiring)
        #expect(bench.takeEnded() == [.init(2, .notProcessed), .init(3, .notProcessed)])
    }

    @Test func `A session stays open while the transport is full, and refused deliveries go first`() {
        let bench = MachineBench(limit: 2000)
        bench.deliver(1...5)
        bench.refusesAfter = 2
        bench.refusal = .noRoom
        #expect(bench.send() == [1, 2])
        #expect(bench.lastEvent == nil && bench.takeEnded() == [])
        bench.answer(1, .accepted(providerID: nil))
        bench.refusesAfter = 1
        #expect(bench.send() == [3])
        #expect(bench.lastEvent == nil)
        bench.refusesAfter = .max
        #expect(bench.send() == [4, 5])
    }

    @Test func `A delivery that waits for a stream is not sent after its message was cancelled or has expired`() {
        let bench = MachineBench(limit: 1)
        let gone = Message(id: MessageID("gone")!, app: AppID("a")!, payload: [])
        let brief = Message(
            id: MessageID("brief")!, app: AppID("a")!, expiry: Expiry(expiresAt: bench.wall.seconds + 5), payload: [])
        bench.deliver(1...2, of: gone)
        bench.deliver(3...3, of: brief)
        bench.deliver(4...4)
        #expect(bench.send() == [1])
        gone.withdraw()
        bench.wall = WallTime(seconds: bench.wall.seconds + 5)
        bench.answer(1, .accepted(providerID: nil))
        #expect(bench.send() == [4])
        #expect(
            bench.takeEnded() == [
                .init(1, .accepted(providerID: nil)), .init(2, .notProcessed), .init(3, .notProcessed),
            ])
    }

    @Test func `A recall returns what was cancelled, and a pause everything that was not sent`() {
        let bench = MachineBench(limit: 1)
        let gone = Message(id: MessageID("gone")!, app: AppID("a")!, payload: [])
        bench.deliver(1...2)
        bench.deliver(3...4, of: gone)
        bench.deliver(5...5)
        #expect(bench.send() == [1])
        gone.withdraw()
        bench.recall()
        #expect(bench.takeEnded() == [.init(3, .notProcessed), .init(4, .notProcessed)])
        bench.giveBack()
        #expect(bench.takeEnded() == [.init(2, .notProcessed), .init(5, .notProcessed)])
        #expect(bench.inFlightCount == 1 && bench.waitingCount == 0 && bench.phase == .open)
        bench.deliver(6...6)
        bench.answer(1, .accepted(providerID: nil))
        #expect(bench.send() == [6])
    }

    @Test func `The attempt number and the latency start when a request is sent`() {
        let bench = MachineBench()
        bench.deliver(1...1)
        bench.now = bench.now + .seconds(3)
        _ = bench.settings(1)
        _ = bench.send()
        bench.now = bench.now + .milliseconds(80)
        bench.answer(1, .accepted(providerID: nil))
        let ended = bench.takeWhole()
        #expect(ended[0].delivery.attempt == 1)
        #expect(ended[0].latency == .milliseconds(80))
    }

    /// The model knows what it gave and took back, and compares the machine with it.
    @Test(arguments: 0..<10) func `Every delivery ends exactly once in a random walk`(batch: Int) {
        for seed in batch * 100..<(batch + 1) * 100 {
            var random = SeededRandom(seed: UInt64(seed))
            var settings = ConnectionMachine.Settings()
            settings.answerTimeout = .seconds(Int.random(in: 1...20, using: &random))
            settings.maxRequests = UInt64.random(in: 1...400, using: &random)
            let mirror = MachineMirror(settings)
            for _ in 0..<Int.random(in: 1...120, using: &random) { mirror.step(&random) }
            mirror.close()
        }
    }
}

struct Ended: Equatable {
    var number: UInt64
    var result: AttemptResult

    init(_ number: UInt64, _ result: AttemptResult) {
        self.number = number
        self.result = result
    }
}

/// A machine, its time, and the tags that it returned.
final class MachineBench {
    static let message = Message(id: MessageID("m")!, app: AppID("a")!, payload: [])

    private var machine: ConnectionMachine
    var now = MonotonicTime(nanoseconds: 0)
    var wall = WallTime(milliseconds: 1_000_000)
    /// The number of requests after which the transport takes no more, for good or for now.
    var refusesAfter = Int.max
    var refusal = ConnectionMachine.Submission.over
    private(set) var lastEvent: ConnectionEvent?
    private var tags: [UInt64: UInt64] = [:]

    init(settings: ConnectionMachine.Settings = .init(), limit: Int? = nil) {
        machine = ConnectionMachine(settings: settings)
        if let limit { _ = machine.settingsReceived(limit: limit, now: now) }
    }

    static func delivery(_ number: UInt64, of message: Message = message) -> Delivery {
        Delivery(
            ticket: number, message: message, token: Address(words: (number, 0, 0, 0)),
            deliveryID: DeliveryID(high: 0, low: number))
    }

    func deliver(_ numbers: ClosedRange<UInt64>, of message: Message = message) {
        machine.deliver(numbers.map { Self.delivery($0, of: message) })
    }

    func recall() { machine.recall() }
    func giveBack() { machine.giveBack() }

    func send() -> [UInt64] {
        var sent: [UInt64] = []
        var tags = tags
        let (most, refusal) = (refusesAfter, refusal)
        lastEvent = machine.send(now: now, at: wall) { delivery, tag in
            guard sent.count < most else { return refusal }
            sent.append(delivery.ticket)
            tags[delivery.ticket] = tag
            return .taken
        }
        self.tags = tags
        return sent
    }

    func tag(_ number: UInt64) -> UInt64 { tags[number]! }

    // These members forward to the machine, since `#expect` cannot take a noncopyable value.

    var phase: ConnectionMachine.Phase { machine.phase }
    var isDrained: Bool { machine.isDrained }
    var inFlightCount: Int { machine.inFlightCount }
    var waitingCount: Int { machine.waitingCount }
    var nextDeadline: MonotonicTime? { machine.nextDeadline }
    var goAwayReason: ProviderReason? { machine.goAwayReason }
    func settings(_ limit: Int) -> ConnectionEvent? { machine.settingsReceived(limit: limit, now: now) }
    func retireIfBarred() -> ConnectionEvent? { machine.retireIfBarred(now: now) }
    func goAway(_ reason: String?) -> ConnectionEvent? {
        machine.goAwayReceived(reason: reason.map { ProviderReason(rawValue: $0) })
    }
    func drain() -> Bool { machine.drain() }
    func notProcessed(_ number: UInt64) { machine.notProcessed(tag(number), now: now) }
    func lose(_ number: UInt64, _ cause: UnknownCause) { machine.lost(tag(number), cause: cause, now: now) }
    func close() { machine.closed(now: now) }
    func expireOldest(after time: Duration = .zero) -> UInt64? { machine.expireOldest(now: now + time) }
    func answer(tag: UInt64) { machine.answered(tag, with: .accepted(providerID: nil), now: now) }
    func takeWhole() -> [AttemptReport] { machine.takeEnded() }

    func answer(_ number: UInt64, _ ending: AttemptResult) {
        machine.answered(tag(number), with: ending, now: now)
    }

    func takeEnded() -> [Ended] {
        machine.takeEnded().map { Ended($0.delivery.ticket, $0.result) }
    }
}

/// A slow and simple model of a session that states what the machine must do.
final class MachineMirror {
    private enum Stage: Equatable {
        case waiting
        case inFlight(since: MonotonicTime)
        case over
    }

    private var bench: MachineBench
    private let settings: ConnectionMachine.Settings
    private var stages: [UInt64: Stage] = [:]
    private var expected: [Ended] = []
    private var limit: Int?
    private var isDraining = false
    private var isClosed = false
    private var requests: UInt64 = 0
    private var next: UInt64 = 1

    init(_ settings: ConnectionMachine.Settings) {
        self.settings = settings
        bench = MachineBench(settings: settings)
    }

    private var inFlight: [UInt64] {
        stages.filter { if case .inFlight = $0.value { true } else { false } }.keys.sorted()
    }

    private var waiting: [UInt64] { stages.filter { $0.value == .waiting }.keys.sorted() }

    func step(_ random: inout SeededRandom) {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<5: deliver(Int.random(in: 1...10, using: &random))
        case 5..<9: send()
        case 9..<13: answer(&random)
        case 13: lose(&random)
        case 14, 15: changeLimit(Int.random(in: 0...12, using: &random))
        case 16: bench.now = bench.now + .milliseconds(Int.random(in: 0...3000, using: &random))
        case 17: expire()
        case 18: if Int.random(in: 0..<10, using: &random) == 0 { goAway() }
        default: if Int.random(in: 0..<20, using: &random) == 0 { drain() }
        }
        check()
    }

    func close() {
        for number in inFlight { end(number, .unknown(.connectionLost)) }
        for number in waiting { end(number, .notProcessed) }
        isClosed = true
        bench.close()
        check()
        hold(stages.values.allSatisfy { $0 == .over })
    }

    private func end(_ number: UInt64, _ ending: AttemptResult) {
        stages[number] = .over
        expected.append(Ended(number, ending))
    }

    private func deliver(_ count: Int) {
        let numbers = next...next + UInt64(count) - 1
        next += UInt64(count)
        for number in numbers {
            stages[number] = .waiting
            if isDraining || isClosed { end(number, .notProcessed) }
        }
        bench.deliver(numbers)
    }

    private func send() {
        var due: [UInt64] = []
        var isWornOut = false
        if let limit, !isDraining {
            for number in waiting where inFlight.count + due.count < limit {
                if requests + UInt64(due.count) == settings.maxRequests {
                    isWornOut = true
                    break
                }
                due.append(number)
            }
        }
        hold(bench.send() == due)
        for number in due { stages[number] = .inFlight(since: bench.now) }
        requests += UInt64(due.count)
        hold((bench.lastEvent == .retiring) == isWornOut)
        if isWornOut { returnAll() }
    }

    private func returnAll() {
        isDraining = true
        for number in waiting { end(number, .notProcessed) }
    }

    private func answer(_ random: inout SeededRandom) {
        guard let number = inFlight.randomElement(using: &random) else { return }
        let ending: AttemptResult =
            Bool.random(using: &random)
            ? .accepted(providerID: nil) : .refused(Refusal(status: 503, reason: nil))
        bench.answer(number, ending)
        // A second answer to the same request is a mistake of the peer and ends no delivery.
        if Bool.random(using: &random) { bench.answer(number, .accepted(providerID: nil)) }
        end(number, ending)
    }

    private func lose(_ random: inout SeededRandom) {
        guard let number = inFlight.randomElement(using: &random) else { return }
        if Bool.random(using: &random) {
            bench.notProcessed(number)
            end(number, .notProcessed)
        } else {
            bench.lose(number, .reset)
            end(number, .unknown(.reset))
        }
    }

    private func changeLimit(_ new: Int) {
        let event = bench.settings(new)
        if limit == nil, !isDraining {
            hold(event == .ready(limit: new))
            limit = new
        } else {
            hold(event == (new == (limit ?? 0) ? nil : .limitChanged(new)))
            limit = new
        }
    }

    private func expire() {
        var due: [(UInt64, MonotonicTime)] = []
        for number in inFlight {
            if case .inFlight(let since) = stages[number], since + settings.answerTimeout <= bench.now {
                due.append((number, since))
            }
        }
        due.sort { $0.1 != $1.1 ? $0.1 < $1.1 : $0.0 < $1.0 }
        for (number, _) in due {
            hold(bench.expireOldest() == bench.tag(number))
            end(number, .unknown(.timeout))
        }
        hold(bench.expireOldest() == nil)
    }

    private func goAway() {
        let event = bench.goAway(nil)
        hold(event == (isDraining ? nil : .goAway(reason: nil)))
        if !isDraining { returnAll() }
    }

    private func drain() {
        hold(bench.drain() == !isDraining)
        if !isDraining { returnAll() }
    }

    private func check() {
        hold(bench.inFlightCount == inFlight.count)
        hold(bench.waitingCount == waiting.count)
        hold(bench.isDrained == (isDraining && !isClosed && inFlight.isEmpty))
        let ended = bench.takeEnded()
        hold(ended.sorted { $0.number < $1.number } == expected.sorted { $0.number < $1.number })
        expected = []
    }

    /// `#expect` is too slow to be called a million times.
    private func hold(_ isTrue: Bool, line: Int = #line) {
        if !isTrue { Issue.record("the machine left the model at line \(line)") }
    }
}
