import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import PushWire

/// The parts that come and go: reading them, opening them, and giving them away.
///
/// A part is identified by its object, not by its number: a flush or a reading that began for a part which was dropped
/// ends with that object, also if the part was loaded again under a newer epoch.
extension PostgreSQLCore {
    /// A part that is being read.
    final class Loading {
        let epoch: Int64
        let reply: @Sendable (LedgerFault?) -> Void
        var loader: PartLoader?

        init(epoch: Int64, reply: @escaping @Sendable (LedgerFault?) -> Void) {
            self.epoch = epoch
            self.reply = reply
        }
    }

    // MARK: Load

    func load(_ number: Int, epoch: Int64, reply: @escaping @Sendable (LedgerFault?) -> Void) {
        if isClosed { return reply(LedgerFault("the ledger is closed")) }
        guard number < partCount else {
            return reply(LedgerFault("\(storeName) has \(partCount) parts, and no part \(number)"))
        }
        endLoad(of: number, because: "it is loaded again")
        if let held = parts[number] { forget(held, LedgerFault(refusal(of: number))) }
        // A group whose outcome is not known may still be stored, under numbers that the load would assign again. With
        // a newer epoch it cannot.
        if lanes.contains(where: { $0.stores(number, epoch: epoch) }) {
            return reply(
                LedgerFault(
                    "part \(number) of \(storeName) cannot be loaded at epoch \(epoch): a write with this epoch has no "
                        + "answer yet; load the part again, or take it with a new epoch"))
        }
        let loading = Loading(epoch: epoch, reply: reply)
        self.loading[number] = loading
        let restore = PartRestore(
            number, of: partCount, epoch: epoch, identities: identities, retention: retention, storeName: storeName,
            activityWaits: published.withLock { $0.activityWaits }, latest: settings.clock() + Self.tolerance)
        let loader = PartLoader(number, epoch: epoch, on: reads, into: restore, storeName: storeName) {
            [weak self, weak loading] result in
            guard let self, let loading else { return }
            loaded(result, number, loading)
        }
        loading.loader = loader
        loader.start()
    }

    private func loaded(_ result: Result<PartLoader.Loaded, StoreError>, _ number: Int, _ loading: Loading) {
        guard self.loading[number] === loading else { return }
        switch result {
        case .failure(let error): endLoad(of: number, LedgerFault("\(error)"))
        case .success(let loaded):
            endCancels(of: loaded) { [weak self] fault in
                guard let self, self.loading[number] === loading else { return }
                if fault == nil { add(loaded.part) }
                endLoad(of: number, fault)
            }
        }
    }

    private func endLoad(of number: Int, because reason: String) {
        guard loading[number] != nil else { return }
        endLoad(of: number, LedgerFault("the load of part \(number) of \(storeName) was ended: \(reason)"))
    }

    private func endLoad(of number: Int, _ fault: LedgerFault?) {
        guard let ended = loading.removeValue(forKey: number) else { return }
        ended.loader?.cancel()
        ended.reply(fault)
    }

    /// Adds a part that was read.
    private func add(_ part: LedgerPart) {
        parts[part.part] = part
        part.loadedAt = loop.now
        for (app, own) in part.machine.backlog.byApp {
            backlogs.add(app, waiting: own.waiting, scheduled: own.scheduled)
        }
        publish(isWhole: true)
    }

    /// Begins with all parts that were read, without the witness. Returns what waits in them.
    func serveAll() -> LedgerBacklog {
        var backlog = LedgerBacklog()
        for (_, part) in parts.sorted(by: { $0.key < $1.key }) where part.phase == .loaded {
            begin(part)
            backlog.lanes += part.backlog.lanes
            backlog.times += part.backlog.times
            if let due = part.backlog.nextDue { backlog.nextDue = min(backlog.nextDue ?? due, due) }
            backlog.stored.add(part.backlog.stored)
            part.backlog = LedgerBacklog()
        }
        publish(isWhole: true)
        return backlog
    }

    // MARK: Serve

    func serve(_ number: Int, epoch: Int64) {
        guard let part = parts[number], part.epoch == epoch else { return }
        switch part.phase {
        case .loaded:
            part.phase = .opening
            openIfReady(part)
        case .suspended:
            part.phase = .serving
            resumeIfServed()
        case .opening, .serving, .closing, .gone: break
        }
    }

    /// Opens a part once the witness has forgotten its former messages, and their outcomes are stored. Otherwise the
    /// devices whose deliveries have ended would get them again.
    private func openIfReady(_ part: LedgerPart) {
        guard part.phase == .opening, unforgotten[part.part] == nil else { return }
        guard part.isSettled else { return flushLane(of: part) }
        begin(part)
        if let id = PartitionID(part.part) { witness?.opened(id, exchange(&part.backlog, with: LedgerBacklog())) }
        for announce in exchange(&part.unannounced, with: []) { announce() }
        storeHomeless()
        resumeIfServed()
        publish()
    }

