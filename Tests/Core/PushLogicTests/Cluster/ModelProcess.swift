import PushModel
import PushTime

@testable import PushLogic

/// The content of a data directory.
final class ModelDisk {
    var remembered: Set<NodeIncarnation> = []
}

/// A process with one machine: its shell, with a clock of its own.
final class ModelProcess {
    let number: Int
    let id: NodeID
    let disk: ModelDisk
    var machine: ClusterMachine
    let world: ClusterWorld

    /// Local time = `base` + `rate` × (real time − `start`).
    private let rate: Double
    private let start: Int64
    private var base: Int64

    private(set) var isStalled = false
    private var stalledAt = MonotonicTime.distantPast
    var isAlive = true
    /// Whether the network between this process and the database is broken.
    var isCut = false
    /// Whether the shell has a connection.
    private(set) var isConnected = false
    private var connection = 0
    /// The run of the database that the connection leads to.
    private var session = 0
    private var inbox: [() -> Void] = []
    private var wakeNumber = 0
    /// The time for which the timer is set.
    private var wakeTime: MonotonicTime?
    private var unanswered: Set<UInt64> = []
    /// Takes that are looked up in the table if they have no answer, with the mutation.
    private var believed: [(UInt64, ClusterOperation)] = []
    /// The logs of the partitions that are loaded, as they were read.
    private var loads: [Int: [Int]] = [:]
    /// The partitions that were closed by a drain, and not read again since; whether the drain has ended.
    private var closed: [Int: Bool] = [:]
    private(set) var begun: [Int64] = []

    init(number: Int, id: NodeID, disk: ModelDisk, rate: Double, lease: Duration, seed: UInt64, world: ClusterWorld) {
        self.number = number
        self.id = id
        self.disk = disk
        self.rate = rate
        self.world = world
        start = world.time
        base = Int64(number) * 1_000_000_000_000
        machine = ClusterMachine(
            id, contact: NodeContact(address: "tcp://\(id):1", publicKey: "key-\(number)"),
            policy: ClusterPolicy(lease: lease), predecessors: disk.remembered, seed: seed)
    }

    var clock: MonotonicTime {
        MonotonicTime(nanoseconds: base + Int64(Double(world.time - start) * rate))
    }

    var name: String { "\(id)#\(number)" }

    // MARK: Faults

    func jump(_ duration: Duration) {
        base += duration.wholeNanoseconds
        receive { [self] in wake() }
    }

    func stall() {
        isStalled = true
        stalledAt = clock
    }

    func resume() {
        guard isStalled else { return }
        isStalled = false
        guard isAlive else { return }
        if world.mutation == .stoppedClock { base -= (clock - stalledAt).wholeNanoseconds }
        world.checkSends(of: self)
        let waiting = inbox
        inbox = []
        for work in waiting where isAlive { work() }
        wake()
    }

    func kill() {
        isAlive = false
        inbox = []
    }

    // MARK: Events

    /// Runs work of this process, now or when it continues.
    func receive(_ work: @escaping () -> Void) {
        guard isAlive else { return }
        if isStalled { inbox.append(work) } else { work() }
    }

    func input(_ actions: [ClusterMachine.Action]) {
        for action in actions { run(action) }
        guard isAlive else { return }
        world.checkSends(of: self)
        schedule()
    }

    private func wake() {
        wakeTime = nil
        input(machine.timePassed(now: clock))
    }

    private func schedule() {
        guard let next = machine.nextDeadline(), next != wakeTime else { return }
        wakeTime = next
        wakeNumber += 1
        let number = wakeNumber
        let local = max(0, (next - clock).wholeNanoseconds)
        world.after(Int64(Double(local) / rate) + 1) { [weak self] in
            self?.receive { [weak self] in
                guard let self, number == wakeNumber else { return }
                wake()
            }
        }
    }

    // MARK: The connection

    func connect() {
        connection += 1
        let number = connection
        world.after(world.someDelay(max: .milliseconds(60))) { [weak self] in
            self?.receive { [weak self] in self?.connected(number) }
        }
    }

    private func connected(_ number: Int) {
        guard number == connection, !isConnected else { return }
        guard world.database.isUp, !isCut else { return connect() }
        isConnected = true
        session = world.database.run
        world.note { "\(name): connected, timeline \(world.database.timeline)" }
        for (operation, take) in believed where unanswered.contains(operation) { lookUp(operation, take) }
        believed = []
        guard isAlive else { return }
        input(machine.databaseUp(world.database.identity, now: clock))
    }

    /// Loses the connection: operations without an answer are unknown.
    func disconnect() {
        connection += 1
        guard isConnected else { return connect() }
        isConnected = false
        for operation in unanswered.sorted() where !believed.contains(where: { $0.0 == operation }) {
            finish(operation, .unknown)
        }
        guard isAlive else { return }
        input(machine.databaseLost(now: clock))
        connect()
    }

    private func finish(_ operation: UInt64, _ result: ClusterResult) {
        guard unanswered.remove(operation) != nil else { return }
        world.note { "\(name): \(operation) \(result.short)" }
        input(machine.finished(OperationID(number: operation), result, now: clock))
    }

    // MARK: Actions

