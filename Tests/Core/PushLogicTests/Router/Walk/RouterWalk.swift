import PushModel
import PushTime
import TestSupport

@testable import PushLogic

/// The router, and a model of all that is around it: the ledger with its parts, the registry, and a gateway for each app.
final class RouterWalk {
    typealias F = RouterFixtures

    struct Known: Hashable {
        let seq: UInt64
        let device: DeviceID
    }

    struct Claimed: Hashable {
        let message: MessageFingerprint
        let device: DeviceID
    }

    struct Out: Hashable {
        let message: ObjectIdentifier
        let id: DeliveryID

        init(_ delivery: Delivery) {
            message = ObjectIdentifier(delivery.message)
            id = delivery.deliveryID
        }
    }

    /// One gateway, and its predecessors that still have deliveries.
    struct Gate {
        var isThere = false
        var out: [Delivery] = []
        var taken: UInt64 = 0
        var window: UInt64 = 0
        var older: [(taken: UInt64, out: [Delivery])] = []
        /// The deliveries at the gateway that were not written. Only a recall returns them.
        var unwritten: Set<UInt64> = []
        var index: AppIndex?
        var asked: UInt64 = 0
        var recalled: UInt64 = 0
        var isPaused = false
    }

    enum Part {
        case open
        case closing
        case closed
    }

    enum Question {
        case page(RouterActions.PageRequest)
        case load(RouterActions.LoadRequest)
        case claim([MessageHandle], [ClaimPage])
        case due(RouterActions.DueRequest)
    }

    var machine: RouterMachine
    let policy: RouterPolicy
    let inactive = TestDevices()
    var random: SeededRandom
    let restarts: Bool
    var now = F.begin
    var wall = WallTime(milliseconds: F.second * 1000)
    let apps = [AppID("shop")!, AppID("bank")!, AppID("news")!]
    var gates = [Gate(), Gate(), Gate()]
    var isHealthy = true
    var isWell = false

    // The state on disk.
    var accepted: [UInt64: AcceptedMessage] = [:]
    var tally: [UInt64: OutcomeCounts] = [:]
    var waiting: Set<UInt64> = []
    var scheduled: [(time: UnixSeconds, seq: UInt64)] = []
    var claims: [Claimed: UInt64] = [:]
    var ended: Set<Known> = []
    var suppressed: Set<Known> = []
    var done: Set<UInt64> = []
    /// By part of the ledger: the number of the next message, and whether it is open.
    var nextSeq: [UInt64]
    var parts: [Part]
    var closings = 0
    var isSuspended = false
    /// The messages that the ledger has cancelled, and those whose order was answered.
    var cancelled: Set<UInt64> = []
    var stopped: [UInt64: (ended: UInt64, underWay: UInt64, cancelled: UInt64)] = [:]
    var orders: [UInt64: CancelOrder] = [:]
    /// By app: messages with lower numbers may have been dropped.
    var droppedUpTo: [[UInt64]] = [[], [], []]

    var questions: [Question] = []
    var tickets: Set<UInt64> = []
    var out: Set<Out> = []
    var fault: String?

    init(seed: UInt64, restarts: Bool, parts count: Int = 1) {
        random = SeededRandom(seed: seed)
        nextSeq = (0..<count).map { EventNumber.base(of: $0) + 1 }
        parts = Array(repeating: .open, count: count)
        self.restarts = restarts
        var policy = RouterPolicy()
        policy.page = Int.random(in: 1...20, using: &random)
        policy.loadedMessages = Int.random(in: 4...40, using: &random)
        policy.underWay = Int.random(in: 1...60, using: &random)
        policy.load = Int.random(in: 1...12, using: &random)
        policy.loadBelow = 12
        policy.loadedBytes = Int.random(in: 4000...60_000, using: &random)
        policy.appQuantum = Int.random(in: 1...50, using: &random)
        policy.laneQuantum = Int.random(in: 1...16, using: &random)
        policy.begunBrief = Int.random(in: 1...12, using: &random)
        policy.begunAnyway = Int.random(in: 1...3, using: &random)
        policy.begunSmall = 5
        policy.preparedFew = 30
        policy.laneFloor = Int.random(in: 1...4, using: &random)
        policy.laneFloorBytes = 2000
        policy.look = Int.random(in: 1...12, using: &random)
        self.policy = policy
        machine = RouterMachine(
            policy, identities: F.identities, inactive: inactive, ofOtherKinds: NoDevices(), now: now, wall: wall)
    }

    /// The largest size of a message here.
    static let largestMessage = 4096

