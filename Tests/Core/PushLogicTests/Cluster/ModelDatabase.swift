import PushModel
import PushTime

@testable import PushLogic

/// A model of PostgreSQL with a synchronous standby: row locks, `now()` as the start of the transaction, commits that
/// are invisible until the standby has them, crashes of the primary, and promotion.
final class ModelDatabase {
    enum Statement {
        case operation(ClusterOperation, from: NodeID)
        /// A write of the ledger. It share-locks the row of the lease.
        case write(part: Int, epoch: PartitionEpoch, entry: Int)
    }

    final class Transaction {
        let statement: Statement
        /// Called with the result when it is acknowledged.
        let answer: (ClusterResult) -> Void
        var now: Int64 = 0
        /// The log that a load would see if it were part of the statement.
        var seenLog: [Int] = []
        var writes: [ModelTables.Write] = []
        var isExecuting = false

        init(_ statement: Statement, answer: @escaping (ClusterResult) -> Void) {
            self.statement = statement
            self.answer = answer
        }
    }

    /// The tables as readers see them.
    var visible: ModelTables
    /// The tables of the standby.
    var standby: ModelTables
    /// Whether the standby has not caught up after a crash, so that no commit is acknowledged.
    var isLagging = false
    var isUp = true
    /// Whether the primary crashes while the next take is committed.
    var crashesWithTake = false
    /// Added to the real time.
    var clockOffset: Int64 = 1_700_000_000_000_000_000
    var timeline: UInt32 = 1
    /// Grows at each crash. Work of an earlier run is void.
    private(set) var run = 0
    private(set) var open: [Transaction] = []
    private var unacknowledged: [Transaction] = []
    private let world: ClusterWorld

    init(partitions: Int, world: ClusterWorld) {
        visible = ModelTables(partitions: partitions)
        standby = visible
        self.world = world
    }

    var identity: DatabaseIdentity {
        DatabaseIdentity(system: 1, timeline: timeline, cluster: 1, partitions: visible.leases.count)
    }

    private var mutation: ModelMutation? { world.mutation }

    // MARK: Statements

    func arrive(_ transaction: Transaction) {
        guard isUp else { return }
        transaction.now = world.time + clockOffset
        if case .operation(.snapshot, _) = transaction.statement { return read(transaction) }
        if case .operation(.take(let part, _, _), _) = transaction.statement {
            transaction.seenLog = visible.logs[part.number]
        }
        open.append(transaction)
        execute(transaction)
    }

    private func read(_ transaction: Transaction) {
        let nodes = nodeRows(at: transaction.now)
        guard mutation == .tornSnapshot else {
            return transaction.answer(.snapshot(snapshot(nodes, at: transaction.now)))
        }
        let run = run
        world.after(world.someDelay(max: .milliseconds(1500))) { [self] in
            if run == self.run { transaction.answer(.snapshot(snapshot(nodes, at: transaction.now))) }
        }
    }

    private func nodeRows(at now: Int64) -> [NodeRow] {
        visible.nodes.map { id, row in
            NodeRow(
                id: id, incarnation: row.incarnation, contact: row.contact, state: row.state,
                remaining: .nanoseconds(row.until - now), lease: row.lease)
        }.sorted { $0.id < $1.id }
    }

    private func snapshot(_ nodes: [NodeRow], at now: Int64) -> ClusterSnapshot {
        // Without the rule for new primaries, the nodes do not notice that the clock is another one.
        let shown = mutation == .hiddenPrimary ? world.time : now
        let leases = visible.leases.enumerated().compactMap { number, row in
            PartitionID(number).map { LeaseRow(part: $0, epoch: row.epoch, node: row.node) }
        }
        return ClusterSnapshot(databaseTime: .nanoseconds(shown), nodes: nodes, leases: leases)
    }

    /// Executes a statement unless another transaction has its lock. Share locks exclude only other kinds.
    private func execute(_ transaction: Transaction) {
        guard !transaction.isExecuting else { return }
        let blocked = open.contains { $0.isExecuting && conflict($0, transaction) }
        guard !blocked else { return }
        transaction.isExecuting = true
        guard let writes = writes(of: transaction) else {
            close(transaction)
            return world.after(0) { transaction.answer(.missed) }
        }
        transaction.writes = writes
        let run = run
        if crashesWithTake, case .operation(.take, _) = transaction.statement {
            crashesWithTake = false
            return world.after(0) { [self] in if run == self.run { world.crash(for: 0.02...0.3) } }
        }
        world.after(world.commitDelay()) { [self] in
            guard run == self.run else { return }
            if isLagging { unacknowledged.append(transaction) } else { commit(transaction) }
        }
    }

    private func conflict(_ one: Transaction, _ other: Transaction) -> Bool {
        if case .write = one.statement, case .write = other.statement { return false }
        return lock(of: one) == lock(of: other)
    }

    private func lock(of transaction: Transaction) -> ModelTables.Lock? {
        switch transaction.statement {
        case .write(let part, _, _): .lease(part)
        case .operation(let operation, let node):
            switch operation {
            case .snapshot: nil
            case .join, .renew, .leave: .node(node)
            case .declareDead(let other, _), .shorten(let other, _, _): .node(other)
            case .take(let part, _, _), .handOver(let part, _, _): .lease(part.number)
            }
        }
    }

