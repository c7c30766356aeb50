import PushLogic
package import PushLoop
package import PushModel

/// A node of a cluster: it joins, renews its lease, and takes, serves and hands over partitions as ``ClusterMachine``
/// decides, with tables of PostgreSQL and a ``PartitionHost`` that carries the partitions out.
///
/// It has a loop of its own, so that no work delays a renewal, or the end of sending at the deadline. Any thread may call
/// it.
package final class ClusterShell: Sendable {
    private let core: LoopBound<ClusterCore>
    private let gate: LoopGate
    private let published: Locked<OwnerTable>
    private let leaveTimeout: Duration

    private init(_ core: LoopBound<ClusterCore>, gate: LoopGate, published: Locked<OwnerTable>, leaveTimeout: Duration)
    {
        self.core = core
        self.gate = gate
        self.published = published
        self.leaveTimeout = leaveTimeout
    }

    /// Starts the node. It joins as soon as the database answers, and tries again until ``close()``.
    ///
    /// - Parameters:
    ///   - host: The ledger of this process, which has opened no partition.
    ///   - permit: The permit of the gateways, which follows the lease from now on.
    package static func open(
        _ settings: Settings, host: any PartitionHost, permit: SendingPermit
    ) async throws(StoreError) -> ClusterShell {
        let incarnations = try IncarnationFile(in: settings.directory).read()
        let loop = EventLoop(name: "cluster")
        let gate = LoopGate(loop)
        let core = await loop.run {
            let core = ClusterCore(
                settings, host: host, permit: permit, incarnations: incarnations, on: loop, gate: gate)
            core.start()
            return LoopBound(core, on: loop)
        }
        let published = await core.with { $0.published }
        return ClusterShell(core, gate: gate, published: published, leaveTimeout: settings.policy.operationTimeout)
    }

    // MARK: Inputs

    /// Takes the news that a write of the ledger found another epoch.
    package func fenced(_ part: PartitionID, epoch: PartitionEpoch) {
        _ = gate.execute { [core] in
            core.wrapped.input { machine, now in machine.fenced(part, epoch: epoch, now: now) }
        }
    }

    /// Looks at the tables soon: another node has sent a hint, or has answered that a partition is not its own.
    package func hinted() {
        _ = gate.execute { [core] in core.wrapped.input { machine, now in machine.hinted(now: now) } }
    }

    /// Hands all partitions over and leaves. Returns when this has happened, or when the time is over, with whether the
    /// node has left. If there is no other node, it gives the partitions up.
    package func drain(within limit: Duration = .seconds(30)) async -> Bool {
        _ = gate.execute { [core] in core.wrapped.input { machine, now in machine.drain(now: now) } }
        return await ended(within: limit)
    }

    /// Stops sending, gives all partitions up, leaves if the database answers, and ends. May be called twice.
    package func close() async {
        _ = gate.execute { [core] in core.wrapped.input { machine, now in machine.end(now: now) } }
        _ = await ended(within: leaveTimeout)
        await end()
    }

    /// Ends without leaving, as a process does that is killed.
    func abandon() async { await end() }

    private func end() async {
        guard await gate.run({ [core] in core.wrapped.stop() }) != nil, gate.close() else { return }
        await gate.loop.shutDown()
    }

    private func ended(within limit: Duration) async -> Bool {
        await withCheckedContinuation { continuation in
            let isTaken = gate.execute { [core] in
                core.wrapped.whenEnded(within: limit) { continuation.resume(returning: core.wrapped.hasEnded) }
            }
            if !isTaken { continuation.resume(returning: true) }
        }
    }

    // MARK: Readings

    /// The members and the owners of the partitions, as this node knows them now. Does not wait for anything.
    package var owners: OwnerTable { published.withLock { $0 } }

    /// Returns the state of the cluster as this node sees it; nil after ``close()``.
    package func status() async -> ClusterStatus? { await gate.run { [core] in core.wrapped.status() } }
}
