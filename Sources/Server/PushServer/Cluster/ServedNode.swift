import PushAPI
import PushConfiguration
import PushLogic
import PushLoop
import PushModel
import PushPipeline
import PushPostgreSQL
import PushStore
import PushTransport

/// The part of this node in its cluster: its lease and partitions, and its connections to the other nodes.
final class ServedNode: Sendable {
    /// The right to send, which follows the lease.
    let permit: SendingPermit
    /// The ledger for producers: what belongs to a partition of another node goes there.
    let intake: any Ledger
    /// The log of notifications of stores, which go to the owners of their partitions, too.
    let receipts: any ReceiptLog
    let name: NodeID
    let ledger: PostgreSQLLedger
    private let peers: ClusterPeers
    let state: NodeState
    private let shell: ClusterShell.Settings
    private let renewals: SeenRenewals
    /// The host at which other nodes reach this one.
    private let host: String

    private init(
        _ cluster: Configuration.Cluster, _ ledger: PostgreSQLLedger, _ peers: ClusterPeers, _ state: NodeState,
        _ shell: ClusterShell.Settings, renewals: SeenRenewals, permit: SendingPermit
    ) {
        name = cluster.node
        host = (cluster.advertise ?? cluster.listen).host
        self.ledger = ledger
        self.peers = peers
        self.state = state
        self.shell = shell
        self.renewals = renewals
        self.permit = permit
        let owners: @Sendable () -> OwnerTable = { state.owners }
        intake = ForwardingLedger(ledger, map: ledger.map, owners: owners, peers: peers)
        receipts = ForwardingReceipts(ledger, map: ledger.map, owners: owners, peers: peers)
    }

    // MARK: Start

    /// Opens the stores of a cluster. The node owns no partition before ``join()``.
    static func open(
        _ store: Configuration.Store, _ cluster: Configuration.Cluster, _ retention: LedgerRetention,
        _ limits: AddressLimits, on dependencies: Stores.Dependencies
    ) async throws -> Stores {
        let log = dependencies.log
        if cluster.durability == .single {
            log.warning(
                "cluster.durability is \"single\": acknowledged messages are lost with the disk of the database",
                [.event: "cluster.single"])
        }
        let keys = try NodeKeys.open(in: dependencies.directory)
        let state = NodeState()
        let settings = ledgerSettings(store, cluster, retention, state, dependencies)
        let ledger: PostgreSQLLedger
        let backlog: LedgerBacklog
        do {
            (ledger, backlog) = try await PostgreSQLLedger.open(settings)
        } catch let error as StoreError {
            throw StartError(.unavailable, error.description)
        }
        do {
            var devices = PostgreSQLRegistry.Settings(settings)
            devices.options.addressLimits = limits
            devices.now = { [clock = dependencies.clock] in clock.now }
            devices.failed = { error in
                log.warning("cannot read what other nodes changed, retrying", [.error: "\(error)"])
            }
            let registry = try await PostgreSQLRegistry.open(
                devices, identities: ledger.identities, note: { await ledger.note($0) })
            do {
                let node = try await node(store, cluster, keys, ledger, state, settings, dependencies)
                let book = registry.keyBook
                return Stores(
                    ledger: ledger, registry: registry, backlog: backlog,
                    sealing: .stored(
                        in: store.description, read: { try await book.sealingKey() },
                        keep: { try await book.keep(sealingKey: $0) }),
                    node: node, addressLimits: limits)
            } catch {
                await registry.close()
                throw error
            }
        } catch {
            await ledger.close(within: .zero)
            throw error
        }
    }

    private static func node(
        _ store: Configuration.Store, _ cluster: Configuration.Cluster, _ keys: CurveKeyPair,
        _ ledger: PostgreSQLLedger,
        _ state: NodeState, _ settings: PostgreSQLLedger.Settings, _ dependencies: Stores.Dependencies
    ) async throws -> ServedNode {
        let peers = try await peers(cluster, keys, ledger, state, dependencies)
        var shell = shellSettings(
            store, cluster, keys, peers, at: await peers.endpoint, settings, state, dependencies)
        let file = RenewalFile(in: dependencies.directory)
        let renewals = SeenRenewals(
            file, warning: { [trouble = RepeatedWarning(dependencies.log)] in trouble.report($0) })
        shell.seen = file.read()
        shell.hooks.acknowledged = { renewals.take($0) }
        return ServedNode(cluster, ledger, peers, state, shell, renewals: renewals, permit: settings.permit)
    }

