import PushModel
import PushTime
import TestSupport

@testable import PushLogic

/// A cluster of the model: a database, processes with clocks of their own, and a network between them. Everything
/// happens in the order of one real time, which only the world knows.
///
/// It checks with every event what must never happen; `fault` is the first that did.
final class ClusterWorld {
    let lease: Duration
    let partitions: Int
    let mutation: ModelMutation?
    let loadTime: Duration = .milliseconds(100)

    private(set) var time: Int64 = 0
    private(set) var database: ModelDatabase!
    var processes: [ModelProcess] = []
    private var disks: [NodeID: ModelDisk] = [:]
    private var queue = EventQueue()
    private var random: SeededRandom
    /// The probability that a message is lost, and whether some arrive very late.
    var loss = 0.0

    private(set) var fault: String?
    private(set) var history: [String] = []
    private let keepsHistory: Bool

    /// The process and the incarnation that may write each epoch of a partition.
    private var rights: [[PartitionEpoch: (process: Int, incarnation: NodeIncarnation)]]
    private var servedEpochs: [PartitionEpoch]
    private var entryEpochs: [PartitionEpoch] = []
    /// The log that a load sees, with the mutation that reads it too early.
    var seenLogs: [Int: [Int]] = [:]
    private(set) var handOvers = 0
    private(set) var operations = 0
    private(set) var resumptions = 0
    private(set) var takeovers = 0

    init(seed: UInt64, lease: Duration, partitions: Int, mutation: ModelMutation? = nil, keepsHistory: Bool = false) {
        random = SeededRandom(seed: seed)
        self.lease = lease
        self.partitions = partitions
        self.mutation = mutation
        self.keepsHistory = keepsHistory
        rights = Array(repeating: [:], count: partitions)
        servedEpochs = Array(repeating: .none, count: partitions)
        database = ModelDatabase(partitions: partitions, world: self)
    }

    /// Breaks the cycles of references.
    func tearDown() {
        queue = EventQueue()
        // A stopped process holds work that refers to the process.
        for process in processes { process.kill() }
        processes = []
        database = nil
    }

    // MARK: Time

    func after(_ nanoseconds: Int64, _ work: @escaping () -> Void) { queue.add(at: time + nanoseconds, work) }

    func run(for duration: Duration) {
        let end = time + duration.wholeNanoseconds
        var steps = 0
        while fault == nil, let next = queue.nextTime, next <= end {
            time = next
            queue.removeFirst()()
            steps += 1
            if steps > 200_000 { check(false, "the events do not end") }
        }
        time = max(time, end)
    }

    // MARK: Chance

    func flip() -> Bool { random.next() & 1 == 0 }

    func chance(_ probability: Double) -> Bool { loss > 0 && random.unit() < probability }

    func losesMessage() -> Bool { loss > 0 && random.unit() < loss }

