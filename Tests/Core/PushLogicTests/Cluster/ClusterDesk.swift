import PushModel
import PushTime
import Testing

@testable import PushLogic

/// One machine and the tables of its database, for scripts. Operations are carried out when the script says so.
final class ClusterDesk {
    static let contact = NodeContact(address: "tcp://a:1", publicKey: "key")
    static let identity = DatabaseIdentity(system: 1, timeline: 3, cluster: 5, partitions: 2)

    var machine: ClusterMachine
    var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
    var nodes: [NodeRow] = []
    var leases: [LeaseRow]
    var actions: [ClusterMachine.Action] = []

    init(partitions: Int = 2, predecessors: Set<NodeIncarnation> = []) {
        machine = ClusterMachine(
            Self.node("a"), contact: Self.contact, policy: ClusterPolicy(lease: .seconds(5)),
            predecessors: predecessors, seed: 7)
        leases = (0..<partitions).map { LeaseRow(part: Self.part($0), epoch: .none, node: nil) }
    }

    static func node(_ name: String) -> NodeID { NodeID(name)! }
    static func part(_ number: Int) -> PartitionID { PartitionID(number)! }
    static func epoch(_ value: Int64) -> PartitionEpoch { PartitionEpoch(value) }

    static func row(
        _ name: String, _ incarnation: Int64, _ state: NodeRow.State = .live, remaining: Duration = .seconds(4)
    ) -> NodeRow {
        NodeRow(
            id: node(name), incarnation: NodeIncarnation(incarnation)!, contact: contact, state: state,
            remaining: remaining, lease: .seconds(5))
    }

    // MARK: Inputs

    func pass(_ duration: Duration) {
        now = now + duration
        actions += machine.timePassed(now: now)
    }

    func connect(_ identity: DatabaseIdentity = identity) {
        actions += machine.databaseUp(identity, now: now)
    }

    func disconnect() { actions += machine.databaseLost(now: now) }

    /// Returns the first operation that was begun and has this form, and removes it.
    func take(_ isMeant: (ClusterOperation) -> Bool) -> OperationID? {
        let index = actions.firstIndex { if case .run(_, let operation) = $0 { isMeant(operation) } else { false } }
        guard let index, case .run(let id, _) = actions.remove(at: index) else { return nil }
        return id
    }

    func finish(
        _ result: ClusterResult, at location: SourceLocation = #_sourceLocation,
        _ isMeant: (ClusterOperation) -> Bool
    ) {
        guard let operation = take(isMeant) else {
            Issue.record("the operation was not begun; actions: \(actions)", sourceLocation: location)
            return
        }
        actions += machine.finished(operation, result, now: now)
    }

    /// Answers a snapshot with the tables.
    func answerSnapshot(at location: SourceLocation = #_sourceLocation) {
        let time = Duration.nanoseconds(now.nanoseconds)
        finish(
            .snapshot(ClusterSnapshot(databaseTime: time, nodes: nodes, leases: leases)), at: location
        ) { $0 == .snapshot }
    }

    func answerRenewal(_ result: ClusterResult = .done, at location: SourceLocation = #_sourceLocation) {
        finish(result, at: location) { if case .renew = $0 { true } else { false } }
    }

    func answerTake(
        _ part: Int, _ result: ClusterResult, at location: SourceLocation = #_sourceLocation
    ) {
        finish(result, at: location) { if case .take(Self.part(part), _, _) = $0 { true } else { false } }
        if case .taken(let epoch) = result {
            leases[part] = LeaseRow(part: Self.part(part), epoch: epoch, node: machine.id)
        }
    }

    func load(_ part: Int, _ epoch: Int64) {
        actions += machine.loaded(Self.part(part), epoch: Self.epoch(epoch), now: now)
    }

    // MARK: States

    /// Connects and joins, with the rows of other nodes.
    func join(beside others: [NodeRow] = [], at location: SourceLocation = #_sourceLocation) {
        nodes = others
        connect()
        answerSnapshot(at: location)
        finish(.done, at: location) { if case .join = $0 { true } else { false } }
        nodes.append(Self.row("a", machine.incarnation.value, remaining: .seconds(5)))
    }

    /// Joins, and serves both partitions at epoch 1.
    func serveBoth(at location: SourceLocation = #_sourceLocation) {
        join(at: location)
        pass(.milliseconds(100))
        answerSnapshot(at: location)
        for part in 0...1 {
            answerTake(part, .taken(Self.epoch(1)), at: location)
            load(part, 1)
        }
        #expect(maySend(0) && maySend(1), sourceLocation: location)
        actions = []
    }

    /// Renews and reads the tables for some time, a third of the lease at a time.
    func live(_ duration: Duration, at location: SourceLocation = #_sourceLocation) {
        let end = now + duration
        while now < end {
            pass(.milliseconds(1700))
            answerRenewal(at: location)
            answerSnapshot(at: location)
        }
    }

    func maySend(_ part: Int) -> Bool { machine.maySend(Self.part(part), at: now) }
    func writeEpoch(_ part: Int) -> PartitionEpoch? { machine.mayWrite(Self.part(part)) }
    func owner(_ part: Int) -> NodeID? { machine.owner(of: Self.part(part))?.id }
    var incarnation: NodeIncarnation { machine.incarnation }
    var id: NodeID { machine.id }
    var hasEnded: Bool { machine.hasEnded }
    var nextDeadline: MonotonicTime? { machine.nextDeadline() }
    func state(_ part: Int) -> PartitionState? { machine.state(of: Self.part(part)) }
}