    private static func ledgerSettings(
        _ store: Configuration.Store, _ cluster: Configuration.Cluster, _ retention: LedgerRetention,
        _ state: NodeState, _ dependencies: Stores.Dependencies
    ) -> PostgreSQLLedger.Settings {
        let log = dependencies.log
        var settings = PostgreSQLLedger.Settings(store.options, resolver: resolver(dependencies.resolver))
        settings.session.durability = PostgreSQLDurability(cluster.durability)
        settings.node = cluster.node.name
        settings.retention = retention
        // Nothing is sent before the node has a lease.
        settings.permit = SendingPermit(until: .distantPast)
        settings.clock = { [clock = dependencies.clock] in clock.now }
        // The node joins its cluster after the gateways have signed their first provider tokens, which the push service
        // refuses if the clock of this machine is an hour off.
        settings.clockRead = { [clock = dependencies.clock] in clock.observed($0) }
        settings.committed = { [commits = dependencies.commits] in commits.observe($0) }
        settings.eventsDropped = { log.eventsLost($0) }
        settings.lost = { part, epoch in state.shell?.fenced(part, epoch: epoch) }
        settings.refusedLate = { parts in
            log.warning(
                "a late write was refused: other nodes have taken the partitions, and nothing of it is stored",
                [.event: "partition.late", .count: parts])
        }
        settings.sharedRead = { state.take($0) }
        settings.failed = { [trouble = RepeatedWarning(log)] in trouble.report($0) }
        return settings
    }

    private static func peers(
        _ cluster: Configuration.Cluster, _ keys: CurveKeyPair, _ ledger: PostgreSQLLedger, _ state: NodeState,
        _ dependencies: Stores.Dependencies
    ) async throws -> ClusterPeers {
        let log = dependencies.log
        var settings = ClusterPeers.Settings(listen: "tcp://\(cluster.listen)", keys: keys, map: ledger.map)
        settings.stale = { state.shell?.hinted() }
        settings.hinted = { state.shell?.hinted() }
        settings.warning = { [trouble = RepeatedWarning(log)] in trouble.report($0) }
        settings.answer = { bytes, reply in
            guard let question = NodeQuestion(bytes), let answer = state.answer else { return reply(nil) }
            Task { reply(await answer(question)) }
        }
        do {
            return try await ClusterPeers.start(settings, for: ledger, ledger, on: dependencies.loop)
        } catch {
            throw StartError(.unavailable, "cannot open cluster.listen, tcp://\(cluster.listen): \(error)")
        }
    }

    private static func shellSettings(
        _ store: Configuration.Store, _ cluster: Configuration.Cluster, _ keys: CurveKeyPair, _ peers: ClusterPeers,
        at endpoint: String, _ ledger: PostgreSQLLedger.Settings, _ state: NodeState,
        _ dependencies: Stores.Dependencies
    ) -> ClusterShell.Settings {
        let address = if let other = cluster.advertise { "tcp://\(other)" } else { endpoint }
        var settings = ClusterShell.Settings(
            cluster.node, contact: NodeContact(address: address, publicKey: keys.publicKey.z85),
            policy: ClusterPolicy(lease: cluster.lease), directory: dependencies.directory, options: store.options,
            resolver: ledger.resolver)
        settings.session.durability = ledger.session.durability
        settings.session.primary = ledger.session.primary
        settings.version = dependencies.version
        settings.endpoints = { state.endpoints }
        let log = dependencies.log
        settings.hooks.event = { event in
            state.take(event)
            log.report(event)
        }
        settings.hooks.warning = { [trouble = RepeatedWarning(log)] in trouble.report($0) }
        settings.hooks.clock = { [clock = dependencies.clock] in clock.observed($0) }
        settings.hooks.renewed = { state.renewedAt = $0 }
        settings.hooks.hint = { node, _ in peers.hint(node) }
        settings.hooks.owners = { table in
            state.owners = table
            peers.update(table)
        }
        settings.hooks.end = { [halt = dependencies.halt] reason in
            state.ended()
            if let reason {
                log.error("this node leaves the cluster for good: \(reason)", [.event: "cluster.halted"])
                halt()
            }
        }
        return settings
    }

    private static func resolver(_ resolver: NameResolver) -> PostgreSQLSession.Resolver {
        { host in
            do {
                return try await resolver.resolve(HostPort(host: host.name, port: host.port)).map(\.ip)
            } catch {
                throw PostgreSQLError(message: "\(error)")
            }
        }
    }

