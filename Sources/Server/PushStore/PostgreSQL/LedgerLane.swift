import PushLogic
import PushLoop
import PushModel
import PushPostgreSQL
import PushTime

/// Writes the groups of some parts, one flush at a time: one statement and one commit for all parts that have calls.
/// Confined to the ledger's loop.
///
/// A flush whose outcome is not known is stored once more, and decided upon by that: its rows have the same numbers and
/// the same epochs, so that rows which exist are left as they are, and a part that was lost in the meantime is fenced.
final class LedgerLane {
    /// One part's share of a flush.
    final class Entry {
        let part: LedgerPart
        let group: LedgerGroup
        let decided: DecidedGroup
        /// The places of its accepted messages among those of the flush.
        let accepted: Range<Int>

        init(
            _ part: LedgerPart, _ group: LedgerGroup, _ decided: consuming DecidedGroup, accepted: Range<Int>
        ) {
            self.part = part
            self.group = group
            self.decided = decided
            self.accepted = accepted
        }
    }

    /// The shares of all parts in a flush, in the order of the parts.
    struct Flush {
        var entries: [Entry] = []
        /// The accepted messages of all parts.
        var accepted: [AcceptedMessage] = []

        /// Returns the accepted messages of some entries, in the order of their numbers within each part.
        func accepted(of isWanted: (Entry) -> Bool) -> [AcceptedMessage] {
            if entries.allSatisfy(isWanted) { return accepted }
            return entries.filter(isWanted).flatMap { accepted[$0.accepted] }
        }
    }

    enum Outcome {
        /// The entries of the given parts are stored. The others were fenced: another node owns these parts.
        case stored(held: Set<Int>)
        /// Nothing is stored.
        case refused(String)
    }

    private let session: PostgreSQLSession
    private let section = PostgreSQLSection()
    private var flush = Flush()
    private var isSending = false
    /// Whether an earlier attempt may have stored the flush. A refusal of a later one then decides nothing.
    private var isDoubtful = false
    /// Why the last attempt to store the current flush was refused; nil if it was not, or if there is no flush.
    private(set) var refusal: String?
    private var startedAt = MonotonicTime(nanoseconds: 0)
    /// Doubles with each attempt whose outcome is not known: each may leave a process of the server behind, which waits
    /// for the standby.
    private var timeout = firstTimeout
    private static let firstTimeout: Duration = .seconds(30)
    private static let longestTimeout: Duration = .seconds(600)

    /// The part whose turn it is to be first in a flush.
    var turn = 0

    /// Called with a flush and its outcome.
    var onEnd: ((Flush, Outcome, Duration) -> Void)?

    /// Called when the tables have no partition for the time of the flush. ``partitionsAdded(fault:)`` follows.
    var onMissingPartition: (() -> Void)?

    init(_ session: PostgreSQLSession) {
        self.session = session
    }

    var isIdle: Bool { flush.entries.isEmpty }
    var isUp: Bool { session.isUp }
    /// Why the session is down; nil while it is up.
    var sessionFault: String? { session.fault }
    /// Since when the current flush waits; nil if there is none.
    var waitingSince: MonotonicTime? { flush.entries.isEmpty ? nil : startedAt }

    /// Whether the current flush has a group of a part with this epoch.
    func stores(_ part: Int, epoch: Int64) -> Bool {
        flush.entries.contains { $0.part.part == part && $0.part.epoch == epoch }
    }

    /// Stores a flush. The lane must be idle.
    func store(_ flush: consuming Flush, now: WallTime) {
        self.flush = flush
        section.clear()
        section.add(self.flush.entries, now: now)
        startedAt = session.loop.now
        timeout = Self.firstTimeout
        isDoubtful = false
        send()
    }

    /// Stores a flush again for which the tables had no partition.
    ///
    /// - Parameter fault: Why the partitions cannot be made; nil if they were made.
    func partitionsAdded(fault: String?) {
        if let fault { refusal = fault }
        sendLater(after: fault == nil ? Self.pause : Self.faultPause)
    }

    /// Stores a flush again whose outcome is not known. Called when the session is up again.
    func sessionIsUp() {
        if !flush.entries.isEmpty, !isSending { send() }
    }

    private func send() {
        isSending = true
        session.send(section, timeout: timeout) { [weak self] reply in self?.replied(reply) }
    }

    private func replied(_ reply: PostgreSQLReply) {
        isSending = false
        switch reply {
        case .done(let results): stored(results)
        case .refused(let failure) where failure.sqlState == .checkViolation:
            guard let onMissingPartition else { return end(.refused("\(failure)")) }
            refusal = "\(failure)"
            onMissingPartition()
        case .refused(let failure):
            if isDoubtful || failure.sqlState.mayPass {
                refusal = "\(failure)"
                sendLater()
            } else {
                end(.refused("\(failure)"))
            }
        case .unknown:
            isDoubtful = true
            refusal = nil
            timeout = min(timeout * 2, Self.longestTimeout)
            sendLater()
        case .notSent(let reason):
            if session.isUp { refusal = reason }
            sendLater()
        }
    }

    private static let pause: Duration = .milliseconds(100)
    private static let faultPause: Duration = .seconds(1)

    /// Sends the flush again after a pause, or when the session is up again.
    private func sendLater(after pause: Duration = pause) {
        if session.isUp { session.loop.schedule(after: pause) { [weak self] in self?.sessionIsUp() } }
    }

    private func stored(_ results: [PostgreSQLResult]) {
        do throws(PostgreSQLValueError) {
            var held: Set<Int> = []
            guard let result = results.first else { return end(.refused("the server sent no result")) }
            for row in result.rows { held.insert(Int(try row.value(0, as: Int32.self))) }
            end(.stored(held: held))
        } catch {
            end(.refused(error.message))
        }
    }

    private func end(_ outcome: Outcome) {
        let flush = exchange(&flush, with: Flush())
        refusal = nil
        onEnd?(flush, outcome, session.loop.now - startedAt)
    }
}

extension SQLState {
    /// Whether the same section may succeed if it is sent again: another transaction was in the way, or the server is
    /// about to stop, starts, or has no connection left.
    fileprivate var mayPass: Bool {
        let code = "\(self)"
        return code == "40001" || code == "40P01" || code.hasPrefix("57P") || code.hasPrefix("53") || code == "25006"
    }
}
