import PushAPI
import PushLogic
import PushModel
import PushPostgreSQL
import PushStore
import PushTime

/// The state of the cluster for people and programs.
struct ServedCluster: ClusterSource {
    /// This node; nil for a single node.
    let node: ServedNode?

    func cluster() async -> ClusterView? {
        guard let node else { return nil }
        let status = await node.status()
        // The journal is read last, so that it has the cause of what the status shows.
        var view = ClusterView(at: .current(), node: node.name.name)
        view.obstacle = node.obstacle
        view.take(node.journal)
        if let status { view.take(status) }
        return view
    }
}

extension ClusterView {
    mutating func take(_ journal: ClusterJournal) {
        joinedAt = journal.joinedAt
        events = journal.entries
        (summary.takeovers, summary.fenced) = (journal.takeovers, journal.fenced)
    }

    mutating func take(_ status: ClusterStatus) {
        (isMember, isDraining) = (status.isMember, status.isDraining)
        renewalAgeMilliseconds = status.lag?.wholeMilliseconds
        sendsForMilliseconds = status.sendsFor.wholeMilliseconds
        let members = Set(status.nodes.filter(\.row.isMember).map(\.row.id))
        var owned: [NodeID: Int] = [:]
        partitions = status.partitions.map { partition in
            // What this node has raised is newer than the table as it was read.
            let held = partition.state?.heldEpoch
            let owner = held == nil ? partition.owner : status.node
            if let owner { owned[owner, default: 0] += 1 }
            return Partition(
                partition.part.number, owner: owner?.name, epoch: (held ?? partition.epoch).value,
                since: owner == partition.owner ? partition.since : nil,
                state: Partition.State(partition.state, hasOwner: owner.map(members.contains) ?? false))
        }
        summary.partitions = partitions.count
        summary.unowned = partitions.count { $0.state == .unowned }
        nodes = status.nodes.map { node in
            var view = Node(
                node.row.id.name, state: Node.State(node.row.state), address: node.row.contact.address,
                partitions: owned[node.row.id] ?? 0, lease: node.row.lease, remaining: node.row.remaining,
                version: node.version, startedAt: node.started)
            (view.router, view.http) = (node.endpoints.router, node.endpoints.http)
            return view
        }.sorted { $0.node < $1.node }
        database = Database(status)
    }
}

extension ClusterView.Node.State {
    fileprivate init(_ state: NodeRow.State) {
        self =
            switch state {
            case .live: .live
            case .draining: .draining
            case .left: .left
            case .dead: .dead
            }
    }
}

extension ClusterView.Partition.State {
    fileprivate init(_ state: PartitionState?, hasOwner: Bool) {
        self =
            switch state {
            case .foreign, nil: hasOwner ? .remote : .unowned
            case .taking: .taking
            case .loading: .loading
            case .serving: .serving
            case .draining: .draining
            case .handing: .handing
            case .stopped: .stopped
            }
    }
}

extension ClusterView.Database {
    fileprivate init(_ status: ClusterStatus) {
        self.init()
        fault = status.fault
        timeline = status.database?.timeline
        system = (status.database?.system).map { "\($0)" }
        guard let info = status.server else { return }
        server = "\(info.target)"
        version = "\(info.version / 10_000).\(info.version % 10_000)"
        timeline = UInt32(clamping: info.timeline)
        standbys = info.synchronousStandbys
        clockOffsetMilliseconds = info.clockOffset.wholeMilliseconds
        roundTripMilliseconds = Double(info.roundTrip.wholeNanoseconds / 1000) / 1000
    }
}
