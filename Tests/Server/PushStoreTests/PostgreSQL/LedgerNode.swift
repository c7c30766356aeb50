import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import PushWire
import TestSupport

@testable import PushStore

/// A witness that records in order what concerns parts.
final class PartListener: LedgerWitness {
    enum Heard: Equatable {
        case opened(Int, waiting: [UInt64])
        case closed(Int)
        case accepted([UInt64])
        case committed(part: Int, first: UInt64)
        case suspended(Bool)
    }

    private struct Closing {
        var isHeld = false
        var done: [@Sendable () -> Void] = []
    }

    let heard = EventRecorder<Heard>()
    let orders = EventRecorder<CancelOrder>()
    private let closing = Locked(Closing())

    func accepted(_ messages: [AcceptedMessage]) { heard.record(.accepted(messages.map(\.seq))) }
    func cancelled(_ orders: [CancelOrder]) {
        for order in orders { self.orders.record(order) }
    }
    func healthChanged(_ fault: LedgerFault?) {}
    func suspended(_ isSuspended: Bool) { heard.record(.suspended(isSuspended)) }

    func committed(_ segments: [LogSegment]) {
        for segment in segments {
            heard.record(
                .committed(part: EventNumber.part(of: segment.first), first: EventNumber.within(segment.first)))
        }
    }

    func opened(_ part: PartitionID, _ backlog: LedgerBacklog) {
        heard.record(.opened(part.number, waiting: backlog.lanes.flatMap(\.seqs).sorted()))
    }

    func closed(_ part: PartitionID, done: @escaping @Sendable () -> Void) {
        heard.record(.closed(part.number))
        let isHeld = closing.withLock { closing in
            if closing.isHeld { closing.done.append(done) }
            return closing.isHeld
        }
        if !isHeld { done() }
    }

    /// Keeps the ends of closings from now on, as if deliveries were under way.
    func holdClosings() { closing.withLock { $0.isHeld = true } }

    func endClosings() {
        let done = closing.withLock { closing -> [@Sendable () -> Void] in
            let done = closing.done
            closing = Closing()
            return done
        }
        for end in done { end() }
    }

    var acceptedSeqs: [UInt64] {
        heard.events.flatMap { (heard) -> [UInt64] in if case .accepted(let seqs) = heard { seqs } else { [] } }
    }

    /// The messages that waited in a part when it was opened last.
    func waiting(in part: Int) -> [UInt64]? {
        for event in heard.events.reversed() {
            if case .opened(part, let waiting) = event { return waiting }
        }
        return nil
    }
}

/// A node of a cluster: a ledger that gets its parts from the test.
struct LedgerNode {
    let ledger: PostgreSQLLedger
    let listener = PartListener()
    let lost = EventRecorder<PartitionID>()

    init(
        _ options: PostgreSQLOptions, adjusting: (inout PostgreSQLLedger.Settings) -> Void = { _ in }
    ) async throws {
        var settings = SharedPostgreSQL.settings(options)
        settings.writers = 1
        settings.lost = { [lost] part, _ in lost.record(part) }
        adjusting(&settings)
        (ledger, _) = try await PostgreSQLLedger.open(settings)
        await ledger.start(listener)
    }

    func load(_ part: Int, epoch: PartitionEpoch) async -> LedgerFault? {
        await withCheckedContinuation { continuation in
            ledger.load(Self.id(part), epoch: epoch) { continuation.resume(returning: $0) }
        }
    }

    /// Loads and serves a part, and returns when it is open.
    func open(_ part: Int, epoch: PartitionEpoch) async throws {
        if let fault = await load(part, epoch: epoch) { throw fault }
        ledger.serve(Self.id(part), epoch: epoch)
        await ledger.settled()
    }

    func serve(_ part: Int, epoch: PartitionEpoch) { ledger.serve(Self.id(part), epoch: epoch) }
    func drop(_ part: Int, epoch: PartitionEpoch) { ledger.drop(Self.id(part), epoch: epoch) }

    func drain(_ part: Int, epoch: PartitionEpoch) async {
        await withCheckedContinuation { continuation in
            ledger.drain(Self.id(part), epoch: epoch) { continuation.resume() }
        }
    }

    static func id(_ part: Int) -> PartitionID { PartitionID(remainder: UInt32(part), of: PartitionID.maxCount) }

