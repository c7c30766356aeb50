import FoundationEssentials
import Glibc
import PushLoop
package import PushTime
import PushTransport

/// A small file in the data directory that says when the last backup ended, for `carillon doctor`. All methods block.
package struct BackupRecord: Sendable {
    static let fileName = "backup.json"
    private static let version = 1
    private static let maxSize = 1 << 16

    /// What is known of the last `carillon backup`.
    package enum Last: Sendable, Equatable {
        /// None has succeeded on this directory.
        case never
        case ended(WallTime)
        /// The file cannot be read, or a later version wrote it.
        case unknown
    }

    private struct Content: Codable {
        /// The version of the file.
        let v: Int
        let endedAt: WallTime
        /// The directory of the backup.
        let backup: String

        enum CodingKeys: String, CodingKey {
            case v, backup
            case endedAt = "ended_at"
        }
    }

    private let directory: String
    private var path: String { "\(directory)/\(Self.fileName)" }

    package init(in directory: String) {
        self.directory = directory
    }

    package var last: Last {
        guard BackupFile.exists(path) else { return .never }
        guard let bytes = try? BoundedFile.read(path, limit: Self.maxSize), bytes.count <= Self.maxSize,
            let content = try? JSONDecoder().decode(Content.self, from: Data(bytes)), content.v <= Self.version
        else { return .unknown }
        return .ended(content.endedAt)
    }

    /// Replaces the file. A failure is ignored: the backup is whole without it, and the data directory may be
    /// on a file system that is read-only.
    func write(_ backup: String, endedAt time: WallTime) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let bytes = try? encoder.encode(Content(v: Self.version, endedAt: time, backup: backup)) else { return }
        try? WholeFile.write(Array(bytes) + [0x0a], to: path, until: .content) { file in
            BackupFile.giveToOwner(file, of: directory)
        }
    }
}