    private func commit(_ transaction: Transaction) {
        visible.apply(transaction.writes)
        standby.apply(transaction.writes)
        acknowledge(transaction)
        world.committed(transaction.writes)
    }

    private func acknowledge(_ transaction: Transaction) {
        close(transaction)
        if case .operation(.take(let part, _, _), _) = transaction.statement {
            if mutation == .loadWithTake { world.seenLogs[part.number] = transaction.seenLog }
            for case .lease(_, let row) in transaction.writes { return transaction.answer(.taken(row.epoch)) }
        }
        transaction.answer(.done)
    }

    private func close(_ transaction: Transaction) {
        open.removeAll { $0 === transaction }
        for waiting in open where !waiting.isExecuting { execute(waiting) }
    }

    // MARK: Conditions

    /// Returns what the statement writes, or nil if its conditions do not hold.
    private func writes(of transaction: Transaction) -> [ModelTables.Write]? {
        switch transaction.statement {
        case .write(let part, let epoch, let entry):
            return visible.leases[part].epoch == epoch ? [.log(part, entry: entry)] : nil
        case .operation(let operation, let node):
            return writes(of: operation, from: node, now: transaction.now)
        }
    }

    private func writes(of operation: ClusterOperation, from id: NodeID, now: Int64) -> [ModelTables.Write]? {
        switch operation {
        case .snapshot: return nil
        case .join(let join):
            if let row = visible.nodes[id], !mayReplace(row, join, now: now) { return nil }
            return [
                .node(
                    id,
                    ModelTables.Node(
                        incarnation: join.incarnation, contact: join.contact, state: .live,
                        until: until(now, join.lease), lease: join.lease))
            ]
        case .renew(let incarnation, let isDraining):
            guard var row = ownRow(id, incarnation), row.state == .live || row.state == .draining else { return nil }
            row.until = until(now, row.lease)
            row.state = isDraining ? .draining : .live
            return [.node(id, row)]
        case .declareDead(let other, let incarnation):
            guard var row = ownRow(other, incarnation), row.state == .live || row.state == .draining, row.until < now
            else { return nil }
            row.state = .dead
            return [.node(other, row)]
        case .shorten(let other, let incarnation, let until):
            guard var row = ownRow(other, incarnation), .nanoseconds(row.until) == until else { return nil }
            row.until = self.until(now, row.lease)
            return [.node(other, row)]
        case .take(let part, let epoch, let owner):
            let row = visible.leases[part.number]
            if mutation != .takeAnyEpoch { guard row.epoch == epoch, row.node == owner else { return nil } }
            return [.lease(part.number, ModelTables.Lease(epoch: PartitionEpoch(row.epoch.value + 1), node: id))]
        case .handOver(let part, let epoch, let to):
            let row = visible.leases[part.number]
            guard row.epoch == epoch, row.node == id else { return nil }
            return [.lease(part.number, ModelTables.Lease(epoch: PartitionEpoch(epoch.value + 1), node: to))]
        case .leave(let incarnation):
            guard var row = ownRow(id, incarnation) else { return nil }
            row.state = .left
            return [.node(id, row)]
        }
    }

    private func ownRow(_ id: NodeID, _ incarnation: NodeIncarnation) -> ModelTables.Node? {
        guard let row = visible.nodes[id], row.incarnation == incarnation || mutation == .forgottenIncarnation else {
            return nil
        }
        return row
    }

    private func mayReplace(_ row: ModelTables.Node, _ join: NodeJoin, now: Int64) -> Bool {
        let isMember = row.state == .live || row.state == .draining
        if mutation == .forgottenIncarnation || mutation == .joinAtOnce { return true }
        if row.incarnation == join.incarnation { return row.state == .live }
        return !isMember || join.predecessors.contains(row.incarnation) || (join.replacesExpired && row.until < now)
    }

    private func until(_ now: Int64, _ lease: Duration) -> Int64 {
        let margin = mutation == .noMargin ? ClusterPolicy(lease: lease).margin : .zero
        return now + (lease - margin).wholeNanoseconds
    }

    // MARK: Faults

    /// Ends the primary. Commits that wait for the standby may be visible after the restart without being replicated.
    func crash() {
        isUp = false
        run += 1
        for transaction in open where transaction.isExecuting && !transaction.writes.isEmpty {
            if world.flip() {
                visible.apply(transaction.writes)
                isLagging = true
            }
        }
        open = []
        unacknowledged = []
    }

    /// Sets the clock.
    func stepClock(by step: Duration) { clockOffset += step.wholeNanoseconds }

    /// Starts the same server again.
    func restart() {
        isUp = true
        if isLagging {
            let run = run
            world.after(world.someDelay(max: world.lease)) { [self] in if run == self.run { catchUp() } }
        }
        world.databaseChanged()
    }

    private func catchUp() {
        isLagging = false
        standby = visible
        let waiting = unacknowledged
        unacknowledged = []
        for transaction in waiting { commit(transaction) }
    }

    /// Promotes the standby, whose clock may be another one.
    func promote(clockStep: Int64) {
        if isUp { crash() }
        isLagging = false
        visible = standby
        timeline += 1
        clockOffset += clockStep
        isUp = true
        world.databaseChanged()
    }
}
