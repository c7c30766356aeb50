import PushLogic
import PushLoop
import PushModel
import PushPostgreSQL
import PushTime

/// The connection of the cluster machine to the database. It is used for nothing else, so that a renewal never waits
/// behind commits of the ledger. Confined to its loop.
final class ClusterLink {
    typealias Reply = (ClusterResult, ClusterTables?) -> Void

    /// Called when the primary is connected, and its store was read.
    var onUp: ((DatabaseIdentity) -> Void)?
    /// Called when the connection is lost, after the replies to all operations.
    var onDown: (() -> Void)?
    /// Called when the store cannot be used by this program.
    var onFault: ((String) -> Void)?
    /// The database that was connected last.
    private(set) var identity: DatabaseIdentity?
    private(set) var fault: String? = "the database has not answered yet"

    private let loop: EventLoop
    private let settings: ClusterShell.Settings
    private let section = PostgreSQLSection()
    private var session: PostgreSQLSession?
    private var isUp = false
    private var again = DeadlineTimer()
    private var cleaning: TimerHandle?
    private var watch: Int?
    private var hasWarnedOfClock = false
    /// The last renewal that a database has acknowledged.
    private var seen: SeenRenewal?
    /// The time of the last warning of each kind.
    private var warned: [WarningKind: MonotonicTime] = [:]

    /// What is reported at most once in a while: a node tries again several times a second.
    private enum WarningKind: Hashable {
        case connection, store, tables
        case operation(String)
    }

    private static let warningPause = Duration.seconds(10)

    init(_ settings: ClusterShell.Settings, on loop: EventLoop) {
        self.settings = settings
        self.loop = loop
        seen = settings.seen
    }

    var server: ServerInfo? { isUp ? session?.info : nil }

    func start() {
        cleaning = loop.scheduleRepeating(every: .seconds(3600)) { [weak self] in self?.removeOldNodes() }
        watch = settings.session.primary?.watch(on: loop) { [weak self] in self?.primaryChanged() }
        connect()
    }

    /// Operations without a result get one from within this call.
    func stop() {
        onUp = nil
        onDown = nil
        onFault = nil
        again.disarm(on: loop)
        if let cleaning { loop.cancel(cleaning) }
        if let watch = watch.take() { settings.session.primary?.endWatch(watch) }
        session.take()?.stop()
    }

    /// Closes the connection, and looks for the primary again, at the other hosts first.
    func reconnect(because reason: String = "a newer primary was seen before") { session?.reject(reason) }

    private func connect() {
        var limits = settings.session
        limits.limits.maxSections = max(limits.limits.maxSections, 64)
        // The store is read before the server is judged: a node whose store was restored ends, also on an earlier timeline.
        limits.primary = nil
        let session = PostgreSQLSession(
            on: loop, options: settings.options, settings: limits, resolver: settings.resolver,
            retryDelay: settings.retryDelay)
        self.session = session
        session.onFailure = { [unowned self] reason in
            fault = reason
            warn(.connection, "the cluster has no database: \(reason)")
        }
        session.onChange = { [unowned self] change in
            switch change {
            case .up(let info): readStore(info)
            case .down(let reason): lost(reason)
            }
        }
        session.start()
    }

    private func warn(_ kind: WarningKind, _ text: String) {
        if let last = warned[kind], loop.now - last < Self.warningPause { return }
        warned[kind] = loop.now
        settings.hooks.warning(text)
    }

    private func lost(_ reason: String) {
        fault = reason
        again.disarm(on: loop)
        if exchange(&isUp, with: false) { onDown?() }
    }

    /// Another session has seen a newer primary.
    private func primaryChanged() {
        guard isUp, let info = session?.info, let cluster = identity?.cluster,
            let fault = settings.session.primary?.fault(of: info, cluster: cluster)
        else { return }
        leave(because: fault)
    }

    /// Leaves a primary that was replaced.
    private func leave(because fault: String) {
        warn(.store, fault)
        reconnect(because: fault)
    }

