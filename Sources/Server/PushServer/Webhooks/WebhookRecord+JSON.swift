import FoundationEssentials
import PushLogic
import PushTransport

/// The record of a webhook in the form in which it is kept.
extension WebhookRecord {
    private struct Content: Codable {
        struct Batch: Codable {
            let id: String
            let after: UInt64
            let through: UInt64
            let digest: String
        }

        var v = 1
        let position: UInt64
        let standing: String
        let batch: Batch?
    }

    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    init(json bytes: [UInt8]) throws {
        let content = try JSONDecoder().decode(Content.self, from: Data(bytes))
        guard content.v == 1 else { throw Fault(description: "it was written by a newer Carillon") }
        guard let standing = Standing(rawValue: content.standing) else {
            throw Fault(description: "it has a state that is not known")
        }
        self.init(after: content.position)
        self.standing = standing
        guard let batch = content.batch else { return }
        guard let digest = Hex.decode(batch.digest), batch.after <= batch.through else {
            throw Fault(description: "it has a batch that cannot be read")
        }
        self.batch = WebhookBatch(id: batch.id, after: batch.after, through: batch.through, digest: digest)
    }

    /// Reads the form of ``text``.
    init(text: String) throws { try self.init(json: Array(text.utf8)) }

    /// The record as a column of the database has it.
    var text: String { get throws { String(decoding: try json(), as: UTF8.self) } }

    func json() throws -> [UInt8] {
        let batch = batch.map {
            Content.Batch(id: $0.id, after: $0.after, through: $0.through, digest: Hex.encode($0.digest))
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Array(try encoder.encode(Content(position: position, standing: standing.rawValue, batch: batch)))
    }
}
