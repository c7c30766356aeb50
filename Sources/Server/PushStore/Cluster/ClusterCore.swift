import PushLogic
import PushLoop
import PushModel
import PushPostgreSQL
import PushTime

/// The cluster machine on its loop: its inputs, its actions and its timer.
final class ClusterCore {
    typealias Input = (inout ClusterMachine, MonotonicTime) -> [ClusterMachine.Action]

    let loop: EventLoop
    let settings: ClusterShell.Settings
    private let host: any PartitionHost
    private let permit: SendingPermit
    private let gate: LoopGate
    private let file: IncarnationFile
    /// The incarnations of this process and of its predecessors, the latest one last.
    private var incarnations: [NodeIncarnation]
    private var machine: ClusterMachine
    private let link: ClusterLink
    private var timer = DeadlineTimer()
    /// Inputs that arrived while the actions of another one were carried out.
    private var inputs: [Input] = []
    private var isRunning = false

    private var tables: ClusterTables?
    private var lastRenewal: MonotonicTime?
    private var owners = OwnerTable()
    /// The members and owners for other threads.
    let published = Locked(OwnerTable())
    private var halt: String?
    private(set) var hasEnded = false
    private var endWaiters: [() -> Void] = []

    init(
        _ settings: ClusterShell.Settings, host: any PartitionHost, permit: SendingPermit,
        incarnations: [NodeIncarnation],
        on loop: EventLoop, gate: LoopGate
    ) {
        self.loop = loop
        self.settings = settings
        self.host = host
        self.permit = permit
        self.gate = gate
        self.incarnations = incarnations
        file = IncarnationFile(in: settings.directory)
        machine = ClusterMachine(
            settings.node, contact: settings.contact, policy: settings.policy, predecessors: Set(incarnations),
            seed: .random(in: .min ... .max))
        link = ClusterLink(settings, on: loop)
    }

    func start() {
        permit.end(at: .distantPast)
        link.onUp = { [unowned self] identity in
            input { machine, now in machine.databaseUp(identity, now: now) }
        }
        link.onDown = { [unowned self] in input { machine, now in machine.databaseLost(now: now) } }
        link.onFault = { [unowned self] reason in
            halt = halt ?? reason
            input { machine, now in machine.end(now: now) }
        }
        link.start()
    }

    /// Ends without a word to the database, as a process that is killed does.
    func stop() {
        timer.disarm(on: loop)
        hasEnded = true
        link.stop()
        permit.end(at: .distantPast)
        for waiter in exchange(&endWaiters, with: []) { waiter() }
    }

    // MARK: Inputs

    /// Gives the machine an input, sets the permit, and carries the actions out.
    func input(_ input: @escaping Input) {
        guard !hasEnded else { return }
        inputs.append(input)
        // A result that arrives from within an action waits until all actions before it were carried out.
        guard !isRunning else { return }
        isRunning = true
        while !inputs.isEmpty, !hasEnded {
            let actions = inputs.removeFirst()(&machine, .sinceBoot())
            setPermit()
            for action in actions { perform(action) }
        }
        inputs = []
        isRunning = false
        publish()
        schedule()
    }

    /// The permit is closed while nothing is served: deliveries of partitions that were dropped may still be on their way
    /// to the gateways when the node joins again.
    private func setPermit() {
        var mayHaveDeliveries = false
        for number in 0..<(link.identity?.partitions ?? 0) where !mayHaveDeliveries {
            switch PartitionID(number).flatMap({ machine.state(of: $0) }) {
            case .serving, .draining: mayHaveDeliveries = true
            case .foreign, .taking, .loading, .handing, .stopped, nil: break
            }
        }
        permit.end(at: mayHaveDeliveries ? machine.sendsUntil : .distantPast)
    }

    /// The loop's timers do not count the time for which the machine was suspended, so the time is read again when they
    /// fire.
    private func schedule() {
        guard !hasEnded, let next = machine.nextDeadline() else { return timer.disarm(on: loop) }
        let delay = max(.zero, next - .sinceBoot())
        timer.arm(
            at: .current() + delay, on: loop,
            action: { [unowned self] in
                input { machine, now in machine.timePassed(now: now) }
            })
    }

    // MARK: Actions

    private func perform(_ action: ClusterMachine.Action) {
        switch action {
        case .run(let id, let operation): run(operation, id)
        case .remember(let incarnation): remember(incarnation)
        case .load(let part, let epoch): load(part, epoch)
        case .serve(let part, let epoch): host.serve(part, epoch: epoch)
        case .drain(let part, let epoch):
            let me = LoopBound(self, on: loop)
            host.drain(part, epoch: epoch) { [gate] in
                _ = gate.execute {
                    me.wrapped.input { machine, now in machine.drained(part, epoch: epoch, now: now) }
                }
            }
        case .stopSending: host.stopSending()
        case .drop(let part, let epoch, _): host.drop(part, epoch: epoch)
        case .hint(let node):
            guard let row = machine.nodes.first(where: { $0.id == node }) else { return }
            settings.hooks.hint(node, row.contact)
        case .reconnect: link.reconnect()
        case .raise(let event):
            if case .halted(let reason) = event { halt = reason.sentence }
            settings.hooks.event(event)
        case .end: end()
        }
    }

