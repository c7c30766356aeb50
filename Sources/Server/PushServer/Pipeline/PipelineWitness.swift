import PushAPI
import PushLoop
import PushModel
import PushPipeline
import PushStore

/// The receivers of what the ledger has written: the router, monitors, the registry, and requests that wait for events.
struct PipelineWitness: LedgerWitness {
    let router: Router
    let bus: EventBus
    let follower: RegistryFollower
    let waiting: CommittedEvents
    let heads: @Sendable (PartitionID) -> LogHeads?
    let health: @Sendable (LedgerFault?) -> Void

    func accepted(_ messages: [AcceptedMessage]) { router.accepted(messages) }

    func cancelled(_ orders: [CancelOrder]) { router.cancelled(orders) }

    func committed(_ segments: [LogSegment]) {
        bus.publish(segments)
        follower.committed(segments)
        waiting.committed(upTo: segments.lazy.map(\.last))
    }

    func healthChanged(_ fault: LedgerFault?) { health(fault) }

    func opened(_ part: PartitionID, _ backlog: LedgerBacklog) {
        if let heads = heads(part) { bus.opened(part, newest: heads.newest, heads: heads.topics) }
        follower.opened(part)
        router.opened(part, backlog)
    }

    func closed(_ part: PartitionID, done: @escaping @Sendable () -> Void) {
        bus.closed(part)
        follower.closed(part)
        router.closed(part, done: done)
    }

    func suspended(_ isSuspended: Bool) { router.suspended(isSuspended) }
}
