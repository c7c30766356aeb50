import PushLogic
import PushLoop
import PushModel
import PushStore

/// The decisions of operators that a record follows; all 0 on a single node.
struct WebhookRevision: Sendable, Equatable {
    /// The moves of the position in this part.
    var moves: Int64 = 0
    /// The changes of the mark that all nodes share.
    var changes: Int64 = 0
}

/// Where the record of a webhook is kept.
protocol WebhookPlace: Sendable {
    /// Stores a record durably. Returns whether the standing in it is news; throws ``WebhookRecordTaken`` if it is no
    /// longer this process that decides about it.
    ///
    /// - Parameter revision: What the record was made from. A standing that an operator has changed since stays.
    func write(_ record: WebhookRecord, at revision: WebhookRevision) async throws -> Bool
}

/// Another node owns the part of a webhook, or an operator has moved its position: nothing was stored.
struct WebhookRecordTaken: Error {}

/// The file of a single node.
struct WebhookFilePlace: WebhookPlace {
    let file: WebhookFile
    let files: BlockingPool

    func write(_ record: WebhookRecord, at revision: WebhookRevision) async throws -> Bool {
        try await files.run { [file] in try file.write(record) }
        return true
    }
}

/// The record of one part in the database of a cluster. The standing is that of the whole webhook.
struct WebhookPartPlace: WebhookPlace {
    let name: String
    let part: OpenPart
    let ledger: PostgreSQLLedger

    func write(_ record: WebhookRecord, at revision: WebhookRevision) async throws -> Bool {
        guard try await ledger.storeWebhook(name, part: part, moves: revision.moves, record: try record.text) else {
            throw WebhookRecordTaken()
        }
        guard record.standing == .disabled else { return true }
        return try await ledger.setWebhook(
            name, to: WebhookRecord.Standing.disabled.rawValue, from: [WebhookRecord.Standing.active.rawValue],
            after: revision.changes) != nil
    }
}
