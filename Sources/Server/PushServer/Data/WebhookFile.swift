import Glibc
import PushLogic
import PushLoop
package import PushStore
import PushTransport

/// A small file in the data directory with the position of a webhook and the batch that is being delivered. All methods
/// block.
struct WebhookFile: Sendable {
    static let prefix = "webhook-"
    static let suffix = ".json"
    private static let maxBytes = 64 << 10

    let path: String

    init(of name: String, in directory: String) {
        path = "\(directory)/\(Self.prefix)\(name)\(Self.suffix)"
    }

    /// Returns the record; nil if there is no file.
    func read() throws -> WebhookRecord? {
        guard access(path, F_OK) == 0 else { return nil }
        return try WebhookRecord(json: BoundedFile.read(path, limit: Self.maxBytes))
    }

    /// Replaces the file, and syncs its content to disk.
    func write(_ record: WebhookRecord) throws {
        try WholeFile.write(try record.json() + [0x0a], to: path, until: .content)
    }

    /// Removes the files of webhooks with other names: what is configured again later begins anew.
    static func removeOthers(than names: [String], in directory: String) {
        let kept = Set(names.map { prefix + $0 + suffix })
        let all = (try? BackupFile.names(in: directory)) ?? []
        for name in all where BackupFile.isWebhook(name) && !kept.contains(name) { unlink("\(directory)/\(name)") }
    }
}

extension ImportedWebhook {
    /// The webhooks of a directory on which no Carillon runs. It blocks.
    package static func all(in directory: String) throws -> [ImportedWebhook] {
        try BackupFile.names(in: directory).filter { BackupFile.isWebhook($0) }.sorted().compactMap { file in
            let name = String(file.dropFirst(WebhookFile.prefix.count).dropLast(WebhookFile.suffix.count))
            do {
                guard let record = try WebhookFile(of: name, in: directory).read() else { return nil }
                return ImportedWebhook(name, position: record.position, standing: record.standing.rawValue) {
                    position in
                    try WebhookRecord(after: position).text
                }
            } catch {
                throw StoreError(
                    .damaged,
                    "the position of a webhook cannot be read in \(directory)/\(file): \(error); without the file, the "
                        + "webhook begins at the end of the log")
            }
        }
    }
}
