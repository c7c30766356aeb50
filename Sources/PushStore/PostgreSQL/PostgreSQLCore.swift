import PushLogic
import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import PushWire

/// The ledger in PostgreSQL, on its loop: the parts that this node owns, and the lanes that write their groups.
final class PostgreSQLCore {
    let settings: PostgreSQLLedger.Settings
    let loop: EventLoop
    let identities: Identities
    let map: PartitionMap
    private let tables: StoreTables
    private let gate: LoopGate
    /// The state as of the last flush, for other threads.
    let published = Locked(PublishedLedger())
    var witness: (any LedgerWitness)?

    /// The parts that this node owns.
    private(set) var parts: [Int: LedgerPart] = [:]
    private let lanes: [LedgerLane]
    let reads: PostgreSQLSession
    /// The part whose turn it is to be first in a flush of a lane.
    private var turns: [Int]
    /// The places of requests in one call, by part. Kept for its memory.
    private var places: [[Int]]
    private var fault: LedgerFault?
    private var commits = LedgerCommits()
    /// The unfinished messages of all parts.
    private var backlogs = AppBacklogs()
    private var isClosed = false
    private var isEnding = false
    private var isProbing = false
    /// Since when rows that groups need cannot be read; nil if they can.
    var readsFailSince: MonotonicTime?
    /// The messages that were found to be damaged and reported.
    var unreadable: Set<UInt64> = []

    /// The maximum weight of a flush. Without it, callers would wait until a backlog of a minute is stored as a whole.
    private static let flushLimit = 8192

    init(
        _ settings: PostgreSQLLedger.Settings, on loop: EventLoop, identities: Identities, map: PartitionMap,
        writers: [PostgreSQLSession], reads: PostgreSQLSession, tables: StoreTables,
        gate: LoopGate
    ) {
        self.tables = tables
        self.gate = gate
        self.settings = settings
        self.loop = loop
        self.identities = identities
        self.map = map
        self.reads = reads
        lanes = writers.map { LedgerLane($0) }
        turns = Array(repeating: 0, count: writers.count)
        places = Array(repeating: [], count: map.count)
        for lane in lanes {
            lane.onEnd = { [unowned self, unowned lane] entries, outcome, time in
                ended(entries, outcome, after: time)
                flush(lane)
            }
            lane.onMissingPartition = { [unowned self, unowned lane] in addPartitions(for: lane) }
        }
    }

    /// Makes the partitions of tables that a flush needs, and stores it again.
    private func addPartitions(for lane: LedgerLane) {
        let (tables, time, gate) = (tables, settings.clock(), gate)
        let again = LoopBound(lane, on: loop)
        Task {
            // If it fails, the flush is refused once more, and this is tried again.
            try? await tables.addPartitions(at: time)
            _ = gate.execute { gate.loop.schedule(after: .milliseconds(10)) { again.wrapped.sessionIsUp() } }
        }
    }

    var storeName: String { "\(settings.options)" }

    var partCount: Int { map.count }

    // MARK: Parts

    /// Adds a part that was read.
    func add(_ part: LedgerPart) {
        parts[part.part] = part
        if let id = PartitionID(part.part) {
            let heads = LogHeads(part: id, newest: part.machine.writer.next - 1, topics: part.machine.writer.topics)
            published.withLock { $0.heads[part.part] = heads }
        }
        for (app, own) in part.machine.backlog.byApp {
            backlogs.add(app, waiting: own.waiting, scheduled: own.scheduled)
        }
    }

    private func remove(_ part: LedgerPart) {
        guard parts[part.part] === part else { return }
        parts[part.part] = nil
        published.withLock { $0.heads[part.part] = nil }
        for (app, own) in part.machine.backlog.byApp {
            backlogs.add(app, waiting: -own.waiting, scheduled: -own.scheduled)
        }
    }

    func part(of app: AppID, _ id: MessageID) -> Int { map.partition(of: app, id).number }

    /// Returns the part of a notification. Any id chooses one.
    private func part(of receipt: ReceivedReceipt) -> Int {
        MessageID(accepted: receipt.id).map { part(of: receipt.app, $0) } ?? 0
    }

