import PushLogic
import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import PushWire

/// The ledger in PostgreSQL, on its loop: the parts that this node owns, and the lanes that write their groups.
final class PostgreSQLCore {
    let settings: PostgreSQLLedger.Settings
    let identities: Identities
    let tables: StoreTables
    let gate: LoopGate
    /// The state as of the last flush, for other threads.
    let published = Locked(PublishedLedger())
    var witness: (any LedgerWitness)?

    /// The parts that this node has read and owns.
    var parts: [Int: LedgerPart] = [:]
    /// The parts that are being read.
    var loading: [Int: Loading] = [:]
    /// The parts that the witness was ordered to forget and has not forgotten, with the number of orders.
    var unforgotten: [Int: Int] = [:]
    /// Whether the witness may not send.
    var isSuspended = false
    var shared = Shared(apps: SharedApps())
    let lanes: [LedgerLane]
    let reads: PostgreSQLSession
    private var splitter: RequestSplitter
    var fault: LedgerFault?
    var health = Health()
    /// The unfinished messages of all parts.
    var backlogs = AppBacklogs()
    /// For how long data is kept, as of the last call of ``trim(_:)``.
    var retention: LedgerRetention
    /// The events that wait until the node owns a part.
    var homeless: [EventDraft] = []
    /// The events that were dropped because they could not be stored for too long.
    var drops: EventDrops
    /// The clock by which keys and events age. See ``age()``.
    var ageClock: AgeClock
    var upkeep = Upkeep()
    var isClosed = false
    var isEnding = false
    /// The messages that were found to be damaged and reported.
    var unreadable: Set<UInt64> = []

    init(
        _ settings: PostgreSQLLedger.Settings, identities: Identities, map: PartitionMap,
        writers: [PostgreSQLSession], reads: PostgreSQLSession, tables: StoreTables, age: AgeClock.Stored?,
        gate: LoopGate
    ) {
        self.tables = tables
        self.gate = gate
        self.settings = settings
        self.identities = identities
        self.reads = reads
        retention = settings.retention
        ageClock = AgeClock(last: age, wall: settings.clock(), steady: settings.steadyClock())
        drops = EventDrops(report: settings.eventsDropped)
        lanes = writers.map { LedgerLane($0) }
        splitter = RequestSplitter(map)
        for lane in lanes {
            lane.onEnd = { [unowned self, unowned lane] ended, outcome, time in
                self.ended(ended, outcome, after: time)
                flush(lane)
            }
            lane.onMissingPartition = { [unowned self, unowned lane] in addPartitions(for: lane) }
        }
    }

    /// Makes the partitions of tables that a flush needs, and stores it again.
    private func addPartitions(for lane: LedgerLane) {
        let (tables, time, gate) = (tables, partitionTime, gate)
        let again = LoopBound(lane, on: loop)
        Task {
            var fault: String?
            do {
                try await tables.addPartitions(at: time)
            } catch {
                fault = "cannot add the partitions of its tables: \(error)"
            }
            _ = gate.execute { [fault] in again.wrapped.partitionsAdded(fault: fault) }
        }
    }

    var loop: EventLoop { gate.loop }

    var storeName: String { "\(settings.options)" }

    var partCount: Int { splitter.map.count }

    // MARK: Parts

    func part(of app: AppID, _ id: MessageID) -> Int { splitter.map.partition(of: app, id).number }

    /// Returns the part of a notification. Any id chooses one.
    private func part(of receipt: ReceivedReceipt) -> Int {
        MessageID(accepted: receipt.id).map { part(of: receipt.app, $0) } ?? 0
    }

    func lane(of part: Int) -> LedgerLane { lanes[part % lanes.count] }

    /// Returns a part that accepts requests; nil if this node does not carry it out.
    private func served(_ number: Int) -> LedgerPart? {
        parts[number].flatMap { $0.phase == .serving ? $0 : nil }
    }

