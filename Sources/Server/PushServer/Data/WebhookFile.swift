import FoundationEssentials
import Glibc
import PushLogic
import PushLoop
import PushTransport

/// A small file in the data directory with the position of a webhook and the batch that is being delivered. All methods
/// block.
struct WebhookFile: Sendable {
    static let prefix = "webhook-"
    static let suffix = ".json"
    private static let mostBytes = 64 << 10

    let path: String

    init(of name: String, in directory: String) {
        path = "\(directory)/\(Self.prefix)\(name)\(Self.suffix)"
    }

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

    /// Returns the record; nil if there is no file.
    func read() throws -> WebhookRecord? {
        guard access(path, F_OK) == 0 else { return nil }
        let bytes = try BoundedFile.read(path, limit: Self.mostBytes)
        let content = try JSONDecoder().decode(Content.self, from: Data(bytes))
        guard content.v == 1 else { throw Fault(description: "it was written by a newer Carillon") }
        guard let standing = WebhookRecord.Standing(rawValue: content.standing) else {
            throw Fault(description: "it has a state that is not known")
        }
        var record = WebhookRecord(after: content.position)
        record.standing = standing
        if let batch = content.batch {
            guard let digest = Hex.decode(batch.digest), batch.after <= batch.through else {
                throw Fault(description: "it has a batch that cannot be read")
            }
            record.batch = WebhookBatch(id: batch.id, after: batch.after, through: batch.through, digest: digest)
        }
        return record
    }

    /// Replaces the file, and syncs its content to disk.
    func write(_ record: WebhookRecord) throws {
        let batch = record.batch.map {
            Content.Batch(id: $0.id, after: $0.after, through: $0.through, digest: Hex.encode($0.digest))
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let content = Content(position: record.position, standing: record.standing.rawValue, batch: batch)
        try WholeFile.write(Array(try encoder.encode(content)) + [0x0a], to: path, until: .content)
    }

    func remove() { unlink(path) }

    /// Removes the files of webhooks with other names: what is configured again later begins anew.
    static func removeOthers(than names: [String], in directory: String) {
        let kept = Set(names.map { prefix + $0 + suffix })
        let all = (try? BackupFile.names(in: directory)) ?? []
        for name in all where BackupFile.isWebhook(name) && !kept.contains(name) { unlink("\(directory)/\(name)") }
    }
}