    private func lane(of part: Int) -> LedgerLane { lanes[part % lanes.count] }

    /// The part that takes events which belong to no message. It is always the same, so that they keep their order.
    private var home: LedgerPart? { parts.min { $0.key < $1.key }?.value }

    private func fault(ofPart part: Int) -> String { "part \(part) of the ledger is not owned by this node" }

    // MARK: Calls

    /// Takes calls in their order, and begins to store what they write.
    func take(_ work: [LedgerWork]) {
        for item in work { take(item) }
        for lane in lanes { flush(lane) }
    }

    private func take(_ work: LedgerWork) {
        if isClosed { return work.refuse(LedgerFault("the ledger is closed")) }
        switch work {
        case .accept(let requests, let reply): accept(requests, reply: reply)
        case .record(let deliveries, let completed): record(deliveries, completed: completed)
        case .cancel(let request, let reply):
            let number = part(of: request.app, request.id)
            guard let part = parts[number] else { return reply(.failed(fault(ofPart: number))) }
            part.waiting.cancels.append((part.waiting.requests.count, request, reply))
        case .endCancels(let ends, let claims):
            for end in ends { parts[EventNumber.part(of: end.number)]?.waiting.outcomes.append(([], [], [end])) }
            for page in claims { release(page) }
        case .pause(let app, let time, let reply): pause(app, since: time, reply: reply)
        case .note(let events, let done): note(events, done: done)
        case .receipt(let receipt, let reply):
            let number = part(of: receipt)
            guard let part = parts[number] else { return reply(.failed(fault(ofPart: number))) }
            part.waiting.receipts.append((receipt, reply))
        case .claim(let pages, let reply): reply(pages.map { claim($0) })
        case .load(let seqs, let reply): load(seqs, reply: reply)
        case .due(let time, let limit, let reply): due(at: time, limit: limit, reply: reply)
        case .trim(let retention): trim(retention)
        }
    }

    private func accept(_ requests: [PushRequest], reply: @escaping @Sendable ([Acceptance]) -> Void) {
        if let fault {
            return reply(Array(repeating: .failed(fault.description), count: requests.count))
        }
        if requests.isEmpty { return reply([]) }
        var used: [Int] = []
        for (place, request) in requests.enumerated() {
            let part = part(of: request.message.app, request.message.id)
            if places[part].isEmpty { used.append(part) }
            places[part].append(place)
        }
        let split = LoopBound(SplitReply(count: requests.count, reply: reply), on: loop)
        for number in used {
            let own = places[number]
            places[number].removeAll(keepingCapacity: true)
            guard let part = parts[number] else {
                split.wrapped.take(Array(repeating: .failed(fault(ofPart: number)), count: own.count), at: own)
                continue
            }
            part.waiting.requests.append((own.map { requests[$0] }, { split.wrapped.take($0, at: own) }))
        }
    }

    private func record(_ deliveries: [DeliveryRecord], completed: [CompletedMessage]) {
        // Most calls have the records of a few messages of each part; runs of one part stay together.
        var index = deliveries.startIndex
        while index < deliveries.endIndex {
            let part = EventNumber.part(of: deliveries[index].seq)
            var end = index + 1
            while end < deliveries.endIndex, EventNumber.part(of: deliveries[end].seq) == part { end += 1 }
            parts[part]?.add(deliveries: deliveries[index..<end])
            index = end
        }
        for message in completed { parts[EventNumber.part(of: message.seq)]?.add(completed: message) }
    }

    private func note(_ events: [EventDraft], done: (@Sendable (UInt64?) -> Void)?) {
        // The events of a message belong to its part.
        if let app = events.first?.app, let id = events.first?.messageID, let part = parts[part(of: app, id)] {
            return part.waiting.notes.append((events, done))
        }
        guard let home else { return done?(nil) ?? () }
        home.waiting.notes.append((events, done))
    }

    private func release(_ page: ClaimPage) {
        guard let part = parts[EventNumber.part(of: page.seq)] else { return }
        part.machine.dedupe.release(page.devices.map { identities.delivery(of: page.fingerprint, to: $0).value })
    }