    /// Joins the cluster, as soon as the database answers. The ledger must have its witness.
    func join() async throws {
        let shell = try await ClusterShell.open(shell, host: ledger, permit: permit)
        state.shell = shell
    }

    /// Tells the cluster the addresses of this node for producers. The next renewal carries them.
    func announce(router: String?, http: String?) {
        state.endpoints = NodeEndpoints(boundRouter: router, boundHTTP: http, reachedAt: host)
    }

    // MARK: What the nodes share

    /// Where the nodes agree on brakes.
    var board: any SharedBrakes { ledger }

    /// The numbers of connections that operators had set when this node started.
    var scalesAtOpen: [SharedScale] { ledger.scalesAtOpen }

    /// Adds a function that is called about once a second with what the nodes share.
    func whenSharedRead(_ observer: @escaping @Sendable (SharedApps) -> Void) { state.whenSharedRead(observer) }

    func publish(_ troubles: [GatewayTrouble]) { ledger.publish(troubles) }

    func scale(_ mark: SharedScale) async -> LedgerFault? { await ledger.scale(mark) }

    func removeScales(of app: AppID) { ledger.removeScales(of: app) }

    /// The live nodes, with this one.
    var live: Set<NodeID> { Set(state.owners.endpoints.keys).union([name]) }

    /// The other nodes that have neither left nor been declared dead.
    var others: [NodeID] { state.owners.members.keys.sorted() }

    // MARK: Questions

    /// The time within which another node must answer.
    private static let answersWithin: Duration = .seconds(2)

    /// Sets the function that answers questions of other nodes.
    func whenAsked(_ answer: @escaping NodeState.NodeAnswer) { state.answer = answer }

    /// Asks all other nodes at once, so that those that do not answer delay the answer only once.
    func askOthers<Value: Codable & Sendable>(
        _ question: NodeQuestion, for type: Value.Type = Value.self
    ) async -> [(node: NodeID, answer: Result<Value, Problem>)] {
        let asked = others.map { other in
            let task = Task { () -> Result<Value, Problem> in
                do throws(Problem) {
                    return .success(try await ask(question, of: other))
                } catch {
                    return .failure(error)
                }
            }
            return (node: other, task: task)
        }
        var answers: [(node: NodeID, answer: Result<Value, Problem>)] = []
        for (node, task) in asked { answers.append((node, await task.value)) }
        return answers
    }

    /// Asks another node about itself.
    func ask<Value: Codable & Sendable>(
        _ question: NodeQuestion, of node: NodeID, for type: Value.Type = Value.self
    ) async throws(Problem) -> Value {
        guard state.owners.members[node] != nil else { throw Problem.unknownNode(node.name) }
        switch await peers.ask(question.bytes, of: node, within: Self.answersWithin) {
        case .success(let bytes): return try NodeQuestion.value(bytes, of: node)
        case .failure(let fault): throw Problem(.unavailable, detail: fault.description)
        }
    }

    // MARK: Obstacles

    /// The reason why this node carries nothing out; nil if there is none.
    var obstacle: String? {
        if let obstacle = state.obstacle { return obstacle }
        guard state.isStopped else { return nil }
        return "the lease of node \(name) has run out, because the database does not renew it: check the database, "
            + "and see the log of the node"
    }

    /// Why this node answers every push busy although it is a member; nil if it carries out a partition, or reaches a node
    /// that owns one.
    var isolation: String? {
        if ledger.servesParts || state.owners.isOwned(byOneOf: peers.connected.withLock { $0 }) { return nil }
        return "node \(name) carries out no partition and reaches no node that owns one: every push is answered busy "
            + "until it has taken partitions, at the end of their owners' leases; see the log of the node"
    }

    var owners: OwnerTable { state.owners }

    var journal: ClusterJournal { state.journal }

    /// Returns the cluster as this node sees it; nil before ``join()`` and after ``leave()``.
    func status() async -> ClusterStatus? { await state.shell?.status() }

    // MARK: End

    /// Hands all partitions over to other nodes, while deliveries that are under way end.
    func drain(within limit: Duration) async { _ = await state.shell?.drain(within: limit) }

    /// Gives up what is left, leaves the cluster and closes the connections to other nodes.
    func leave() async {
        await state.shell?.close()
        // The shell's hooks hold the state.
        state.shell = nil
        await renewals.stop()
        await peers.stop()
    }
}

extension PostgreSQLDurability {
    fileprivate init(_ durability: Configuration.Cluster.Durability) {
        self =
            switch durability {
            case .replicated: .replicated
            case .single: .single
            }
    }
}
