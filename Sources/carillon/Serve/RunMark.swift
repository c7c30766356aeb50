import FoundationEssentials
import Glibc
import PushLoop
import PushTransport

/// A small file that is there while a Carillon runs: the next start tells by it whether the one before ended in order,
/// and how much may have been with the push services when it did not.
///
/// It is not synced: a kill leaves it as it was, and after a power cut its number may be missing.
struct RunMark: Sendable {
    static let fileName = "running.json"

    private struct Content: Codable {
        let pid: Int32
        let startedAt: Int64
        let mostInFlight: Int?
        let wasStopped: Bool?

        enum CodingKeys: String, CodingKey {
            case pid
            case startedAt = "started_at"
            case mostInFlight = "most_in_flight"
            case wasStopped = "was_stopped"
        }
    }

    /// The mark of a run that left something unanswered.
    struct Remains: Sendable, Equatable {
        /// The most deliveries that can have been unanswered at the end; nil if that is not known.
        let mostInFlight: Int?
        /// Whether that run was told to stop, and did not wait for all answers; otherwise it crashed, or was killed.
        var wasStopped = false
    }

    let path: String
    private let startedAt = WallTime.current().milliseconds

    init(directory: String) {
        path = "\(directory)/\(Self.fileName)"
    }

    /// Nil if the last run ended in order, or there was none. Blocks.
    func remains() -> Remains? {
        guard access(path, F_OK) == 0 else { return nil }
        let bytes = (try? BoundedFile.read(path, limit: 4096)) ?? []
        let content = try? JSONDecoder().decode(Content.self, from: Data(bytes))
        return Remains(mostInFlight: content?.mostInFlight, wasStopped: content?.wasStopped ?? false)
    }

    /// Blocks. A mark that cannot be written is of no consequence but the line that it would have told.
    ///
    /// - Parameter wasStopped: whether the run ends with this number of deliveries unanswered.
    func write(mostInFlight: Int?, wasStopped: Bool = false) {
        let content = Content(
            pid: getpid(), startedAt: startedAt, mostInFlight: mostInFlight, wasStopped: wasStopped ? true : nil)
        guard let bytes = try? JSONEncoder().encode(content) else { return }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
    }

    /// It ended in order.
    func remove() { unlink(path) }
}