    private func claim(_ page: ClaimPage) -> [ClaimVerdict] {
        // A delivery of a part that was lost is not sent.
        guard let part = parts[EventNumber.part(of: page.seq)] else {
            return Array(repeating: .done, count: page.devices.count)
        }
        return part.machine.dedupe.claim(
            page.devices.map { identities.delivery(of: page.fingerprint, to: $0).value },
            lookupCount: page.lookupCount, for: page.seq)
    }

    private func pause(_ app: AppID, since time: WallTime?, reply: @escaping @Sendable (LedgerFault?) -> Void) {
        let section = PostgreSQLSection()
        if let time {
            section.call(StoreStatements.setPaused) { parameters in
                parameters.append(text: app.name)
                parameters.append(int8: time.milliseconds)
            }
        } else {
            section.call(StoreStatements.removePaused) { $0.append(text: app.name) }
        }
        reads.send(section, timeout: .seconds(30)) { result in
            switch result {
            case .done: reply(nil)
            case .refused(let failure): reply(LedgerFault("\(failure)"))
            case .unknown(let reason), .notSent(let reason): reply(LedgerFault(reason))
            }
        }
    }

    // MARK: Flushes

    /// Begins a flush of the parts of a lane that have calls.
    func flush(_ lane: LedgerLane) {
        guard let index = lanes.firstIndex(where: { $0 === lane }), lane.isIdle else { return }
        let now = settings.clock()
        var entries: [LedgerLane.Entry] = []
        var weight = 0
        // Each flush begins with another part, so that no part waits for the others when there is too much for one.
        var number = turns[index] / lanes.count * lanes.count + index
        if number >= partCount { number = index }
        turns[index] = number + lanes.count
        var seen = 0
        while seen < partCount, weight < Self.flushLimit {
            if let part = parts[number], examines(part) {
                trim(part)
            } else if let part = parts[number], !part.isBusy, !part.waiting.isEmpty, let group = ready(part) {
                weight += group.weight
                part.isBusy = true
                part.hasTrimmed = false
                entries.append(LedgerLane.Entry(part, group, part.decide(group, at: now)))
            }
            number += lanes.count
            if number >= partCount { number = index }
            seen += lanes.count
        }
        if !entries.isEmpty { lane.store(entries, now: now) }
    }

    /// Whether old keys of a part are to be examined now. Calls that wait have every other turn.
    private func examines(_ part: LedgerPart) -> Bool {
        part.isTrimDue && !part.isBusy && (part.waiting.isEmpty || !part.hasTrimmed)
    }

    func flushLane(of part: LedgerPart) { flush(lane(of: part.part)) }

    /// Returns the calls of a part for its next group; nil if rows must be read before.
    private func ready(_ part: LedgerPart) -> LedgerGroup? {
        let needs = PartNeeds(of: part.waiting, part.machine, part.lookup)
        if needs.isEmpty { return exchange(&part.waiting, with: LedgerGroup()) }
        part.isBusy = true
        read(needs, for: part) { [weak self] in
            part.isBusy = false
            guard let self else { return }
            flushLane(of: part)
        }
        return nil
    }

    private func ended(_ entries: [LedgerLane.Entry], _ outcome: LedgerLane.Outcome, after time: Duration) {
        for entry in entries { entry.part.isBusy = false }
        switch outcome {
        case .stored(let held):
            commits.add(time)
            settings.committed(time)
            if !hasStalledLane { healthIs(nil) }
            for entry in entries {
                guard held.contains(entry.part.part) else {
                    fenced(entry)
                    continue
                }
                entry.part.commit(entry.decided)
                for change in entry.decided.backlog.changes {
                    backlogs.add(change.app, waiting: change.waiting, scheduled: change.scheduled)
                }
            }
            publish()
            for entry in entries where held.contains(entry.part.part) {
                entry.group.announce(entry.decided, to: witness) { entry.part.machine.announce(entry.decided.cancels) }
            }
        case .refused(let reason):
            let fault = LedgerFault("cannot write to \(storeName): \(reason)")
            for entry in entries {
                entry.part.undo(entry.decided)
                entry.part.takeBack(entry.group, fault)
            }
            if isEnding { dropAwaitedNotes() }
            healthIs(fault)
            loop.schedule(after: .milliseconds(100)) { [weak self] in
                guard let self else { return }
                for lane in lanes { flush(lane) }
            }
        }
    }