    private func run(_ operation: ClusterOperation, _ id: OperationID) {
        let sent = MonotonicTime.sinceBoot()
        let finish = { [weak self] (result: ClusterResult, tables: ClusterTables?) in
            guard let self else { return }
            let isAnswered = result != .unknown && result != .notSent
            settings.hooks.operation(operation.name, .sinceBoot() - sent, isAnswered)
            if let tables {
                self.tables = tables
                settings.hooks.clock(ClockReading(tables.time, sent: sent, received: .sinceBoot()))
            }
            switch operation {
            case .renew, .join:
                guard result == .done else { break }
                lastRenewal = sent
                settings.hooks.renewed(sent)
            default: break
            }
            input { machine, now in machine.finished(id, result, now: now) }
        }
        link.run(operation, reply: finish)
    }

    /// Blocks the loop while the disk writes. Nothing else happens here at this time: the node is not a member, and holds
    /// no partition.
    private func remember(_ incarnation: NodeIncarnation) {
        incarnations.removeAll { $0 == incarnation }
        incarnations.append(incarnation)
        incarnations = incarnations.suffix(IncarnationFile.maxCount)
        do throws(StoreError) {
            try file.write(incarnations)
        } catch {
            settings.hooks.warning(
                "\(error); if this process ends without leaving, its successor waits until the lease has ended")
        }
    }

    private func load(_ part: PartitionID, _ epoch: PartitionEpoch) {
        let me = LoopBound(self, on: loop)
        host.load(part, epoch: epoch) { [gate, settings] fault in
            if let fault { settings.hooks.warning("cannot load partition \(part): \(fault)") }
            _ = gate.execute {
                me.wrapped.input { machine, now in
                    fault == nil
                        ? machine.loaded(part, epoch: epoch, now: now)
                        : machine.loadFailed(part, epoch: epoch, now: now)
                }
            }
        }
    }

    private func end() {
        guard !hasEnded else { return }
        hasEnded = true
        timer.disarm(on: loop)
        link.stop()
        settings.hooks.end(halt)
        for waiter in exchange(&endWaiters, with: []) { waiter() }
    }

    /// Calls `done` when the node has ended, or when the time is over.
    func whenEnded(within limit: Duration, done: @escaping () -> Void) {
        if hasEnded { return done() }
        var reply: (() -> Void)? = done
        endWaiters.append { reply.take()?() }
        loop.schedule(after: limit) { reply.take()?() }
    }

    // MARK: Readings

    private func publish() {
        let count = link.identity?.partitions ?? owners.owners.count
        let found = (0..<count).map { number -> OwnerTable.Owner in
            guard let part = PartitionID(number), let state = machine.state(of: part) else { return .nobody }
            guard case .foreign = state else { return .this }
            return machine.owner(of: part).map { .other($0.id, $0.contact) } ?? .nobody
        }
        var table = OwnerTable(owners: found)
        for row in machine.nodes where row.isMember && row.id != machine.id { table.members[row.id] = row.contact }
        for row in machine.nodes where row.state == .live { table.endpoints[row.id] = endpoints(of: row.id) }
        guard table != owners else { return }
        owners = table
        published.withLock { $0 = owners }
        settings.hooks.owners(owners)
    }

    private func endpoints(of node: NodeID) -> NodeEndpoints {
        node == machine.id ? settings.endpoints() : tables?.notes[node]?.endpoints ?? NodeEndpoints()
    }

    func status() -> ClusterStatus {
        let now = MonotonicTime.sinceBoot()
        let leases = tables?.snapshot.leases ?? []
        return ClusterStatus(
            node: machine.id, incarnation: machine.incarnation, isMember: machine.isMember,
            isDraining: machine.isDraining, hasEnded: hasEnded,
            sendsFor: machine.sendsUntil > now ? machine.sendsUntil - now : .zero,
            lag: lastRenewal.map { now - $0 },
            nodes: machine.nodes.map { row in
                let note = tables?.notes[row.id]
                return ClusterStatus.Node(
                    row: row, version: note?.version ?? "", started: note?.started ?? .distantPast,
                    endpoints: endpoints(of: row.id))
            },
            partitions: leases.map { row in
                ClusterStatus.Partition(
                    part: row.part, owner: row.node, epoch: row.epoch, since: tables?.since[row.part],
                    state: machine.state(of: row.part))
            }.sorted { $0.part < $1.part },
            database: link.identity, server: link.server, fault: link.fault)
    }
}