    // MARK: The store

    private func readStore(_ info: ServerInfo) {
        compareClocks(info)
        section.clear()
        let wait = settings.policy.operationTimeout / 4
        section.call(ClusterStatements.lockTimeout(milliseconds: max(1, wait.wholeMilliseconds)))
        section.call(ClusterStatements.store) { [settings] in $0.append(text: settings.node.name) }
        session?.send(section, timeout: settings.policy.operationTimeout) { [weak self] reply in
            self?.storeWasRead(reply, info)
        }
    }

    private func storeWasRead(_ reply: PostgreSQLReply, _ info: ServerInfo) {
        do throws(StoreError) {
            switch reply {
            case .done(let results):
                let (identity, number) = try Self.identity(results, info)
                switch verdict(on: max(0, number), in: identity) {
                case .restored(let fault)?:
                    self.fault = fault
                    return onFault?(fault) ?? ()
                case .replaced(let fault)?: return leave(because: fault)
                case nil: break
                }
                if let fault = settings.session.primary?.fault(of: info, cluster: identity.cluster) {
                    return leave(because: fault)
                }
                self.identity = identity
                isUp = true
                fault = nil
                onUp?(identity)
                removeOldNodes()
            case .refused(let failure) where failure.sqlState == .unknownTable:
                throw StoreError(.unsuitable, StoreSchema.absence(in: "\(settings.options)"))
            case .refused(let failure): throw StoreError(.cannotRead, "\(settings.options): \(failure)")
            // The session reports the loss of its connection.
            case .unknown, .notSent: break
            }
        } catch {
            fault = error.description
            if error.code == .newerVersion { return onFault?(error.description) ?? () }
            warn(.store, "the cluster has no store: \(error)")
            again.arm(at: loop.now + .seconds(1), on: loop, action: { [unowned self] in readStore(info) })
        }
    }

    /// Returns the database, and the number of the last renewal of this node that it has.
    private static func identity(
        _ results: [PostgreSQLResult], _ info: ServerInfo
    ) throws(StoreError) -> (DatabaseIdentity, renewal: Int64) {
        let (version, parts, incarnation, renewal): (Int32, Int32, [UInt8], Int64?)
        guard let result = results.last, result.rowCount == 1 else {
            throw StoreError(.damaged, "the table carillon.store does not have exactly one row")
        }
        do throws(PostgreSQLValueError) {
            let row = try result.row()
            (version, parts, incarnation) = (try row.value(0), try row.value(1), try row.value(2))
            renewal = try row.optional(3)
        } catch {
            throw StoreError(.cannotRead, error.message)
        }
        if let fault = StoreSchema.fault(of: version) { throw StoreError(.newerVersion, fault) }
        let identity = DatabaseIdentity(
            system: UInt64(bitPattern: info.systemIdentifier), timeline: UInt32(clamping: info.timeline),
            cluster: ClusterTables.number(ofIncarnation: incarnation),
            partitions: Int(parts))
        return (identity, renewal ?? 0)
    }

    /// The renewals of this time may be missing in a database without a synchronous standby, after another one was
    /// promoted: its operators have chosen to lose what was acknowledged last.
    private static let lossOfSingle: Duration = .seconds(60)

    private enum Loss {
        case restored(String)
        case replaced(String)
    }

