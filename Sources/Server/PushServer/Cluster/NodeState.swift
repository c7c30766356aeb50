import PushLogic
import PushLoop
import PushModel
import PushStore
import PushTime

/// What other threads know of this node: its shell, the owners of the partitions, and whether it is a member.
final class NodeState: Sendable {
    private struct Values {
        var shell: ClusterShell?
        var owners = OwnerTable()
        var isStopped = false
        var sharedObservers: [@Sendable (SharedApps) -> Void] = []
        var answer: NodeAnswer?
        var journal = ClusterJournal()
        var renewedAt = MonotonicTime.sinceBoot()
        var endpoints = NodeEndpoints()
        var obstacle: String? = "this node has not joined its cluster yet: the database has not answered"
    }

    private let values = Locked(Values())

    /// The shell; nil before it is opened.
    var shell: ClusterShell? {
        get { values.withLock { $0.shell } }
        set { values.withLock { $0.shell = newValue } }
    }

    var owners: OwnerTable {
        get { values.withLock { $0.owners } }
        set { values.withLock { $0.owners = newValue } }
    }

    /// The reason why this node is not a member; nil if it is one.
    var obstacle: String? { values.withLock { $0.obstacle } }

    /// Whether the lease has ended without a renewal.
    var isStopped: Bool { values.withLock { $0.isStopped } }

    var journal: ClusterJournal { values.withLock { $0.journal } }

    /// The time at which the last renewal that succeeded was sent; the start before the first one.
    var renewedAt: MonotonicTime {
        get { values.withLock { $0.renewedAt } }
        set { values.withLock { $0.renewedAt = newValue } }
    }

    /// The addresses of this node for producers.
    var endpoints: NodeEndpoints {
        get { values.withLock { $0.endpoints } }
        set { values.withLock { $0.endpoints = newValue } }
    }

    // MARK: What the nodes share

    /// Passes what the nodes share to the observers.
    func take(_ shared: SharedApps) {
        for observer in values.withLock({ $0.sharedObservers }) { observer(shared) }
    }

    /// Adds a function that is called about once a second with what the nodes share.
    func whenSharedRead(_ observer: @escaping @Sendable (SharedApps) -> Void) {
        values.withLock { $0.sharedObservers.append(observer) }
    }

    // MARK: Questions of other nodes

    /// Answers questions; nil before the parts that know the answers exist.
    typealias NodeAnswer = @Sendable (NodeQuestion) async -> [UInt8]?

    var answer: NodeAnswer? {
        get { values.withLock { $0.answer } }
        set { values.withLock { $0.answer = newValue } }
    }

    // MARK: Membership

    func take(_ event: ClusterEvent) {
        values.withLock { values in
            values.journal.take(event, at: .current())
            switch event {
            case .joined: (values.obstacle, values.isStopped) = (nil, false)
            case .stopped: values.isStopped = true
            case .resumed: values.isStopped = false
            case .nameInUse:
                values.obstacle =
                    "another process has the name of this node: stop it, or set another cluster.node; this node waits "
                    + "until the lease of the other one has ended"
            case .left: values.obstacle = "this node has left its cluster"
            case .lost: values.obstacle = "this node was declared dead by another one, and joins again"
            case .halted(let halt): values.obstacle = halt.sentence
            case .dead, .takeover, .handover, .fenced, .newPrimary, .clockStepped: break
            }
        }
    }

    func ended() { values.withLock { $0.obstacle = $0.obstacle ?? "this node has left its cluster" } }
}
