import PushLogic
import PushLoop
import PushModel
import PushTime
import PushWire

/// Groups that the disk has, and what that took.
package struct LedgerCommits: Sendable, Equatable {
    package private(set) var count: UInt64 = 0
    /// From begin to synced, of all of them and of the last.
    package private(set) var total: Duration = .zero
    package private(set) var last: Duration = .zero

    mutating func add(_ time: Duration) {
        count += 1
        total += time
        last = time
    }
}

/// The ledger's state and what is done with it. Confined to the ledger's thread.
final class LedgerCore {
    let connection: SQLiteConnection
    let statements: LedgerStatements
    let identities: Identities
    let clock: @Sendable () -> Int64
    private let steady: @Sendable () -> MonotonicTime
    private var ageClock: AgeClock
    /// What of it the disk has.
    var storedAge: AgeClock.Stored?
    var witness: (any LedgerWitness)?

    var writer: LogWriter
    /// Messages whose ids are remembered.
    var messages = RememberedMessages()
    /// Deliveries that somebody has claimed.
    let deliveries = FingerprintTable(hasValues: false)
    /// Of those, the ones of messages for one device that are remembered by their end, not by their message.
    let endedOnly = FingerprintTable(hasValues: false)
    /// New messages that were refused because as much is remembered as may be.
    var refusedByLimit: UInt64 = 0
    var retention: LedgerRetention {
        didSet { longWait = Self.longWait(in: retention) }
    }
    /// Milliseconds from which on a message has waited for long.
    private(set) var longWait: Int64
    var pending = PendingMessages()
    /// What had become of messages that were not done when the ledger was opened.
    var recovered: [UInt64: Recovered] = [:]
    var scheduledCount = 0
    /// How many messages of each app are not done. As of the group under way; `published` is as of the last one.
    var backlog = AppBacklogs()
    let published = Locked(AppBacklogs())
    /// Scheduled messages that the group under way removes, with the key of those that are older than the window.
    var unscheduled: [(seq: UInt64, key: AcceptedKey?)] = []
    /// Whether scheduled messages that were looked up for the group under way are for one device.
    var scheduledSeen: [UInt64: Bool] = [:]
    /// Scheduled messages up to here were handed out.
    var released: (due: Int64, seq: UInt64) = (.min, 0)
    /// Those that were accepted since, and are due before that.
    var overtaken = OvertakenMessages()
    var logBytes: Int64 = 0
    var oldest: UInt64 = 1
    /// What the disk has refused, in order; it goes first when the disk takes something again.
    var retained = LedgerGroup()
    var retainedCount = 0
    /// Claims that are answered when the disk takes something again.
    private var held: [([ClaimPage], @Sendable ([[ClaimVerdict]]) -> Void)] = []
    /// Messages that were found damaged, and reported.
    var unreadable: Set<UInt64> = []
    private(set) var fault: LedgerFault?
    /// It will be closed: who waits for a note is told at once that the disk has refused it.
    var isEnding = false
    /// The row of messages that was read last, and of keys.
    var messageRow: MessageRow?
    var keyRow: (number: UInt64, accepted: [UInt8])?
    var commits = LedgerCommits()
    /// Up to here events are in runs of traces; and the run that is being stored.
    var traced: UInt64 = 0
    var tracing: Tracing?
    /// Rows of keys up to here are gone, or pinned.
    var trimmedUpTo: UInt64 = 0
    var pinned = PinnedKeys()

    struct Recovered {
        var deliveries: Set<UInt64> = []
        var counts = OutcomeCounts()
    }

    init(
        _ connection: SQLiteConnection, _ statements: LedgerStatements, _ identities: Identities, _ writer: LogWriter,
        age: AgeClock.Stored?, settings: SQLiteLedger.Settings
    ) {
        self.connection = connection
        self.statements = statements
        self.identities = identities
        self.writer = writer
        retention = settings.retention
        longWait = Self.longWait(in: settings.retention)
        let (clock, steady) = (settings.clock, settings.steadyClock)
        self.clock = { clock().milliseconds }
        self.steady = steady
        storedAge = age
        ageClock = AgeClock(last: age, wall: clock().milliseconds, steady: steady())
    }

    /// A message has waited for long after an eighth of the window: what is sent until then is remembered for seven eighths
    /// of it after it was sent, what is sent later for all of it.
    private static func longWait(in retention: LedgerRetention) -> Int64 { retention.window.wholeMilliseconds / 8 }

    /// By what keys and events grow old, where the wall clock shows `now`.
    func age(at now: Int64) -> AgeClock.Stored {
        ageClock.advance(wall: now, steady: steady())
        return ageClock.stored
    }

    /// Outcomes that are retained before nothing more is handed out that would bring others: messages are not read back
    /// and devices not claimed until the disk takes what there is. What was handed out by then still comes in.
    static let retainedLimit = 65_536

    private var isOverfull: Bool { retainedCount > Self.retainedLimit }

    /// Does what was asked, in order. Whatever is to be written goes to the disk in one group. Whether there is more to
    /// trim.
    @discardableResult
    func process(_ work: ArraySlice<LedgerWork>) -> Bool {
        var group = LedgerGroup()
        var retention: LedgerRetention?
        for item in work {
            switch item {
            case .accept(let requests, let reply): group.requests.append((requests, reply))
            case .record(let deliveries, let completed): group.outcomes.append((deliveries, completed))
            case .note(let events, let done): group.notes.append((events, done))
            case .claim(let pages, let reply):
                if isOverfull || !held.isEmpty { held.append((pages, reply)) } else { reply(claim(pages)) }
            case .load(let seqs, let reply): reply(isOverfull ? .failure(refusal) : load(seqs))
            case .due(let time, let limit, let reply):
                reply(isOverfull ? .failure(refusal) : due(at: time, limit: limit))
            case .trim(let asked): retention = asked
            }
        }
        if !group.isEmpty || !retained.isEmpty || fault != nil { write(group) }
        if !held.isEmpty, !isOverfull {
            for (pages, reply) in exchange(&held, with: []) { reply(claim(pages)) }
        }
        return retention.map { trim($0) } ?? false
    }

    private var refusal: LedgerFault { fault ?? LedgerFault("\(connection.path) takes nothing more for now") }

    func healthIs(_ fault: LedgerFault?) {
        guard fault != self.fault else { return }
        self.fault = fault
        witness?.healthChanged(fault)
    }

    // MARK: Claims

    private func claim(_ pages: [ClaimPage]) -> [[ClaimVerdict]] {
        pages.map { page in
            let known = recovered.isEmpty ? nil : recovered[page.seq]
            let fingerprints = page.devices.map { identities.delivery(page.fingerprint, $0).value }
            // Where they belong lies anywhere in memory: looked at all at once, they are fetched together.
            deliveries.warm(fingerprints)
            return fingerprints.map { fingerprint in
                if let known, known.deliveries.contains(fingerprint) { return .done }
                return deliveries.insert(fingerprint) ? .new : .had
            }
        }
    }
}

/// What is to be written together.
struct LedgerGroup {
    var requests: [([PushRequest], @Sendable ([Acceptance]) -> Void)] = []
    var outcomes: [([DeliveryRecord], [CompletedMessage])] = []
    var notes: [([EventDraft], (@Sendable (UInt64?) -> Void)?)] = []

    /// Events that are kept while the disk refuses; more are let go, and whoever brought them is told.
    static let notesKept = 10_000

    var isEmpty: Bool { requests.isEmpty && outcomes.isEmpty && notes.isEmpty }
}