    func accept(_ requests: [PushRequest]) async -> [Acceptance] {
        await withCheckedContinuation { continuation in
            ledger.accept(requests) { continuation.resume(returning: $0) }
        }
    }

    func due(at time: Int64, limit: Int = 256) async throws -> DueMessages {
        try await withCheckedContinuation { continuation in
            ledger.due(at: UnixSeconds(time), limit: limit) { continuation.resume(returning: $0) }
        }.get()
    }

    func cancel(_ id: String) async -> Cancellation {
        await withCheckedContinuation { continuation in
            guard let id = MessageID(id) else { return continuation.resume(returning: .unknown) }
            ledger.cancel(CancelRequest(id, of: LedgerScene.shop, by: nil)) { continuation.resume(returning: $0) }
        }
    }

    func cancel(_ request: CancelRequest) async -> Cancellation {
        await withCheckedContinuation { continuation in
            ledger.cancel(request) { continuation.resume(returning: $0) }
        }
    }

    func load(_ seqs: [UInt64]) async throws -> [AcceptedMessage] {
        try await withCheckedContinuation { continuation in
            ledger.load(seqs) { continuation.resume(returning: $0) }
        }.get()
    }

    func claim(_ message: AcceptedMessage) async -> [ClaimVerdict] {
        let page = ClaimPage(seq: message.seq, fingerprint: message.fingerprint, devices: devices(of: message))
        return await withCheckedContinuation { continuation in
            ledger.claim([page]) { continuation.resume(returning: $0.first ?? []) }
        }
    }

    func devices(of message: AcceptedMessage) -> [DeviceID] {
        guard case .tokens(let tokens) = message.audience else { return [] }
        return tokens.map { ledger.identities.device(of: message.message.app, token: $0) }
    }

    /// Records the message as sent to its first `count` devices, and as completed if these are all.
    func carryOut(_ message: AcceptedMessage, devices count: Int = .max) {
        guard case .tokens(let tokens) = message.audience else { return }
        var counts = message.counts
        let chosen = tokens.prefix(count)
        counts.sent += UInt32(chosen.count)
        let records = chosen.map { token in
            DeliveryRecord(
                seq: message.seq, fingerprint: message.fingerprint, acceptedAt: message.acceptedAt,
                message: message.message, device: ledger.identities.device(of: message.message.app, token: token),
                deliveryID: DeliveryID.derived(app: message.message.app, message: message.message.id, token: token),
                attempt: 1, outcome: .sent(providerID: nil))
        }
        let completed = CompletedMessage(seq: message.seq, message: message.message, counts: counts)
        ledger.record(records, completed: chosen.count == tokens.count ? [completed] : [])
    }

    /// All events of a part, in order.
    func events(of part: Int) async throws -> [SeenEvent] {
        try await ledger.read(since: EventNumber.base(of: part), limit: .max).segments.flatMap { try $0.events() }
    }
}

extension PostgreSQLLedger {
    /// Returns when the calls before it are carried out, as far as they do not wait for the database.
    func settled() async { _ = await status() }
}

/// A connection of a test to one database of the shared server.
struct TestSessions {
    let loop: EventLoop
    let sessions: LoopBound<[PostgreSQLSession]>
    let call: StoreCall

    static func one(to database: String) async throws -> TestSessions {
        var options = try PostgreSQLURL.parse(try await SharedPostgreSQL.shared.server().url())
        options.database = database
        let loop = EventLoop(name: "test")
        var settings = SharedPostgreSQL.settings(options)
        settings.session.checkTimeout = .seconds(3600)
        let sessions = try await StoreSessions.open(1, on: loop, settings, within: .seconds(3600))
        let session = await sessions.with { LoopBound($0[0], on: loop) }
        return TestSessions(
            loop: loop, sessions: sessions,
            call: StoreCall(session, gate: LoopGate(loop), name: "test", limit: .seconds(3600)))
    }

    func count(_ sql: String) async throws -> Int64 { try await call.run(sql).row().value(0) }

    /// Gives a part to another owner. Returns the new epoch.
    func raise(_ part: Int) async throws -> PartitionEpoch {
        PartitionEpoch(
            try await count("UPDATE carillon.leases SET epoch = epoch + 1 WHERE part = \(part) RETURNING epoch"))
    }

    func close() async {
        await sessions.with { for session in $0 { session.stop() } }
        await loop.shutDown()
    }
}
