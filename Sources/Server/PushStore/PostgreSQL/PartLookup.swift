import PushLogic
import PushModel
import PushTime

/// A row that a decision needs is not in memory.
struct MissingRow: Error {}

/// The stored rows of one part that are in memory. No lookup waits for the database: a decision that needs another
/// row fails, and is made again when the engine has read what its group needs (``PartNeeds``). Most groups need nothing.
final class PartLookup: LedgerLookup {
    typealias Failure = MissingRow

    /// The scheduled messages that are not done.
    var due = DueIndex()
    /// The keys that were read, by the numbers of their messages.
    private var keys: [UInt64: AcceptedKey?] = [:]
    private var messages: [UInt64: StoredMessage?] = [:]
    private var cancellations: [UInt64: StoredCancellation?] = [:]
    private var receipts: [ReceiptID: Bool] = [:]
    /// The number up to which rows of keys were examined and forgotten, apart from pinned ones.
    var forgottenUpTo: UInt64 = 0
    /// The rows before that number that are kept, by their first numbers.
    private var kept: [UInt64: ClosedRange<UInt64>] = [:]

    struct ReceiptID: Hashable {
        let app: AppID
        let id: String
    }

    /// The number of keys that are kept for later groups. Producers that repeat requests ask for the same keys.
    private static let keyLimit = 4096

    /// Whether a row that is not in memory counts as one that does not exist.
    var isComplete = false

    func storedKey(of seq: UInt64) throws(MissingRow) -> AcceptedKey? { try known(keys[seq]) }
    func scheduledKey(of seq: UInt64) -> AcceptedKey? { due.key(of: seq) }
    func message(_ seq: UInt64, isScheduled: Bool) throws(MissingRow) -> StoredMessage? { try known(messages[seq]) }
    func cancellation(_ number: UInt64) throws(MissingRow) -> StoredCancellation? { try known(cancellations[number]) }

    func hasReceipt(_ id: String, of app: AppID) throws(MissingRow) -> Bool {
        try known(receipts[ReceiptID(app: app, id: id)].map { .some($0) }) ?? false
    }

    private func known<Row>(_ row: Row??) throws(MissingRow) -> Row? {
        if let row { return row }
        if isComplete { return nil }
        throw MissingRow()
    }

    func hasStoredKey(of seq: UInt64) -> Bool {
        seq > forgottenUpTo || kept.values.contains { $0.contains(seq) }
    }

    /// Records that a row of keys was examined.
    func examined(_ row: KeyRow, isKept: Bool) {
        let last = row.number &+ UInt64(max(1, row.accepted.count)) - 1
        forgottenUpTo = max(forgottenUpTo, last)
        kept[row.number] = isKept && !row.accepted.isEmpty ? row.number...max(row.number, last) : nil
    }

    /// The first numbers of the examined rows that are kept.
    var keptRows: some Collection<UInt64> { kept.keys }

    // MARK: What the engine has read

    func isKnown(key seq: UInt64) -> Bool { keys[seq] != nil }
    func isKnown(message seq: UInt64) -> Bool { messages[seq] != nil }
    func isKnown(cancellation number: UInt64) -> Bool { cancellations[number] != nil }
    func isKnown(_ receipt: ReceiptID) -> Bool { receipts[receipt] != nil }

    /// Whether the rows that a group needs are in memory, or known to be missing.
    func has(_ needs: PartNeeds, messages: [UInt64]) -> Bool {
        needs.keys.allSatisfy(isKnown(key:)) && messages.allSatisfy(isKnown(message:))
            && needs.cancellations.allSatisfy(isKnown(cancellation:))
    }

    /// Forgets the keys of earlier groups if there are many. A group may need more than the limit.
    func makeRoom() {
        if keys.count >= Self.keyLimit { keys.removeAll() }
    }

    /// Adds the accepted keys of a row.
    func add(_ row: KeyRow, wanted: Set<UInt64>) {
        for (index, key) in row.accepted.enumerated() {
            let seq = row.number &+ UInt64(index)
            if wanted.contains(seq) { keys[seq] = key }
        }
    }

    func add(_ message: StoredMessage, seq: UInt64) { messages[seq] = message }

    /// Adds the fact that the database does not have the key of a message.
    func addMissing(key seq: UInt64) { keys[seq] = .some(nil) }

    /// Adds the fact that the database does not have a message, or that it is damaged.
    func addMissing(message seq: UInt64) { messages[seq] = .some(nil) }

    func add(_ cancellation: StoredCancellation?, number: UInt64) { cancellations[number] = .some(cancellation) }
    func add(_ receipt: ReceiptID, isKnown: Bool) { receipts[receipt] = isKnown }

    /// Forgets what may change with the group that was decided upon.
    func endGroup() {
        if !messages.isEmpty { messages.removeAll() }
        if !cancellations.isEmpty { cancellations.removeAll() }
        if !receipts.isEmpty { receipts.removeAll() }
    }
}
