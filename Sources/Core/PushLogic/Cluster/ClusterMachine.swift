package import PushModel
import PushRandom
package import PushTime

/// The part of one node in its cluster. It decides when the node may send, which partitions it takes, serves and hands
/// over, and which nodes it declares dead.
///
/// `Documentation/ClusterDecisions.md` explains leases, epochs and deadlines. The rules that keep two nodes from serving
/// one partition are these:
/// - A node sends only before the deadline of its last acknowledged renewal, counted from the time before it was sent,
///   by its own clock. Every input looks at the deadline before anything else.
/// - A node serves a partition only at an epoch that this incarnation of it raised, and whose commit was acknowledged.
///   An epoch that is only read may belong to an earlier incarnation, or to a commit that a standby never received. So
///   a partition that was handed to a node is raised once more by that node, and so is one whose hand-over or take had
///   no answer.
/// - A partition is taken from another node only after that node was declared dead or left, and only at the epoch that
///   was read together with that state.
///
/// The shell executes the actions in order and reports one result for each operation. Its clock must count the time for
/// which the machine was suspended.
package struct ClusterMachine: ~Copyable {
    package enum Action: Sendable, Equatable {
        case run(OperationID, ClusterOperation)
        /// Store the incarnation durably before the following join, so that the next process can name it as its
        /// predecessor.
        case remember(NodeIncarnation)
        /// Read the partition from the database, in a statement of its own, and then call
        /// ``loaded(_:epoch:now:)`` or ``loadFailed(_:epoch:now:)``.
        case load(PartitionID, PartitionEpoch)
        /// Accept messages for the partition and send them. After ``stopSending``, what is in memory is still current.
        /// It never follows ``drain(_:_:)`` without a ``load(_:_:)``.
        case serve(PartitionID, PartitionEpoch)
        /// Accept nothing more and begin no delivery. After the outcomes of deliveries in flight are written, call
        /// ``drained(_:epoch:now:)``.
        case drain(PartitionID, PartitionEpoch)
        /// Begin no delivery and accept nothing in any partition until it is served again. Outcomes of deliveries in
        /// flight are still written.
        case stopSending
        /// Forget the partition. Deliveries in flight have an unknown outcome.
        case drop(PartitionID, PartitionEpoch, DropReason)
        /// Send the node a hint, so that it calls ``hinted(now:)``. The hint may be lost.
        case hint(NodeID)
        /// Close the connection and connect to the primary.
        case reconnect
        case raise(ClusterEvent)
        /// The node is not a member any more, and no action follows.
        case end
    }

    package enum DropReason: Sendable, Equatable {
        case handedOver
        /// The partition is not handed over, and is read again.
        case notMoved
        /// Nobody can take the partition, because the last node leaves.
        case leaving
        /// Another node has raised the epoch.
        case fenced
        /// The answer to the hand-over was lost. This node takes the partition again if it still belongs to it.
        case unknownOwner
        /// This node was declared dead.
        case lost
        case ended
    }

    enum Phase: Equatable {
        /// The node reads the tables until it may join. Can transition to: joining, ended.
        case observing
        /// Can transition to: member, observing, leaving.
        case joining
        /// Can transition to: observing (declared dead), leaving, ended.
        case member
        /// Can transition to: ended.
        case leaving
        /// Final.
        case ended
    }

    /// What the last acknowledged renewal allows this node.
    struct Permit {
        /// The time until which this node may send.
        var deadline = MonotonicTime.distantPast
        /// Whether the deadline has passed, and the partitions have not been verified since.
        var isSuspended = true
        /// A snapshot after this operation shows whether the partitions are still held.
        var verifiesAfter = OperationID(number: 0)
    }

    /// When the tables are written and read.
    struct Times {
        /// The next renewal.
        var renewal = MonotonicTime.distantFuture
        /// The next snapshot.
        var snapshot = MonotonicTime.distantFuture
        var lastSnapshot = MonotonicTime.distantPast
    }

    /// The moves of partitions from nodes that have more than their share.
    struct Moves {
        /// The members of the last snapshot that take partitions, and the time since which they have been the same.
        var members: [NodeIncarnation] = []
        var membersSince = MonotonicTime.distantPast
        /// The time of the next move, and the operation after which a snapshot shows the result of the last.
        var next = MonotonicTime.distantPast
        var after = OperationID(number: 0)
    }

    package let id: NodeID
    package let contact: NodeContact
    package let policy: ClusterPolicy
    package internal(set) var incarnation: NodeIncarnation
    var predecessors: Set<NodeIncarnation>
    var phase = Phase.observing
    /// Whether an operator has asked this node to hand over its partitions and leave.
    package internal(set) var isDraining = false

    var database: DatabaseIdentity?
    var isConnected = false
    var clock = DatabaseClock()

    var permit = Permit()
    /// The time until which this node sends for the partitions that it serves. The hot path compares its clock with it
    /// before each batch.
    package internal(set) var sendsUntil = MonotonicTime.distantPast

    var slots: [PartitionSlot] = []
    /// The nodes of the last snapshot, in the order of their names.
    package internal(set) var nodes: [NodeRow] = []
    /// The partitions to take, by the last snapshot, in descending order.
    var claims: [LeaseRow] = []

    var operations: [OperationID: PendingOperation] = [:]
    var lastOperation = OperationID(number: 0)
    var joinedAfter = OperationID(number: 0)
    var times = Times()
    var moves = Moves()
    /// Whether the shared name was reported.
    var hasReportedName = false

    var latest = MonotonicTime.distantPast
    var random: SeededRandom
    var actions: [Action] = []

    /// Creates the machine of a node that has not joined.
    ///
    /// - Parameters:
    ///   - predecessors: Incarnations of this node whose process is known to have ended, because this process holds the
    ///     lock of the data directory in which they were remembered. Their partitions are taken at once.
    ///   - seed: A random number that no other process has used, because the incarnation is made of it.
    package init(
        _ id: NodeID, contact: NodeContact, policy: ClusterPolicy, predecessors: Set<NodeIncarnation>, seed: UInt64
    ) {
        self.id = id
        self.contact = contact
        self.policy = policy
        self.predecessors = predecessors
        random = SeededRandom(seed: seed)
        incarnation = NodeIncarnation(random: random.next())
    }

    // MARK: Inputs

    /// Called when a deadline has passed, or may have.
    package mutating func timePassed(now: MonotonicTime) -> [Action] {
        let now = enter(now)
        return settle(now)
    }

    /// Called when the tables may have changed: another node has handed over a partition, or has rejected a forwarded
    /// message.
    package mutating func hinted(now: MonotonicTime) -> [Action] {
        let now = enter(now)
        wantSnapshot(at: now)
        return settle(now)
    }

    /// Hands over all partitions, and then leaves.
    package mutating func drain(now: MonotonicTime) -> [Action] {
        let now = enter(now)
        guard !isDraining else { return settle(now) }
        isDraining = true
        switch phase {
        case .member where !permit.isSuspended:
            limitDrains(now: now)
            times.renewal = min(times.renewal, now)
            wantSnapshot(at: now)
        case .observing, .joining, .member: leave(now)
        case .leaving, .ended: break
        }
        return settle(now)
    }

    /// Stops serving at once, and leaves. Other nodes take the partitions when they see it.
    package mutating func end(now: MonotonicTime) -> [Action] {
        let now = enter(now)
        leave(now)
        return settle(now)
    }

    // MARK: Helpers of the extensions

    /// Begins the processing of an input: looks at the deadline before anything else. Returns the time, which never
    /// goes back.
    mutating func enter(_ now: MonotonicTime) -> MonotonicTime {
        latest = max(latest, now)
        if phase == .member, !permit.isSuspended, latest >= permit.deadline { suspend() }
        return latest
    }

    mutating func takeActions() -> [Action] {
        let taken = actions
        if !taken.isEmpty { actions = [] }
        return taken
    }

    mutating func wantSnapshot(at time: MonotonicTime) {
        times.snapshot = min(times.snapshot, max(time, times.lastSnapshot + policy.minSnapshotInterval))
    }
}
