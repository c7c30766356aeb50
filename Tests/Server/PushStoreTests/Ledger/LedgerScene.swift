import Foundation
import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import PushWire
import Testing

@testable import PushStore

/// A witness that records all notifications of the ledger in order.
final class LedgerListener: LedgerWitness {
    private struct Heard: Sendable {
        var messages: [AcceptedMessage] = []
        var orders: [CancelOrder] = []
        var segments: [LogSegment] = []
        var health: [LedgerFault?] = []
    }

    private let heard = Locked(Heard())
    /// Called when the health has changed, before the call returns.
    let onHealth = Locked<(@Sendable (LedgerFault?) -> Void)?>(nil)

    func accepted(_ messages: [AcceptedMessage]) { heard.withLock { $0.messages += messages } }
    func cancelled(_ orders: [CancelOrder]) { heard.withLock { $0.orders += orders } }
    func committed(_ segments: [LogSegment]) { heard.withLock { $0.segments += segments } }
    func healthChanged(_ fault: LedgerFault?) {
        heard.withLock { $0.health.append(fault) }
        onHealth.withLock { $0 }?(fault)
    }

    var messages: [AcceptedMessage] { heard.withLock { $0.messages } }
    var orders: [CancelOrder] { heard.withLock { $0.orders } }
    var segments: [LogSegment] { heard.withLock { $0.segments } }
    var health: [LedgerFault?] { heard.withLock { $0.health } }
}

/// An event whose texts are decoded.
struct SeenEvent: Equatable {
    var seq: UInt64
    var prev: UInt64
    var time: Int64
    var topic: String
    var message: String?
    var device: DeviceID?
    var reason: String?
    var details: String?
}

extension LogSegment {
    func events() throws -> [SeenEvent] {
        var events: [SeenEvent] = []
        try walk { event, apps, bytes in
            func text(_ range: Range<Int>?) -> String? { range.map { String(decoding: bytes[$0], as: UTF8.self) } }
            events.append(
                SeenEvent(
                    seq: event.seq, prev: event.prev, time: event.time.milliseconds,
                    topic: event.kind.topic(of: event.app.map { apps[$0] }), message: text(event.messageID),
                    device: event.device, reason: text(event.reason), details: text(event.details)))
            return true
        }
        return events
    }
}

/// The engine of a ledger. The same tests run over all of them.
enum LedgerKind: String, CaseIterable, Sendable {
    case sqlite, postgresql
}

/// A ledger in its own folder or database, with a clock that only the test advances.
final class LedgerScene {
    let folder: String
    /// How to connect to the database of the ledger; nil if it is in a file.
    private let options: PostgreSQLOptions?
    let clock = Locked<Int64>(1_700_000_000_000)
    /// The elapsed time in milliseconds, which does not change when the clock is set.
    private let passed = Locked<Int64>(0)
    var retention = LedgerRetention()
    private let checkpointPages: Int
    private(set) var ledger: any LedgerEngine
    private(set) var backlog: LedgerBacklog
    private(set) var listener = LedgerListener()

