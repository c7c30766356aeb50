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
final class WebhookFilePlace: WebhookPlace {
    private let file: WebhookFile
    private let files: BlockingPool
    /// The number of the last record that was to be written, and of the last one that was.
    private let asked = Locked<UInt64>(0)
    private let written = Locked<UInt64>(0)

    init(file: WebhookFile, files: BlockingPool) {
        (self.file, self.files) = (file, files)
    }

    /// Two records may be written at the same time. The later one stays.
    func write(_ record: WebhookRecord, at revision: WebhookRevision) async throws -> Bool {
        let number = asked.withLock { asked in
            asked += 1
            return asked
        }
        try await files.run { [self] in
            try written.withLock { last in
                guard number > last else { return }
                try file.write(record)
                last = number
            }
        }
        return true
    }
}

/// The record of one part in the database of a cluster. The standing is that of the whole webhook.
final class WebhookPartPlace: WebhookPlace {
    let name: String
    let part: OpenPart
    private let ledger: PostgreSQLLedger
    /// The number of changes before an attempt to disable the webhook whose outcome is not known.
    private let doubt = Locked<Int64?>(nil)

    init(name: String, part: OpenPart, ledger: PostgreSQLLedger) {
        (self.name, self.part, self.ledger) = (name, part, ledger)
    }

    func write(_ record: WebhookRecord, at revision: WebhookRevision) async throws -> Bool {
        guard try await ledger.storeWebhook(name, part: part, moves: revision.moves, record: try record.text) else {
            throw WebhookRecordTaken()
        }
        guard record.standing == .disabled else {
            doubt.withLock { $0 = nil }
            return true
        }
        return try await disable(after: revision.changes)
    }

    /// Disables the webhook. Returns whether this place has done it, now or by an earlier attempt.
    private func disable(after changes: Int64) async throws -> Bool {
        let disabled = WebhookRecord.Standing.disabled.rawValue
        let isNews: Bool
        do {
            isNews =
                try await ledger.setWebhook(
                    name, to: disabled, from: [WebhookRecord.Standing.active.rawValue], after: changes) != nil
        } catch {
            doubt.withLock { $0 = $0 ?? changes }
            throw error
        }
        guard !isNews, let before = doubt.withLock({ $0 }) else {
            doubt.withLock { $0 = nil }
            return isNews
        }
        let mark = try await ledger.webhookMark(of: name)
        doubt.withLock { $0 = nil }
        return mark == SharedWebhook(changes: before + 1, standing: disabled)
    }
}
