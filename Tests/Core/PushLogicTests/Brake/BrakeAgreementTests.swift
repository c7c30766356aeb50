import PushLogic
import PushModel
import PushTime
import TestSupport
import Testing

@Suite struct BrakeAgreementTests {
    private typealias Candidates = BrakeMachine.Candidates

    private static let shop = AppID("shop")!

    private static func time(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

    @Test func `A single node decides at once`() throws {
        var book = BrakeAgreement()
        let (mayPass, actions) = book.answered(
            100, candidates: Candidates(misdirected: 100), of: Self.shop, now: Self.time(0))
        let on = BrakeDecision(Self.shop, isOn: true, generation: 0, candidates: 100, answers: 100)
        #expect(!mayPass && actions == [.hold(Self.shop), .decide(on)])
        #expect(book.decided(on, with: .stored) == [.announce(on)])
        #expect(book.stopped == [Self.shop])
        guard case .begun(let off) = book.release(Self.shop) else {
            Issue.record("not begun")
            return
        }
        #expect(book.release(Self.shop) == .isBusy)
        #expect(book.decided(off, with: .stored) == [.announce(off)])
        #expect(book.stopped.isEmpty && book.release(Self.shop) == .isOff)
    }

    /// Nodes with a table between them.
    private struct Cluster {
        var books: [BrakeAgreement]
        var mark: (generation: Int64, isOn: Bool, author: String) = (0, false, "")
        var runs: [Int64]
        var reports: [Int: ReceivedReport] = [:]
        var numbers: [Int64]
        var announced: [(node: Int, decision: BrakeDecision)] = []

        init(_ count: Int) {
            books = Array(repeating: BrakeAgreement(), count: count)
            runs = Array(repeating: 1, count: count)
            numbers = Array(repeating: 0, count: count)
        }

        mutating func perform(_ actions: [BrakeAgreement.Action], on node: Int) {
            for action in actions {
                switch action {
                case .decide(let decision):
                    perform(books[node].decided(decision, with: store(decision, by: node)), on: node)
                case .announce(let decision): announced.append((node, decision))
                case .hold, .followed: break
                }
            }
        }

        /// What the statements of the store do.
        mutating func store(_ decision: BrakeDecision, by node: Int) -> BrakeVerdict {
            guard mark.generation == decision.generation, mark.isOn != decision.isOn else { return .overtaken }
            mark = (decision.generation + (decision.isOn ? 0 : 1), decision.isOn, author(node))
            return .stored
        }

        func author(_ node: Int) -> String { "\(node) \(runs[node])" }

        mutating func publish(_ node: Int, run: Int64 = 1, now: MonotonicTime) {
            guard let counts = books[node].report(now: now) else { return }
            numbers[node] += 1
            reports[node] = ReceivedReport(
                "n\(node)", run: run, number: numbers[node], report: NodeReport(brakes: counts))
        }

        func shared(for node: Int) -> SharedApps {
            SharedApps(
                brakes: mark.author.isEmpty
                    ? [:]
                    : [
                        shop: SharedBrake(
                            generation: mark.generation, isOn: mark.isOn, isOwn: mark.author == author(node))
                    ],
                reports: reports.filter { $0.key != node }.map(\.value).sorted { $0.node < $1.node })
        }

        mutating func poll(_ node: Int, now: MonotonicTime) {
            perform(books[node].read(shared(for: node), now: now), on: node)
            publish(node, now: now)
        }

        mutating func answered(
            _ node: Int, _ answers: Int, misdirected: Int = 0, dead: Int = 0, now: MonotonicTime
        ) -> Bool {
            let (mayPass, actions) = books[node].answered(
                answers, candidates: Candidates(misdirected: misdirected, dead: dead), of: shop, now: now)
            perform(actions, on: node)
            return mayPass
        }
    }

    @Test func `A flood that no node would notice alone stops all of them, and one event is published`() {
        var cluster = Cluster(3)
        for node in 0..<3 { cluster.poll(node, now: Self.time(0)) }
        // Each node has 20 bad tokens in some seconds; 50 stop a single node.
        for second in 1...20 {
            for node in 0..<3 {
                let mayPass = cluster.answered(node, 1, misdirected: 1, now: Self.time(Int64(second)))
                #expect(mayPass != cluster.books[node].isStopped(Self.shop))
            }
            for node in 0..<3 { cluster.poll(node, now: Self.time(Int64(second))) }
        }
        #expect(cluster.mark.isOn && cluster.announced.count == 1)
        for node in 0..<3 {
            cluster.poll(node, now: Self.time(21))
            #expect(cluster.books[node].isStopped(Self.shop))
            let mayPass = cluster.answered(node, 1, misdirected: 1, now: Self.time(22))
            #expect(!mayPass)
        }
    }

    @Test func `Good answers on other nodes count as well`() {
        var cluster = Cluster(2)
        for node in 0..<2 { cluster.poll(node, now: Self.time(0)) }
        for second in 1...60 {
            // A third of the answers of the cluster are bad, and all of those of the first node.
            _ = cluster.answered(0, 1, misdirected: 1, now: Self.time(Int64(second)))
            _ = cluster.answered(1, 2, now: Self.time(Int64(second)))
            for node in 0..<2 { cluster.poll(node, now: Self.time(Int64(second))) }
        }
        #expect(!cluster.mark.isOn && cluster.books[0].stopped.isEmpty && cluster.books[1].stopped.isEmpty)
    }

    @Test func `A release on one node releases all, and late answers of the flood do not stop them again`() {
        var cluster = Cluster(2)
        for node in 0..<2 { cluster.poll(node, now: Self.time(0)) }
        let mayPass = cluster.answered(0, 100, misdirected: 100, now: Self.time(1))
        #expect(!mayPass)
        cluster.poll(1, now: Self.time(2))
        #expect(cluster.books[1].isStopped(Self.shop))
        // The second node counts answers of the flood, and reports them after the release.
        _ = cluster.answered(1, 100, misdirected: 100, now: Self.time(3))
        guard case .begun(let off) = cluster.books[0].release(Self.shop) else {
            Issue.record("not begun")
            return
        }
        cluster.perform([.decide(off)], on: 0)
        cluster.publish(1, now: Self.time(3))
        cluster.poll(0, now: Self.time(4))
        #expect(!cluster.books[0].isStopped(Self.shop))
        cluster.poll(1, now: Self.time(4))
        #expect(!cluster.books[1].isStopped(Self.shop))
        for second in 5...8 { for node in 0..<2 { cluster.poll(node, now: Self.time(Int64(second))) } }
        #expect(cluster.announced.map(\.decision.isOn) == [true, false] && cluster.mark.generation == 1)
        #expect(cluster.books.allSatisfy { $0.stopped.isEmpty })
    }

    @Test func `The brake is on after a restart of all nodes, and normal answers on all of them release it`() {
        var cluster = Cluster(3)
        let mayPass = cluster.answered(2, 100, misdirected: 100, now: Self.time(0))
        #expect(!mayPass)
        cluster.publish(2, now: Self.time(0))
        cluster.books = Array(repeating: BrakeAgreement(), count: 3)
        for node in 0..<3 {
            cluster.poll(node, now: Self.time(1))
            #expect(cluster.books[node].isStopped(Self.shop))
        }
        var second: Int64 = 1
        while cluster.mark.isOn, second < 2000 {
            second += 1
            for node in 0..<3 { _ = cluster.answered(node, 1, now: Self.time(second)) }
            for node in 0..<3 { cluster.poll(node, now: Self.time(second)) }
        }
        #expect((600...620).contains(second), "\(second)")
        for node in 0..<3 { cluster.poll(node, now: Self.time(second + 1)) }
        #expect(cluster.books.allSatisfy { $0.stopped.isEmpty })
        #expect(cluster.announced.map(\.decision.isOn) == [true, false])
    }

    @Test func `A node that starts does not count what others had counted before`() {
        var cluster = Cluster(2)
        cluster.poll(0, now: Self.time(0))
        // 40 bad tokens an hour are no flood.
        for hour in 0..<10 {
            for number in 0..<40 {
                let now = Self.time(Int64(hour * 3601 + number))
                let mayPass = cluster.answered(0, 1, misdirected: 1, now: now)
                #expect(mayPass)
                cluster.poll(0, now: now)
            }
        }
        cluster.poll(1, now: Self.time(36_100))
        cluster.poll(1, now: Self.time(36_101))
        #expect(cluster.books[1].stopped.isEmpty && !cluster.mark.isOn)
        // What is counted from now on is.
        for number in 0..<30 { _ = cluster.answered(0, 1, misdirected: 1, now: Self.time(36_200 + Int64(number))) }
        cluster.poll(0, now: Self.time(36_230))
        for number in 0..<30 { _ = cluster.answered(1, 1, misdirected: 1, now: Self.time(36_230 + Int64(number))) }
        cluster.poll(1, now: Self.time(36_260))
        #expect(cluster.mark.isOn)
    }

    @Test func `A change of which nobody knows whether it is stored is published once if it is`() {
        for isStored in [true, false] {
            var cluster = Cluster(2)
            let (_, actions) = cluster.books[0].answered(
                100, candidates: Candidates(misdirected: 100), of: Self.shop, now: Self.time(0))
            guard case .decide(let decision)? = actions.last else {
                Issue.record("\(actions)")
                return
            }
            if isStored { _ = cluster.store(decision, by: 0) }
            let unknown = cluster.books[0].decided(decision, with: .unknown("cut"))
            #expect(unknown.isEmpty)
            #expect(cluster.books[0].isStopped(Self.shop))
            for second in 1...3 { for node in 0..<2 { cluster.poll(node, now: Self.time(Int64(second))) } }
            #expect(cluster.mark.isOn && cluster.announced.map(\.decision.isOn) == [true])
            #expect(cluster.books.allSatisfy { $0.isStopped(Self.shop) })
        }
    }

    /// Nodes restart, answers come in floods and calm times, reports and the results of changes are lost or late.
    @Test(arguments: 0..<60) func `Whatever happens, the nodes agree in the end and each change has one event`(
        seed: UInt64
    ) {
        var random = SeededRandom(seed: seed)
        let count = Int.random(in: 1...5, using: &random)
        var cluster = Cluster(count)
        var runs = Array(repeating: Int64(1), count: count)
        var open: [(node: Int, run: Int64, decision: BrakeDecision)] = []
        var stored: [(node: Int, run: Int64, decision: BrakeDecision)] = []
        var announced: [BrakeDecision] = []
        /// The changes that are stored and whose result was lost.
        var lost: [BrakeDecision] = []
        var now: Int64 = 0
        var share = 0.1

        func perform(_ actions: [BrakeAgreement.Action], on node: Int) {
            for action in actions {
                switch action {
                case .decide(let decision): open.append((node, runs[node], decision))
                case .announce(let decision): announced.append(decision)
                case .hold, .followed: break
                }
            }
        }

        func resolve(_ index: Int, kindly: Bool) {
            let (node, run, decision) = open.remove(at: index)
            let luck = kindly ? 9 : Int.random(in: 0..<10, using: &random)
            if luck == 0 {
                if runs[node] == run { perform(cluster.books[node].decided(decision, with: .failed("down")), on: node) }
                return
            }
            // The process may have ended since.
            let newest = exchange(&cluster.runs[node], with: run)
            let verdict = cluster.store(decision, by: node)
            cluster.runs[node] = newest
            if verdict == .stored { stored.append((node, run, decision)) }
            guard runs[node] == run else { return }
            let isLost = luck < 3
            if isLost, verdict == .stored { lost.append(decision) }
            perform(cluster.books[node].decided(decision, with: isLost ? .unknown("cut") : verdict), on: node)
        }

        func poll(_ node: Int) {
            // The store discards a reading that one of its own writes has overtaken.
            guard !open.contains(where: { $0.node == node && $0.run == runs[node] }) else { return }
            perform(cluster.books[node].read(cluster.shared(for: node), now: Self.time(now)), on: node)
            if Int.random(in: 0..<5, using: &random) > 0 {
                cluster.publish(node, run: runs[node], now: Self.time(now))
            } else {
                _ = cluster.books[node].report(now: Self.time(now))
            }
        }

        for _ in 0..<3000 {
            now += Int64.random(in: 0...3, using: &random)
            if Int.random(in: 0..<200, using: &random) == 0 { share = Double.random(in: 0...1, using: &random) }
            let node = Int.random(in: 0..<count, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<60:
                let answers = Int.random(in: 1...10, using: &random)
                let bad = (0..<answers).count { _ in Double.random(in: 0..<1, using: &random) < share }
                let (mayPass, actions) = cluster.books[node].answered(
                    answers, candidates: Candidates(misdirected: bad), of: Self.shop, now: Self.time(now))
                #expect(mayPass != cluster.books[node].isStopped(Self.shop))
                perform(actions, on: node)
            case 60..<90: poll(node)
            case 90..<97 where !open.isEmpty: resolve(Int.random(in: 0..<open.count, using: &random), kindly: false)
            case 97:
                if case .begun(let decision) = cluster.books[node].release(Self.shop) {
                    open.append((node, runs[node], decision))
                }
            case 98 where Int.random(in: 0..<5, using: &random) == 0:
                cluster.books[node] = BrakeAgreement()
                runs[node] += 1
                cluster.runs[node] += 1
            default: break
            }
        }
        for _ in 0..<6 {
            while !open.isEmpty { resolve(0, kindly: true) }
            for node in 0..<count { poll(node) }
        }
        while !open.isEmpty { resolve(0, kindly: true) }
        for node in 0..<count {
            poll(node)
            #expect(cluster.books[node].isStopped(Self.shop) == cluster.mark.isOn)
        }
        // Changes alternate by themselves, because each must find the opposite.
        #expect(Set(announced.map { "\($0.generation) \($0.isOn)" }).count == announced.count)
        // A change that was asked for twice may be published with the numbers of the second time.
        func isSame(_ one: BrakeDecision, as other: BrakeDecision) -> Bool {
            one.isOn == other.isOn && one.generation == other.generation
        }
        #expect(announced.allSatisfy { one in stored.contains { isSame($0.decision, as: one) } })
        // A change that nobody publishes is one of a process that has ended, or its result was lost, and another change
        // came before the next reading.
        for change in stored where !announced.contains(where: { isSame($0, as: change.decision) }) {
            #expect(lost.contains(change.decision) || runs[change.node] != change.run)
        }
    }
}
