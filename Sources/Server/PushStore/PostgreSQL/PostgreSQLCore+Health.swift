import PushLoop
import PushModel
import PushPostgreSQL
import PushTime

/// Whether the database stores what it is given, the published state, and the end.
extension PostgreSQLCore {
    struct Health {
        /// When a flush that waits for long was reported last; nil if none waits, or if the fault is another one.
        var stallReportedAt: MonotonicTime?
        var isProbing = false
        /// Since when rows that groups need cannot be read; nil if they can.
        var readsFailSince: MonotonicTime?
        var commits = LedgerCommits()
    }

    /// The time after which a fault that lasts is reported with another reason.
    private static let reportPause: Duration = .seconds(5)

    /// Reports a flush that waits for long, and begins what nothing else has begun. Called several times a second.
    func watch() {
        for lane in lanes { flush(lane) }
        publish(isWhole: true)
        if !isClosed { followShared() }
        if fault != nil, lanes.allSatisfy(\.isIdle) { probe() }
        guard hasStalledLane, isStallReportDue else { return }
        let fault = LedgerFault(stall)
        healthIs(fault)
        health.stallReportedAt = loop.now
        for part in parts.values { part.refuseCalls(fault) }
        if isEnding { dropAwaitedNotes() }
        boundNotes()
    }

    private var isStallReportDue: Bool {
        fault == nil || health.stallReportedAt.map { loop.now - $0 > Self.reportPause } ?? false
    }

    /// What keeps a flush waiting, and what to do.
    private var stall: String {
        if let down = lanes.first(where: { !$0.isUp }) {
            return "\(storeName) cannot be used, retrying: \(down.sessionFault ?? "it has not answered")"
        }
        if let refusal = lanes.lazy.compactMap(\.refusal).first {
            return "\(storeName) stores nothing, retrying: \(refusal)"
        }
        let lock = "does another session lock its tables (pg_stat_activity shows it)?"
        return settings.session.durability == .single
            ? "\(storeName) does not commit; \(lock)"
            : "\(storeName) does not commit; is its synchronous standby running, or \(lock)"
    }

    /// Ends a fault if the database commits. While there is a fault, no request is stored that could show it.
    private func probe() {
        if exchange(&health.isProbing, with: true) { return }
        let section = PostgreSQLSection()
        section.call(StoreStatements.probe)
        reads.send(section, timeout: .seconds(30)) { [weak self] reply in
            guard let self else { return }
            health.isProbing = false
            guard case .done = reply, !hasStalledLane else { return }
            healthIs(nil)
            drops.end()
        }
    }

    var hasStalledLane: Bool {
        let (now, patience) = (loop.now, settings.patience)
        return lanes.contains { $0.waitingSince.map { now - $0 > patience } ?? false }
    }

    func healthIs(_ fault: LedgerFault?) {
        health.stallReportedAt = nil
        guard fault != self.fault else { return }
        self.fault = fault
        // Nothing reads that the ledger can write before intake knows it, or that it cannot after intake does.
        if fault == nil { witness?.healthChanged(nil) }
        publish()
        if fault != nil { witness?.healthChanged(fault) }
    }

    func sessionIsUp() {
        for lane in lanes {
            lane.sessionIsUp()
            flush(lane)
        }
    }

    // MARK: State

    /// Publishes the state for other threads.
    ///
    /// - Parameter isWhole: Whether the counts of all parts are taken anew. After a flush only the backlogs are.
    func publish(isWhole: Bool = false) {
        let status = isWhole ? status() : nil
        let (backlogs, fault) = (backlogs, fault)
        let dropped = drops.total
        let busySince = lanes.compactMap(\.waitingSince).min()
        published.withLock {
            $0.busySince = busySince
            if let status { $0.status = status }
            $0.status.fault = fault
            $0.status.droppedEvents = dropped
            $0.backlogs = backlogs
        }
    }

    /// Returns the state, with the counts of all parts.
    func status() -> LedgerStatus {
        var status = LedgerStatus()
        for part in parts.values {
            // Numbers of different parts cannot be compared. These sums count the events: those that there were, and
            // those that are kept.
            status.newest += EventNumber.within(part.machine.writer.next - 1)
            status.oldest += EventNumber.within(part.oldest) - min(1, EventNumber.within(part.oldest))
            status.waiting += part.machine.dedupe.pending.count
            status.scheduled += part.machine.scheduledCount
            status.messageKeys += part.machine.dedupe.messages.idCount
            status.deliveryKeys += part.machine.dedupe.deliveryCount
            status.keyBytes += part.machine.dedupe.byteCount
            status.remembered += part.machine.dedupe.rememberedCount
            status.refusedByLimit += part.machine.dedupe.refusedCount
        }
        status.oldest += 1
        status.apps = backlogs.byApp
        status.commits = health.commits
        status.droppedEvents = drops.total
        status.fault = fault
        return status
    }

    // MARK: The end

    /// Answers callers of `note` that wait for a store which fails, from now on.
    func beginEnd() {
        isEnding = true
        if fault != nil { dropAwaitedNotes() }
    }

    /// Whether all that was handed in is stored.
    var isSettled: Bool {
        guard lanes.allSatisfy(\.isIdle) else { return false }
        return parts.values.allSatisfy { part in
            !part.isWritten || part.isSettled && !(part.isOpen && (part.isTrimDue || part.isUpkeepDue))
        }
    }

    func close() {
        isClosed = true
        dropNotes()
        let fault = LedgerFault("the ledger is closed")
        for ended in exchange(&loading, with: [:]).values {
            ended.loader?.cancel()
            ended.reply(fault)
        }
        for part in parts.values {
            part.phase = .gone
            part.refuseAll(fault)
            for reply in exchange(&part.drained, with: []) { reply() }
            part.unannounced = []
        }
        parts = [:]
        witness = nil
    }
}