    /// Returns why the database is not to be used; nil if it has the renewals that were acknowledged.
    private func verdict(on number: Int64, in identity: DatabaseIdentity) -> Loss? {
        guard let seen,
            let verdict = seen.verdict(
                on: number, of: settings.node, cluster: identity.cluster, system: identity.system,
                timeline: identity.timeline)
        else { return nil }
        let lost =
            "it has \(number) renewals of the lease of node \(settings.node), of \(seen.number) that were acknowledged"
        let advice =
            "stop all nodes, run 'carillon store restored --yes', and start them again "
            + "(Documentation/Cluster.md#after-a-restore-from-a-backup)"
        if verdict == .replaced {
            settings.session.primary?.saw(
                system: Int64(bitPattern: seen.system), timeline: Int64(seen.timeline), cluster: seen.cluster)
            return .replaced(
                "the database has timeline \(identity.timeline), and timeline \(seen.timeline) was seen before; \(lost). It "
                    + "is a primary that was replaced, and another server is looked for; if it was restored from a "
                    + "backup, \(advice)")
        }
        // No lease is shorter than a second, so that a larger number makes no difference.
        let missing = Int(min(seen.number - number, 1000))
        if settings.session.durability == .single, settings.policy.interval * missing <= Self.lossOfSingle {
            warn(.store, "the database has lost commits: \(lost); messages that were accepted since may be lost")
            return nil
        }
        return .restored(
            "the database has lost commits that it had acknowledged: \(lost). It was restored from a backup, or a standby "
                + "was promoted that did not have all commits; \(advice)")
    }

    /// Takes the answer to a renewal.
    private func take(_ renewal: PostgreSQLResult?) {
        guard let identity, let number = try? renewal?.row().value(0, as: Int64.self) else { return }
        let now = SeenRenewal(
            number, node: settings.node, cluster: identity.cluster, system: identity.system,
            timeline: identity.timeline)
        seen = now
        settings.hooks.acknowledged(now)
    }

    private func compareClocks(_ info: ServerInfo) {
        let warning = Self.clockWarning(offset: info.clockOffset, roundTrip: info.roundTrip)
        if let warning, !hasWarnedOfClock { settings.hooks.warning(warning) }
        hasWarnedOfClock = warning != nil
    }

    /// Returns what is wrong with the clock of this machine; nil if it is right. A wrong clock is harmless, because leases
    /// are counted by the database's clock and by the time since the boot.
    ///
    /// - Parameter offset: The time of the database minus the time of this machine.
    static func clockWarning(offset: Duration, roundTrip: Duration) -> String? {
        let size = max(offset, .zero - offset)
        guard size > max(.seconds(1), roundTrip) else { return nil }
        return "the clock of this machine is \(offset > .zero ? "behind" : "ahead of") that of the database by "
            + "\(size.wholeMilliseconds) ms; leases do not depend on it, but times in logs do; synchronize the clocks of "
            + "both machines"
    }

    private func removeOldNodes() {
        guard isUp else { return }
        section.clear()
        section.call(ClusterStatements.removeOldNodes)
        session?.send(section, timeout: .seconds(10)) { _ in }
    }

    // MARK: Operations

    /// Runs an operation. The reply is called once, and not from within this call.
    func run(_ operation: ClusterOperation, reply: @escaping Reply) {
        guard let session else {
            loop.schedule(after: .zero) { reply(.notSent, nil) }
            return
        }
        section.clear()
        section.add(operation, of: settings.node, version: settings.version, endpoints: settings.endpoints())
        session.send(section, timeout: settings.policy.operationTimeout) { [weak self] answer in
            switch answer {
            case .done(let results):
                if case .renew = operation { self?.take(results.last) }
                guard operation == .snapshot else {
                    return reply(results.last.map { operation.result($0) } ?? .unknown, nil)
                }
                guard let result = results.last else { return reply(.unknown, nil) }
                do {
                    let tables = try ClusterTables(result)
                    if let self, let identity, identity.cluster != tables.cluster {
                        // The machine compares the whole identity when it is connected, and then halts.
                        reply(.refused, nil)
                        return reconnect(because: "the store has another incarnation than before")
                    }
                    reply(.snapshot(tables.snapshot), tables)
                } catch {
                    self?.warn(.tables, "the tables of the cluster cannot be read: \(error)")
                    reply(.refused, nil)
                }
            case .refused(let failure):
                self?.warn(
                    .operation(operation.name), "the operation \(operation.name) of the cluster was refused: \(failure)"
                )
                reply(.refused, nil)
            case .unknown: reply(.unknown, nil)
            case .notSent: reply(.notSent, nil)
            }
        }
    }
}