    func check(_ holds: Bool, _ what: @autoclosure () -> String) {
        if !holds, fault == nil { fault = what() }
    }

    func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

    /// Returns the members of a dynamic audience. They never change, so that the expected receivers are known.
    func members(_ app: Int) -> Range<Int> { 0..<(23 + 10 * app) }

    func step() {
        switch Int.random(in: 0..<20, using: &random) {
        case 0...4: accept(Int.random(in: 1...8, using: &random))
        case 5...8: report(Int.random(in: 0..<3, using: &random))
        case 9...12: answer()
        case 13, 14: pass(.milliseconds(Int.random(in: 1...3000, using: &random)))
        case 15: changeGate(Int.random(in: 0..<3, using: &random))
        case 16 where chance(3):
            isHealthy.toggle()
            machine.healthChanged(isHealthy ? nil : LedgerFault("disk full"))
        case 17 where chance(4):
            for _ in 0..<3 { inactive.devices.insert(F.device(Int.random(in: 0..<50, using: &random))) }
            if chance(2) { inactive.devices = [] }
        case 18 where restarts && chance(8): restart()
        case 19 where chance(2): cancel(Int.random(in: 1...4, using: &random))
        case 18 where chance(3): pause(Int.random(in: 0..<3, using: &random))
        case 19 where chance(4): drop(Int.random(in: 0..<3, using: &random))
        default: break
        }
        if parts.count > 1 {
            if chance(12) { changePart(Int.random(in: 0..<parts.count, using: &random)) }
            if chance(30) { suspend(!isSuspended) }
        }
        // A tick may have several inputs, in any order.
        if chance(4) { return }
        run()
        checkWaits()
    }

    /// Compares the times since which messages and deliveries wait with those of the model.
    func checkWaits() {
        let waits = machine.waits()
        let count = waits.reduce(0) { $0 + $1.messages.count }
        check(count == machine.unfinished, "\(count) messages wait, \(machine.unfinished) are unfinished")
        // The model does not know which messages of a part that is being closed are in memory.
        if parts.contains(.closing) { return }
        for (index, app) in apps.enumerated() {
            let times = waiting.filter { accepted[$0]!.message.app == app && isOpen($0) }.map(begin)
            let wait = waits.first { $0.app == app }
            check(
                wait?.messages.oldest == times.min() && wait?.messages.count ?? 0 == times.count,
                "\(app.name): \(String(describing: wait)) instead of \(times.count) since \(String(describing: times.min()))"
            )
            let away = gates[index].older.reduce(gates[index].out.count) { $0 + $1.out.count }
            check(
                wait?.unanswered.count ?? 0 == away,
                "\(app.name): \(wait?.unanswered.count ?? 0) unanswered instead of \(away)")
        }
    }

    /// Ends all failures. Every accepted message must complete.
    func recover() {
        isWell = true
        isHealthy = true
        machine.healthChanged(nil)
        if isSuspended { suspend(false) }
        for app in gates.indices where !gates[app].isThere { changeGate(app) }
        for app in gates.indices where gates[app].isPaused { pause(app) }
        for _ in 0..<5000 where fault == nil && (!waiting.isEmpty || !scheduled.isEmpty) {
            run()
            for part in parts.indices where parts[part] == .closed { open(part) }
            while !questions.isEmpty, fault == nil { answer() }
            for app in gates.indices { report(app) }
            run()
            if questions.isEmpty, gates.allSatisfy({ $0.out.isEmpty && $0.older.isEmpty }) { pass(.seconds(1)) }
        }
        check(
            waiting.isEmpty && scheduled.isEmpty,
            "\(waiting.count) messages never completed: \(machine.status())"
        )
        run()
        check(orders.isEmpty, "\(orders.count) orders were never answered")
        let status = machine.status()
        check(status.unfinished == 0 && status.loaded == 0 && status.loadedBytes == 0, "left behind: \(status)")
        check(status.apps.allSatisfy { $0.out == 0 && $0.retrying == 0 && $0.lines.isEmpty }, "left behind: \(status)")
    }

    /// Returns what the machine and the claims still hold.
    func leftovers() -> [String] {
        var found = machine.leftovers()
        // A claim is forgotten with the key of the delivery, which a suppressed delivery and one without end have not.
        for (claim, seq) in claims where accepted[seq]?.needsClaim == true {
            let known = Known(seq: seq, device: claim.device)
            if !ended.contains(known) || suppressed.contains(known) { found.append("claim of \(seq)") }
        }
        return found
    }
}
