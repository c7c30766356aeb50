import FoundationEssentials
import Glibc
import PushConfiguration
import PushLogic
import PushLoop
import PushTransport

/// A small file in the data directory with the expiries of credentials that were announced. All methods block.
struct ExpiryRecord: Sendable {
    static let fileName = "expiry.json"
    /// The maximum size in bytes, enough for the lines of tens of thousands of apps.
    private static let maxSize = 4 << 20

    let path: String

    init(directory: String) {
        path = "\(directory)/\(Self.fileName)"
    }

    private struct Line: Codable {
        let app: String
        let notAfter: WallTime
        let days: Int

        enum CodingKeys: String, CodingKey {
            case app, days
            case notAfter = "not_after_ms"
        }
    }

    /// A later version of the file. Version 1 is a list.
    private struct Later: Decodable {
        let v: Int
    }

    /// Returns the announced expiries, or none if there is no file.
    ///
    /// - Throws: an error if the file cannot be read or parsed.
    func read() throws -> [ExpiryWatch.Announcement] {
        guard access(path, F_OK) == 0 else { return [] }
        let bytes = try BoundedFile.read(path, limit: Self.maxSize)
        if let later = try? JSONDecoder().decode(Later.self, from: Data(bytes)) {
            throw StartError(
                .failed,
                "it was written by a newer Carillon (version \(later.v)); start the newer version, or remove the file: "
                    + "credentials that expire are then announced again")
        }
        return try JSONDecoder().decode([Line].self, from: Data(bytes)).compactMap { line in
            ExpiryWatch.Window(rawValue: line.days).map {
                ExpiryWatch.Announcement(name: line.app, notAfter: line.notAfter, window: $0)
            }
        }
    }

    /// Replaces the file atomically, and syncs its content to disk.
    func write(_ announced: [ExpiryWatch.Announcement]) throws {
        let lines = announced.map { Line(app: $0.name, notAfter: $0.notAfter, days: $0.window.days) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let bytes = Array(try encoder.encode(lines)) + [0x0a]
        try WholeFile.write(bytes, to: path, until: .content)
    }
}