    /// Another node owns the part: what this node knows about it is of no use any more.
    private func fenced(_ entry: LedgerLane.Entry) {
        let part = entry.part
        remove(part)
        let fault = LedgerFault(fault(ofPart: part.part))
        entry.group.refuse(fault)
        exchange(&part.waiting, with: LedgerGroup()).refuse(fault)
        settings.lost(part.part)
    }

    // MARK: Health

    /// The time after which a flush that is not answered counts as a fault: requests are then refused at once.
    static let patience: Duration = .seconds(1)

    /// Reports a flush that waits for long, and begins what nothing else has begun. Called several times a second.
    func watch() {
        for lane in lanes { flush(lane) }
        publish(isWhole: true)
        if fault != nil, lanes.allSatisfy(\.isIdle) { probe() }
        guard hasStalledLane, fault == nil else { return }
        let isUp = lanes.allSatisfy(\.isUp)
        let fault = LedgerFault(
            isUp
                ? "\(storeName) does not commit; is its synchronous standby running?"
                : "\(storeName) cannot be reached; retrying")
        healthIs(fault)
        for part in parts.values { part.refuseCalls(fault) }
        if isEnding { dropAwaitedNotes() }
    }

    /// Ends a fault if the database commits. While there is a fault, no request is stored that could show it.
    private func probe() {
        if exchange(&isProbing, with: true) { return }
        let section = PostgreSQLSection()
        section.call(StoreStatements.probe)
        reads.send(section, timeout: .seconds(30)) { [weak self] reply in
            guard let self else { return }
            isProbing = false
            if case .done = reply, !hasStalledLane { healthIs(nil) }
        }
    }

    private var hasStalledLane: Bool {
        let now = loop.now
        return lanes.contains { $0.waitingSince.map { now - $0 > Self.patience } ?? false }
    }

    private func healthIs(_ fault: LedgerFault?) {
        guard fault != self.fault else { return }
        self.fault = fault
        publish()
        witness?.healthChanged(fault)
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
        let busySince = lanes.compactMap(\.waitingSince).min()
        published.withLock {
            $0.busySince = busySince
            if let status { $0.status = status }
            $0.status.fault = fault
            $0.backlogs = backlogs
        }
    }

    /// Returns the state, with the counts of all parts.
    func status() -> LedgerStatus {
        var status = LedgerStatus()
        for part in parts.values {
            status.newest = max(status.newest, part.machine.writer.next - 1)
            status.waiting += part.machine.dedupe.pending.count
            status.scheduled += part.machine.scheduledCount
            status.messageKeys += part.machine.dedupe.messages.idCount
            status.deliveryKeys += part.machine.dedupe.deliveryCount
            status.keyBytes += part.machine.dedupe.byteCount
            status.remembered += part.machine.dedupe.rememberedCount
            status.refusedByLimit += part.machine.dedupe.refusedCount
        }
        status.apps = backlogs.byApp
        status.commits = commits
        status.fault = fault
        return status
    }

    // MARK: The end

    /// Answers callers of `note` that wait for a store which fails, from now on.
    func beginEnd() {
        isEnding = true
        if fault != nil { dropAwaitedNotes() }
    }

    private func dropAwaitedNotes() {
        for part in parts.values {
            part.waiting.notes.removeAll { _, done in
                done?(nil)
                return done != nil
            }
        }
    }

    /// Whether all that was handed in is stored.
    var isSettled: Bool {
        lanes.allSatisfy(\.isIdle) && parts.values.allSatisfy { !$0.isBusy && !$0.isTrimDue && $0.waiting.isEmpty }
    }

    func close() {
        isClosed = true
        let fault = LedgerFault("the ledger is closed")
        for part in parts.values {
            exchange(&part.waiting, with: LedgerGroup()).refuse(fault)
            part.machine.refuseCancels()
        }
        parts = [:]
        witness = nil
    }
}
