import PushLogic
import PushLoop
import PushModel
import PushStore

/// Where the record of a webhook is kept.
protocol WebhookPlace: Sendable {
    /// Stores a record durably. Returns whether the standing in it is news; throws ``WebhookRecordTaken`` if it is no
    /// longer this process that decides about it.
    ///
    /// - Parameter moves: The moves of the position by operators that this record follows.
    func write(_ record: WebhookRecord, moves: Int64) async throws -> Bool
}

/// Another node owns the part of a webhook, or an operator has moved its position: nothing was stored.
struct WebhookRecordTaken: Error {}

/// The file of a single node.
struct WebhookFilePlace: WebhookPlace {
    let file: WebhookFile
    let files: BlockingPool

    func write(_ record: WebhookRecord, moves: Int64) async throws -> Bool {
        try await files.run { [file] in try file.write(record) }
        return true
    }
}

/// The record of one part in the database of a cluster. The standing is that of the whole webhook.
final class WebhookPartPlace: WebhookPlace {
    let part: OpenPart
    private let name: String
    private let ledger: PostgreSQLLedger
    /// The changes of the mark that the webhook knows.
    private let known: Locked<Int64>

    init(of name: String, in part: OpenPart, changes: Int64, ledger: PostgreSQLLedger) {
        (self.name, self.part, self.ledger) = (name, part, ledger)
        known = Locked(changes)
    }

    var changes: Int64 { known.withLock { $0 } }

    func changed(_ changes: Int64) { known.withLock { $0 = max($0, changes) } }

    func write(_ record: WebhookRecord, moves: Int64) async throws -> Bool {
        guard try await ledger.storeWebhook(name, part: part, moves: moves, record: try record.text) else {
            throw WebhookRecordTaken()
        }
        guard record.standing == .disabled else { return true }
        // A resumption that came after the answer 410 counts.
        let changed = try await ledger.setWebhook(
            name, to: WebhookRecord.Standing.disabled.rawValue, from: [WebhookRecord.Standing.active.rawValue],
            after: changes)
        guard let changed else { return false }
        self.changed(changed.mark.changes)
        return true
    }
}