    /// The part that takes events which belong to no message. It stays the same while the node owns it, so that they
    /// keep their order.
    var home: LedgerPart? { parts.values.lazy.filter(\.isOpen).min { $0.part < $1.part } }

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
        case .cancel(let requests, let reply): cancel(requests, reply: reply)
        case .endCancels(let ends, let claims):
            for end in ends { parts[EventNumber.part(of: end.number)]?.waiting.outcomes.append(([], [], [end])) }
            for page in claims { release(page) }
        case .pause(let app, let time, let reply): pause(app, since: time, reply: reply)
        case .note(let events, let done): note(events, done: done)
        case .receipt(let receipt, let reply):
            let number = part(of: receipt)
            guard let part = served(number) else { return reply(.failed(refusal(of: number))) }
            part.waiting.receipts.append((receipt, reply))
        case .claim(let pages, let reply): reply(pages.map { claim($0) })
        case .load(let seqs, let reply): load(seqs, reply: reply)
        case .due(let time, let limit, let reply): due(at: time, limit: limit, reply: reply)
        case .trim(let retention): trim(retention)
        case .erase(_, _, let reply):
            reply(
                .failure(LedgerFault("messages that are stored in PostgreSQL forget a user without the ledger's loop")))
        }
    }

    /// Takes requests to cancel, which all concern the same parts.
    private func cancel(_ requests: [CancelRequest], reply: @escaping @Sendable ([Cancellation]) -> Void) {
        guard let first = requests.first else { return reply([]) }
        guard let parts = first.parts else { return cancel(requests, in: part(of: first.app, first.id), reply: reply) }
        let joined = Locked(JoinedCancellations(requests.map { _ in .unknown }, calls: parts.count))
        for part in parts {
            cancel(requests, in: part) { answers in
                if let all = joined.withLock({ $0.take(answers) }) { reply(all) }
            }
        }
    }

    private func cancel(
        _ requests: [CancelRequest], in number: Int, reply: @escaping @Sendable ([Cancellation]) -> Void
    ) {
        guard let part = served(number) else { return reply(requests.map { _ in .failed(refusal(of: number)) }) }
        if hasNone(of: requests, part) { return reply(requests.map { _ in .unknown }) }
        part.waiting.cancels.append((part.waiting.requests.count, requests, reply))
    }

    /// Whether a part that is asked besides the part of the id has no message with it. Most parts have never had one, and
    /// answer from memory, which is current while this node has the right to send.
    private func hasNone(of requests: [CancelRequest], _ part: LedgerPart) -> Bool {
        guard requests.allSatisfy({ $0.parts != nil && !part.remembers($0) && !part.waiting.contains($0.id) }) else {
            return false
        }
        return settings.permit.isValid
    }

    private func accept(_ requests: [PushRequest], reply: @escaping @Sendable ([Acceptance]) -> Void) {
        if let fault {
            return reply(Array(repeating: .failed(fault.description), count: requests.count))
        }
        if requests.isEmpty { return reply([]) }
        let split = SplitReply(count: requests.count, reply: reply)
        for (number, places) in splitter.split(requests) {
            let batch = RequestBatch(requests, at: places, reply: split)
            if let part = served(number) {
                part.waiting.requests.append(batch)
            } else {
                batch.answer(.failed(refusal(of: number)))
            }
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

    private func release(_ page: ClaimPage) {
        guard let part = parts[EventNumber.part(of: page.seq)] else { return }
        part.machine.dedupe.release(page.devices.map { identities.delivery(of: page.fingerprint, to: $0).value })
    }

    private func claim(_ page: ClaimPage) -> [ClaimVerdict] {
        // Without verdicts the router sends nothing, and asks again unless it has forgotten the message.
        guard !isSuspended, let part = served(EventNumber.part(of: page.seq)) else { return [] }
        return part.machine.dedupe.claim(
            page.devices.map { identities.delivery(of: page.fingerprint, to: $0).value },
            lookupCount: page.lookupCount, for: page.seq)
    }
}