    static let shop = AppID("shop")!
    static let payload = Array(#"{"aps":{"alert":"hello"}}"#.utf8)

    init(
        _ folder: String, on kind: LedgerKind = .sqlite, at time: Int64 = 1_700_000_000_000, checkpointPages: Int = 3072
    ) async throws {
        self.folder = folder
        self.checkpointPages = checkpointPages
        clock.withLock { $0 = time }
        switch kind {
        case .sqlite:
            options = nil
            var settings = Self.settings(folder, clock, passed, LedgerRetention(), checkpointPages)
            settings.eventsMissing = { [found] missing in found.withLock { $0.append(missing) } }
            (ledger, backlog) = try await SQLiteLedger.open(settings)
        case .postgresql:
            let options = try await SharedPostgreSQL.shared.store(parts: 1, at: WallTime(milliseconds: time))
            self.options = options
            (ledger, backlog) = try await PostgreSQLLedger.openTakingAll(
                Self.settings(options, clock, passed, LedgerRetention()))
        }
        await ledger.start(listener)
    }

    /// Opens all parts of a store.
    init(of store: PostgreSQLOptions, at time: Int64) async throws {
        (folder, checkpointPages) = ("", 0)
        clock.withLock { $0 = time }
        options = store
        (ledger, backlog) = try await PostgreSQLLedger.openTakingAll(
            Self.settings(store, clock, passed, LedgerRetention()))
        await ledger.start(listener)
    }

    /// The ledger, for tests of what only SQLite has.
    var sqlite: SQLiteLedger {
        guard let ledger = ledger as? SQLiteLedger else { preconditionFailure("the ledger is not in a file") }
        return ledger
    }

    private static func settings(
        _ options: PostgreSQLOptions, _ clock: Locked<Int64>, _ passed: Locked<Int64>, _ retention: LedgerRetention
    ) -> PostgreSQLLedger.Settings {
        var settings = SharedPostgreSQL.settings(options)
        settings.retention = retention
        settings.clock = { WallTime(milliseconds: clock.withLock { $0 }) }
        settings.steadyClock = { MonotonicTime(nanoseconds: passed.withLock { $0 } * 1_000_000) }
        return settings
    }

    /// The parts of the index that were reported as damaged since the last opening.
    private var damaged = Locked<[String]>([])
    var damagedParts: [String] { damaged.withLock { $0 } }
    /// Called with the numbers of dropped events.
    private let dropped = Locked<[UInt64]>([])
    var droppedEvents: [UInt64] { dropped.withLock { $0 } }

    /// What was missing at the last opening.
    private let found = Locked<[MissingEvents]>([])
    var missing: [MissingEvents] { found.withLock { $0 } }
    /// A number that other files are said to know.
    var reached: UInt64 = 0

    private static func settings(
        _ folder: String, _ clock: Locked<Int64>, _ passed: Locked<Int64>, _ retention: LedgerRetention, _ pages: Int
    ) -> SQLiteLedger.Settings {
        var settings = SQLiteLedger.Settings(directory: folder)
        settings.retention = retention
        settings.clock = { WallTime(milliseconds: clock.withLock { $0 }) }
        settings.steadyClock = { MonotonicTime(nanoseconds: passed.withLock { $0 } * 1_000_000) }
        settings.checkpointPages = pages
        return settings
    }

    /// The settings, for tests that open the core themselves.
    var settings: SQLiteLedger.Settings {
        var settings = Self.settings(folder, clock, passed, retention, checkpointPages)
        settings.indexDamaged = { [damaged] part in damaged.withLock { $0.append(part) } }
        settings.eventsDropped = { [dropped] count in dropped.withLock { $0.append(count) } }
        settings.eventsMissing = { [found] missing in found.withLock { $0.append(missing) } }
        settings.reached = reached
        return settings
    }

    func reopen() async throws {
        await ledger.close()
        try await reopenOnly()
    }

    /// Opens the ledger again after it was closed.
    func reopenOnly() async throws {
        damaged = Locked([])
        found.withLock { $0 = [] }
        if let options {
            (ledger, backlog) = try await PostgreSQLLedger.openTakingAll(
                Self.settings(options, clock, passed, retention))
        } else {
            (ledger, backlog) = try await SQLiteLedger.open(settings)
        }
        listener = LedgerListener()
        await ledger.start(listener)
    }

    var path: String { folder + "/ledger.db" }
    var identities: Identities { ledger.identities }
    /// Lets time pass.
    func advance(_ duration: Duration) {
        clock.withLock { $0 += duration.wholeMilliseconds }
        passed.withLock { $0 += duration.wholeMilliseconds }
    }
    /// Sets the clock without letting time pass.
    func setClock(by duration: Duration) { clock.withLock { $0 += duration.wholeMilliseconds } }
    var now: Int64 { clock.withLock { $0 } / 1000 }
    /// The time in milliseconds.
    var time: Int64 { clock.withLock { $0 } }

    // MARK: Calls

    /// Accepts requests. Returns when the listener has been notified, too.
    func accept(_ requests: [PushRequest]) async -> [Acceptance] {
        let replies = await withCheckedContinuation { continuation in
            ledger.accept(requests) { continuation.resume(returning: $0) }
        }
        await settled()
        return replies
    }

    func accept(_ request: PushRequest) async -> Acceptance { await accept([request])[0] }

    func claim(_ pages: [ClaimPage]) async -> [[ClaimVerdict]] {
        await withCheckedContinuation { continuation in
            ledger.claim(pages) { continuation.resume(returning: $0) }
        }
    }

    func claim(_ seq: UInt64, _ id: String, _ tokens: [Address]) async -> [ClaimVerdict] {
        let page = ClaimPage(seq: seq, fingerprint: fingerprint(id), devices: tokens.map { device($0) })
        return await claim([page])[0]
    }

    func load(_ seqs: [UInt64]) async throws -> [AcceptedMessage] {
        try await withCheckedContinuation { continuation in
            ledger.load(seqs) { continuation.resume(returning: $0) }
        }.get()
    }

    func due(at time: Int64, limit: Int = 100) async throws -> DueMessages {
        try await withCheckedContinuation { continuation in
            ledger.due(at: UnixSeconds(time), limit: limit) { continuation.resume(returning: $0) }
        }.get()
    }

    func note(_ events: [EventDraft]) async -> UInt64? {
        await withCheckedContinuation { continuation in
            ledger.note(events) { continuation.resume(returning: $0) }
        }
    }

    /// Returns when everything that was handed in is committed or has failed.
    @discardableResult
    func settled() async -> LedgerStatus {
        if options != nil { await ledger.flush() }
        return await ledger.status()
    }

    /// Removes all expired data.
    @discardableResult
    func trim() async -> LedgerStatus {
        ledger.keep(retention)
        ledger.trim()
        await ledger.flush()
        // Trimming advances by a step before each status call is answered.
        for _ in 0..<100 { _ = await ledger.status() }
        return await ledger.status()
    }

    // MARK: Records

    func fingerprint(_ id: String) -> MessageFingerprint { identities.message(of: Self.shop, id: MessageID(id)!) }
    func device(_ token: Address) -> DeviceID { identities.device(of: Self.shop, token: token) }

    func sent(_ message: AcceptedMessage, _ tokens: [Address]) -> [DeliveryRecord] {
        records(message, tokens, .sent(providerID: nil))
    }

    func records(
        _ message: AcceptedMessage, _ tokens: [Address], _ outcome: DeliveryOutcome
    ) -> [DeliveryRecord] {
        tokens.map { token in
            DeliveryRecord(
                seq: message.seq, fingerprint: message.fingerprint, acceptedAt: message.acceptedAt,
                message: message.message, device: device(token),
                deliveryID: DeliveryID.derived(app: message.message.app, message: message.message.id, token: token),
                attempt: 1, outcome: outcome)
        }
    }

    func completed(_ message: AcceptedMessage, sent: Int = 0) -> CompletedMessage {
        var counts = message.counts
        counts.sent += UInt32(sent)
        return CompletedMessage(seq: message.seq, message: message.message, counts: counts)
    }

    /// Records the message as sent to all its tokens.
    func carryOut(_ message: AcceptedMessage) {
        guard case .tokens(let tokens) = message.audience else { return }
        ledger.record(sent(message, tokens), completed: [completed(message, sent: tokens.count)])
    }
}

func token(_ number: Int) -> Address { Address(words: (UInt64(number), 1, 2, 3)) }

func push(
    _ id: String, to tokens: [Int] = [1], app: AppID = LedgerScene.shop, priority: PushPriority? = nil,
    expiresAt: Int64? = nil, notBefore: Int64? = nil, payload: [UInt8] = LedgerScene.payload
) -> PushRequest {
    push(
        id, to: .tokens(tokens.map { token($0) }), app: app, priority: priority, expiresAt: expiresAt,
        notBefore: notBefore, payload: payload)
}

func push(
    _ id: String, to audience: Audience, app: AppID = LedgerScene.shop, priority: PushPriority? = nil,
    expiresAt: Int64? = nil, notBefore: Int64? = nil, payload: [UInt8] = LedgerScene.payload, again: Bool = false,
    traceparent: String? = nil
) -> PushRequest {
    PushRequest(
        Message(
            id: MessageID(id)!, app: app, priority: priority, expiry: Expiry(expiresAt: expiresAt), payload: payload,
            notBefore: notBefore.map { UnixSeconds($0) }, traceparent: traceparent), to: audience, again: again)
}

extension Acceptance {
    /// The number of an accepted message, otherwise nil.
    var seq: UInt64? { if case .accepted(let seq) = self { seq } else { nil } }
}

func withLedger<Result>(
    on kind: LedgerKind = .sqlite, checkpointPages: Int = 3072, _ body: (LedgerScene) async throws -> Result
) async throws -> Result {
    try await withLedgerFolder { folder in
        let scene = try await LedgerScene(folder, on: kind, checkpointPages: checkpointPages)
        do {
            let result = try await body(scene)
            await scene.ledger.close()
            return result
        } catch {
            await scene.ledger.close()
            throw error
        }
    }
}

/// Calls `body` with the path of an empty folder, without a trailing slash.
func withLedgerFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.path() + "/ledger-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try await body(folder)
}
