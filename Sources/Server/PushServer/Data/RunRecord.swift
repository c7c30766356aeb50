import FoundationEssentials
import Glibc
import PushLoop
import PushTransport

/// A small file that exists while Carillon runs. From it, the next start learns whether the last run ended in order,
/// and otherwise how many deliveries may have been unanswered.
///
/// The file is not synced. It survives when the process is killed, but after a power failure its number may be missing.
struct RunRecord: Sendable {
    static let fileName = "running.json"
    private static let version = 1

    private struct Content: Codable {
        /// The version of the file; nil for 1.
        let v: Int?
        let pid: Int32
        let startedAt: WallTime
        let maxInFlight: Int?
        let wasStopped: Bool?

        enum CodingKeys: String, CodingKey {
            case v, pid
            case startedAt = "started_at"
            case maxInFlight = "most_in_flight"
            case wasStopped = "was_stopped"
        }
    }

    /// What the record says of a run that did not end in order, or ended with unanswered deliveries.
    struct UncleanEnd: Sendable, Equatable {
        /// The maximum number of deliveries that were unanswered at the end; nil if it is unknown.
        let maxInFlight: Int?
        /// Whether that run was stopped and did not wait for all answers. Otherwise it crashed or was killed.
        var wasStopped = false
    }

    let path: String
    private let startedAt = WallTime.current()

    init(directory: String) {
        path = "\(directory)/\(Self.fileName)"
    }

    /// Returns the record of the last run, or nil if that run ended in order or never existed. It blocks.
    func uncleanEnd() -> UncleanEnd? {
        guard access(path, F_OK) == 0 else { return nil }
        let bytes = (try? BoundedFile.read(path, limit: 4096)) ?? []
        var content = try? JSONDecoder().decode(Content.self, from: Data(bytes))
        // The numbers of a later version may mean something else. The bound of its run is not known then.
        if content?.v ?? 1 > Self.version { content = nil }
        return UncleanEnd(maxInFlight: content?.maxInFlight, wasStopped: content?.wasStopped ?? false)
    }

    /// Writes the record. It blocks. A failure is ignored: it only affects the log line of the next start.
    ///
    /// - Parameter wasStopped: whether the run is stopping with this number of unanswered deliveries.
    func write(maxInFlight: Int?, wasStopped: Bool = false) {
        let content = Content(
            v: Self.version, pid: getpid(), startedAt: startedAt, maxInFlight: maxInFlight,
            wasStopped: wasStopped ? true : nil)
        guard let bytes = try? JSONEncoder().encode(content) else { return }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
    }

    /// Removes the record if the run has ended in order, and otherwise writes the number of unanswered deliveries. It
    /// blocks.
    func end(unanswered: Int) {
        if unanswered == 0 {
            unlink(path)
        } else {
            write(maxInFlight: unanswered, wasStopped: true)
        }
    }

    /// Does the same for a start that has failed after it had written the record. It blocks.
    ///
    /// - Parameter previous: What this start has found. The deliveries of that run may still be unanswered.
    func abandon(unanswered: Int, previous: UncleanEnd?) {
        guard let previous else { return end(unanswered: unanswered) }
        write(maxInFlight: previous.maxInFlight.map { $0 + unanswered }, wasStopped: previous.wasStopped)
    }
}