    private func run(_ action: ClusterMachine.Action) {
        guard isAlive else { return }
        world.note { "\(name): \(action.short)" }
        switch action {
        case .run(let operation, let statement): send(operation.number, statement)
        case .remember(let incarnation): disk.remembered.insert(incarnation)
        case .load(let part, let epoch): load(part, epoch)
        case .serve(let part, let epoch):
            world.check(loads[part.number] != nil, "\(name) serves \(part) without having read it")
            world.check(closed[part.number] == nil, "\(name) serves \(part) after its drain, without reading it again")
            world.served(part.number, epoch: epoch, log: loads[part.number] ?? [], by: self)
        case .drain(let part, let epoch):
            closed[part.number] = false
            world.after(world.drainDelay()) { [weak self] in
                self?.receive { [weak self] in
                    guard let self else { return }
                    if closed[part.number] != nil { closed[part.number] = true }
                    input(machine.drained(part, epoch: epoch, now: clock))
                }
            }
        case .drop(let part, _, _):
            loads[part.number] = nil
            closed[part.number] = nil
        case .hint(let node): world.hint(node)
        case .reconnect: disconnect()
        case .raise(let event): world.saw(event, by: self)
        case .stopSending: break
        case .end: isAlive = false
        }
    }

    private func send(_ operation: UInt64, _ statement: ClusterOperation) {
        if case .handOver(let part, _, _) = statement {
            let isAllowed = machine.isDraining || closed[part.number] == true
            world.check(isAllowed, "\(name) hands \(part) over before its drain has ended")
        }
        begun.append(world.time)
        world.checkRate(of: self, statement)
        unanswered.insert(operation)
        if world.mutation == .believedRead, case .take = statement { believed.append((operation, statement)) }
        guard isConnected else {
            return world.after(0) { [weak self] in self?.receive { [weak self] in self?.finish(operation, .notSent) } }
        }
        if world.chance(0.002) {
            return world.after(world.someDelay(max: .milliseconds(50))) { [weak self] in
                self?.receive { [weak self] in self?.finish(operation, .refused) }
            }
        }
        let timeout = machine.policy.operationTimeout.wholeNanoseconds
        world.after(Int64(Double(timeout) / rate)) { [weak self] in
            self?.receive { [weak self] in self?.timedOut(operation, statement) }
        }
        guard !isCut, !world.losesMessage() else { return }
        let transaction = ModelDatabase.Transaction(.operation(statement, from: id)) { [weak self, world] result in
            guard let self, !isCut, !world.losesMessage() else { return }
            world.after(world.messageDelay()) { [weak self] in
                self?.receive { [weak self] in self?.finish(operation, result) }
            }
        }
        send(transaction, after: world.messageDelay())
    }

    private func isCurrent(_ run: Int) -> Bool { run == world.database.run || world.mutation == .hiddenPrimary }

    /// Sends on the connection, which leads to one run of one primary.
    private func send(_ transaction: ModelDatabase.Transaction, after delay: Int64) {
        let run = session
        world.after(delay) { [weak self, world] in
            if self?.isCurrent(run) ?? (run == world.database.run) { world.database.arrive(transaction) }
        }
    }

    private func timedOut(_ operation: UInt64, _ statement: ClusterOperation) {
        guard unanswered.contains(operation) else { return }
        if believed.contains(where: { $0.0 == operation }), !isConnected { return }
        lookUp(operation, statement)
    }

    /// Reports that an operation is unknown, or, with the mutation, what the table shows.
    private func lookUp(_ operation: UInt64, _ statement: ClusterOperation) {
        if world.mutation == .believedRead, case .take(let part, let epoch, _) = statement {
            let row = world.database.visible.leases[part.number]
            if row.node == id, row.epoch == PartitionEpoch(epoch.value + 1) {
                return finish(operation, .taken(row.epoch))
            }
        }
        finish(operation, .unknown)
    }

    private func load(_ part: PartitionID, _ epoch: PartitionEpoch) {
        let arrival = world.messageDelay()
        world.after(arrival) { [weak self] in
            guard let self else { return }
            let isRead =
                world.database.isUp && isCurrent(session) && isConnected && !isCut && !world.chance(0.02)
            let log = world.seenLogs[part.number] ?? world.database.visible.logs[part.number]
            world.after(world.someDelay(max: world.loadTime)) { [weak self] in
                self?.receive { [weak self] in
                    guard let self else { return }
                    guard isRead else { return input(machine.loadFailed(part, epoch: epoch, now: clock)) }
                    if machine.state(of: part) == .loading(epoch) { loads[part.number] = log }
                    input(machine.loaded(part, epoch: epoch, now: clock))
                }
            }
        }
    }

    // MARK: Writes

    /// Writes to a partition of this process, as its ledger does with its last outcomes even after the lease.
    func write(_ part: Int) {
        guard isAlive, !isStalled, isConnected, !isCut, let id = PartitionID(part),
            let epoch = machine.mayWrite(id)
        else { return }
        let entry = world.newEntry(at: epoch)
        let transaction = ModelDatabase.Transaction(.write(part: part, epoch: epoch, entry: entry)) {
            [weak self, world] result in
            guard let self, !isCut, !world.losesMessage() else { return }
            world.after(world.messageDelay()) { [weak self] in
                self?.receive { [weak self] in
                    guard let self, result == .missed else { return }
                    input(machine.fenced(id, epoch: epoch, now: clock))
                }
            }
        }
        send(
            transaction,
            after: world.chance(0.1) ? world.someDelay(max: world.lease * 1.5) : world.messageDelay())
    }
}