    private func begin(_ part: LedgerPart) {
        part.phase = .serving
        guard let id = PartitionID(part.part) else { return }
        let heads = LogHeads(part: id, newest: part.newestAtOpen, topics: part.heads)
        published.withLock { $0.open(part.part, heads, epoch: part.epoch) }
    }

    func stopSending() {
        let fault = LedgerFault(Self.suspension)
        for part in parts.values {
            switch part.phase {
            case .serving: part.phase = .suspended
            case .opening: part.phase = .loaded
            case .loaded, .suspended, .closing, .gone: continue
            }
            part.refuseCalls(fault)
        }
        if !exchange(&isSuspended, with: true) { witness?.suspended(true) }
    }

    private func resumeIfServed() {
        guard isSuspended, !parts.values.contains(where: { $0.phase == .suspended }) else { return }
        isSuspended = false
        witness?.suspended(false)
    }

    // MARK: Close

    func drain(_ number: Int, epoch: Int64, reply: @escaping @Sendable () -> Void) {
        guard let part = parts[number], part.epoch == epoch else { return reply() }
        part.drained.append(reply)
        let wasOpen = part.isOpen
        part.phase = .closing
        part.refuseCalls(LedgerFault(refusal(of: number)))
        if wasOpen { orderToForget(part) } else if unforgotten[number] == nil { part.isForgotten = true }
        resumeIfServed()
        endDrain(of: part)
    }

    /// Orders the witness to forget a part.
    private func orderToForget(_ part: LedgerPart) {
        published.withLock { $0.close(part.part) }
        unforgotten[part.part, default: 0] += 1
        guard let witness, let id = PartitionID(part.part) else { return isForgotten(part) }
        let done = LoopBound<() -> Void>({ [weak self] in self?.isForgotten(part) }, on: loop)
        witness.closed(id) { [gate] in _ = gate.execute { done.wrapped() } }
    }

    private func isForgotten(_ part: LedgerPart) {
        if exchange(&part.isForgotten, with: true) { return }
        let left = (unforgotten[part.part] ?? 1) - 1
        unforgotten[part.part] = left > 0 ? left : nil
        endDrain(of: part)
        guard let current = parts[part.part], current !== part, left == 0 else { return }
        openIfReady(current)
        // It was never opened, so there is nothing of it to forget.
        if current.phase == .closing { current.isForgotten = true }
        endDrain(of: current)
    }

    private func endDrain(of part: LedgerPart) {
        guard part.phase == .closing, part.isForgotten else { return }
        guard part.isSettled else { return flushLane(of: part) }
        for reply in exchange(&part.drained, with: []) { reply() }
    }

    /// Ends the work of the database for a part.
    func isFree(_ part: LedgerPart) {
        part.isBusy = false
        workEnded(of: part)
    }

    /// Continues with a part that waits until it is settled.
    func workEnded(of part: LedgerPart) {
        switch part.phase {
        case .opening: openIfReady(part)
        case .closing: endDrain(of: part)
        case .loaded, .serving, .suspended, .gone: break
        }
    }

    func drop(_ number: Int, epoch: Int64) {
        if loading[number]?.epoch == epoch { endLoad(of: number, because: "the part was dropped") }
        guard let part = parts[number], part.epoch == epoch else { return }
        forget(part, LedgerFault(refusal(of: number)))
    }

    /// Forgets a part, which this node does not own any more.
    func forget(_ part: LedgerPart, _ fault: LedgerFault) {
        guard parts[part.part] === part else { return }
        let wasOpen = part.isOpen
        part.phase = .gone
        parts[part.part] = nil
        for (app, own) in part.machine.backlog.byApp {
            backlogs.add(app, waiting: -own.waiting, scheduled: -own.scheduled)
        }
        if !unreadable.isEmpty { unreadable = unreadable.filter { EventNumber.part(of: $0) != part.part } }
        if wasOpen { orderToForget(part) }
        part.refuseAll(fault)
        for reply in exchange(&part.drained, with: []) { reply() }
        part.unannounced = []
        resumeIfServed()
        publish(isWhole: true)
    }

    // MARK: Refusals

    private static let suspension =
        "this node may not send now, because its lease ran out: it accepts nothing until the lease is renewed; repeat "
        + "the request"

    /// Says why a part accepts nothing.
    func refusal(of number: Int) -> String {
        switch parts[number]?.phase {
        case .suspended: Self.suspension
        case .closing: "part \(number) of the ledger moves to another node; repeat the request"
        case .loaded, .opening: "part \(number) of the ledger is being opened; repeat the request"
        case .serving, .gone, nil: "part \(number) of the ledger is not owned by this node; repeat the request"
        }
    }
}