    func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(random.next() % UInt64(range.count))
    }

    func someDelay(max duration: Duration) -> Int64 {
        Int64(random.unit() * Double(duration.wholeNanoseconds)) + 1000
    }

    /// The time that a message takes: a few milliseconds, and sometimes longer than the shell waits.
    func messageDelay() -> Int64 {
        losesMessage() ? someDelay(max: lease * 1.5) : someDelay(max: .milliseconds(20))
    }

    /// The time that a commit takes: a few milliseconds, and sometimes a standby is slow.
    func commitDelay() -> Int64 {
        someDelay(max: chance(0.2) ? lease * 0.3 : .milliseconds(30))
    }

    /// The time until nothing is in flight: sometimes more than the machine waits for.
    func drainDelay() -> Int64 {
        someDelay(max: chance(0.2) ? .seconds(3) : .milliseconds(300))
    }

    func seconds(_ range: ClosedRange<Double>) -> Duration {
        .seconds(range.lowerBound + random.unit() * (range.upperBound - range.lowerBound))
    }

    // MARK: Processes

    /// Starts a process.
    ///
    /// - Parameter onSameDisk: Whether it finds what an earlier process of this name remembered, which must have ended.
    @discardableResult func start(_ name: String, onSameDisk: Bool = true) -> ModelProcess? {
        guard let id = NodeID(name) else { return nil }
        // The lock of a data directory keeps a second process from it.
        let isLocked = running.contains { $0.disk === disks[id] }
        let disk = onSameDisk && !isLocked ? disks[id] ?? ModelDisk() : ModelDisk()
        disks[id] = disk
        let policy = ClusterPolicy(lease: lease)
        let slowest = mutation == .slowClocks ? 0.8 / policy.clockRatio : 1.0001 / policy.clockRatio
        let process = ModelProcess(
            number: processes.count, id: id, disk: disk,
            rate: max(0.8 * (mutation == .slowClocks ? 0.8 : 1), slowest) + random.unit() * (1.2 - max(0.8, slowest)),
            lease: lease, seed: random.next(), world: self)
        processes.append(process)
        note { "\(process.name): starts" }
        process.connect()
        return process
    }

    var running: [ModelProcess] { processes.filter(\.isAlive) }

    func hint(_ node: NodeID) {
        guard !losesMessage() else { return }
        after(messageDelay()) { [self] in
            for process in running where process.id == node {
                process.receive { process.input(process.machine.hinted(now: process.clock)) }
            }
        }
    }

    /// Called when the primary is another one, or was restarted: the connections of all processes are lost.
    func databaseChanged() {
        guard mutation != .hiddenPrimary || !database.isUp else { return }
        for process in running {
            after(someDelay(max: .milliseconds(500))) { process.receive { process.disconnect() } }
        }
    }

    /// Crashes the primary, and starts it again after a part of the lease, or promotes the standby.
    func crash(for downtime: ClosedRange<Double>, promotes: Bool = false) {
        guard database.isUp else { return }
        note { "FAULT the primary crashes" }
        database.crash()
        databaseChanged()
        after((lease * seconds(downtime).inSeconds).wholeNanoseconds) { [self] in
            guard !database.isUp else { return }
            note { promotes ? "promotion" : "the primary is up" }
            if promotes { promote() } else { database.restart() }
        }
    }

    func promote() {
        database.promote(clockStep: (lease * seconds(-3...3).inSeconds).wholeNanoseconds)
    }

    // MARK: Checks

    func note(_ text: () -> String) {
        guard keepsHistory else { return }
        let micros = time / 1000
        history.append("\(micros / 1_000_000).\(String(1_000_000 + micros % 1_000_000).dropFirst()) \(text())")
    }

    func check(_ holds: Bool, _ what: @autoclosure () -> String) {
        guard !holds, fault == nil else { return }
        fault = what()
        note { "FAULT: \(fault ?? "")" }
    }

    private func maySend(_ process: ModelProcess, _ part: PartitionID) -> Bool {
        mutation == .deadlineIgnored
            ? process.machine.isServing(part) : process.machine.maySend(part, at: process.clock)
    }

    /// Checks that a process sends only at the current epoch, and that nobody else ever wrote at its epochs.
    func checkSends(of process: ModelProcess) {
        for number in 0..<partitions {
            guard let part = PartitionID(number), let epoch = process.machine.mayWrite(part) else { continue }
            let own = process.machine.incarnation
            if let right = rights[number][epoch] {
                check(
                    right.process == process.number && right.incarnation == own,
                    "\(process.name) may write \(part) at epoch \(epoch), as could process \(right.process)")
            } else {
                rights[number][epoch] = (process.number, own)
            }
            let current = database.visible.leases[number].epoch
            if current != epoch {
                check(!maySend(process, part), "\(process.name) sends for \(part) at \(epoch), which is at \(current)")
            }
        }
    }

    func committed(_ writes: [ModelTables.Write]) {
        for case .lease(let number, let row) in writes {
            note { "database: \(number) belongs to \(row.node?.name ?? "-") at \(row.epoch)" }
            guard let part = PartitionID(number) else { continue }
            for process in running where !process.isStalled && process.machine.mayWrite(part) != row.epoch {
                check(!maySend(process, part), "\(process.name) sends for \(part) after it was raised to \(row.epoch)")
            }
        }
    }

    /// Checks that a partition was read at this epoch, with all that was written before.
    func served(_ part: Int, epoch: PartitionEpoch, log: [Int], by process: ModelProcess) {
        guard epoch != servedEpochs[part] else {
            resumptions += 1
            return
        }
        check(epoch > servedEpochs[part], "\(process.name) serves \(part) at the old epoch \(epoch)")
        servedEpochs[part] = epoch
        let written = database.visible.logs[part].filter { entryEpochs[$0] < epoch }
        check(written == log, "\(process.name) serves \(part) without \(written.count - log.count) entries of its log")
    }

    /// Checks that a process does not ask the database too often.
    func checkRate(of process: ModelProcess, _ operation: ClusterOperation) {
        operations += 1
        let limit = 85 + 6 * partitions
        guard process.begun.count > limit else { return }
        let first = process.begun[process.begun.count - limit - 1]
        check(time - first > lease.wholeNanoseconds, "\(process.name) begins \(limit) operations in a lease")
    }

    func saw(_ event: ClusterEvent, by process: ModelProcess) {
        if case .handover = event { handOvers += 1 }
        if case .takeover = event { takeovers += 1 }
    }

    // MARK: Writes

    func newEntry(at epoch: PartitionEpoch) -> Int {
        entryEpochs.append(epoch)
        return entryEpochs.count - 1
    }

    /// Lets a process that may write to some partition write to it.
    func write() {
        let part = number(in: 0...(partitions - 1))
        guard let id = PartitionID(part) else { return }
        running.filter { $0.machine.mayWrite(id) != nil }.randomElement(using: &random)?.write(part)
    }

    // MARK: States

    /// The process that sends for each partition now.
    func senders() -> [ModelProcess?] {
        (0..<partitions).map { number in
            PartitionID(number).flatMap { part in
                running.first { !$0.isStalled && $0.machine.maySend(part, at: $0.clock) }
            }
        }
    }
}
