import FoundationEssentials
import Glibc
package import PushConfiguration
import PushLoop
import PushStore
package import PushTime
import PushTransport

/// The file `manifest.json` of a backup: what the backup contains. It is written last.
package struct BackupManifest: Codable, Sendable, Equatable {
    package struct File: Codable, Sendable, Equatable {
        package let name: String
        package let size: Int64
        package let sha256: String
        /// The version of the format, for files that have one.
        package let version: Int64?

        enum CodingKeys: String, CodingKey {
            case name, sha256, version
            case size = "size_bytes"
        }
    }

    /// The version of the backup itself.
    static let knownFormat = 1
    /// The largest manifest. Each app may have a spool.
    private static let maxSize = 16 << 20

    package var format = Self.knownFormat
    /// The version of the program that made the backup.
    package var carillon = Release.version
    package var createdAt: WallTime
    /// The name of the machine.
    package var host: String
    /// Whether a Carillon ran on the directory.
    package var wasRunning: Bool
    /// The number of the newest event in the ledger.
    package var seq: UInt64
    /// The number of the newest event that the registry has applied; never above `seq`.
    package var registrySeq: UInt64
    package var events: Int
    package var scheduled: Int
    package var messageIDs: Int
    package var devices: Int
    package var apiKeys: Int
    package var files: [File]

    enum CodingKeys: String, CodingKey {
        case format, carillon, host, seq, events, scheduled, devices, files
        case createdAt = "created_at"
        case wasRunning = "was_running"
        case registrySeq = "registry_seq"
        case messageIDs = "message_ids"
        case apiKeys = "api_keys"
    }

    package func file(_ name: String) -> File? { files.first { $0.name == name } }

    package var totalSize: Int64 { files.reduce(0) { $0.addingReportingOverflow($1.size).partialValue } }

    // MARK: Reading

    private struct Head: Decodable {
        let format: Int
        let carillon: String?
    }

    /// Reads and checks the manifest of a backup.
    package static func read(in directory: String) throws(StartError) -> BackupManifest {
        let path = "\(directory)/\(BackupFile.manifest)"
        guard BackupFile.exists(directory) else {
            throw StartError(.badInput, "cannot open the backup \(directory): \(SystemError(number: ENOENT))")
        }
        guard BackupFile.exists(path) else {
            throw StartError(
                .badInput, "\(directory) is not a backup, or not a complete one: it has no \(BackupFile.manifest)")
        }
        let (descriptor, size) = try BackupFile.open(path)
        defer { close(descriptor) }
        guard size <= maxSize else { throw StartError(.badInput, "\(path) is too large to be a manifest") }
        var bytes: [UInt8] = []
        try BackupFile.read(descriptor, of: path) { (piece) throws(StartError) in
            guard bytes.count + piece.count <= maxSize else {
                throw StartError(.badInput, "\(path) is too large to be a manifest")
            }
            bytes += piece
        }
        // The format comes first: a newer one may have other members.
        guard let head = try? JSONDecoder().decode(Head.self, from: Data(bytes)) else {
            throw StartError(.badInput, "\(path) is not the manifest of a backup")
        }
        guard head.format <= knownFormat else {
            throw newer(directory, having: "format \(head.format)", by: head.carillon)
        }
        guard let manifest = try? JSONDecoder().decode(BackupManifest.self, from: Data(bytes)) else {
            throw StartError(.badInput, "\(path) is not the manifest of a backup")
        }
        try manifest.check(path, in: directory)
        return manifest
    }

    private static func newer(_ directory: String, having what: String, by version: String?) -> StartError {
        StartError(
            .badInput,
            "the backup \(directory) was made by a newer Carillon\(version.map { " (\($0), \(what))" } ?? " (\(what))"); "
                + "install that version or a later one")
    }

    private func check(_ path: String, in directory: String) throws(StartError) {
        var names: Set<String> = []
        for file in files {
            guard BackupFile.isKnown(file.name) else {
                throw StartError(
                    .badInput, "\(path) names a file that is not part of a backup: \"\(file.name.prefix(80))\"")
            }
            guard names.insert(file.name).inserted, file.size >= 0, file.sha256.utf8.count == 64 else {
                throw StartError(.badInput, "\(path) is invalid: its entry of \(file.name) cannot be")
            }
        }
        guard names.contains(BackupFile.ledger) else {
            throw StartError(.badInput, "\(path) is invalid: it does not name \(BackupFile.ledger)")
        }
        guard registrySeq <= seq else {
            throw StartError(.badInput, "\(path) is invalid: the registry is ahead of the ledger")
        }
        for (name, known) in [
            (BackupFile.ledger, LedgerFacts.knownVersion), (BackupFile.registry, RegistryFacts.knownVersion),
        ] {
            guard let version = file(name)?.version, version > known else { continue }
            throw Self.newer(
                directory, having: "\(name) has version \(version), this one knows \(known)", by: carillon)
        }
    }

    // MARK: Writing

    var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return ((try? encoder.encode(self)).map { Array($0) } ?? []) + [0x0a]
    }

    static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
