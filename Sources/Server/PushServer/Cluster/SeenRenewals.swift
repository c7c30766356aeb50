import PushLoop
import PushStore
import PushTime

/// Keeps the file with the last acknowledged renewal. It is written in a thread of its own, because a renewal must
/// not wait for a disk.
final class SeenRenewals: Sendable {
    private struct State {
        var latest: SeenRenewal?
        var isWriting = false
        var writtenAt = MonotonicTime(nanoseconds: .min)
    }

    private static let pause: Duration = .seconds(2)

    private let file: RenewalFile
    private let warning: @Sendable (String) -> Void
    private let pool = BlockingPool(name: "renewal", threadCount: 1, queueLimit: 4)
    private let state = Locked(State())

    /// - Parameter warning: Called from any thread each time the file cannot be written.
    init(_ file: RenewalFile, warning: @escaping @Sendable (String) -> Void) {
        self.file = file
        self.warning = warning
    }

    /// Takes a renewal, and writes it unless the last write was a moment ago. Returns at once.
    func take(_ seen: SeenRenewal) {
        let isDue = state.withLock { state -> Bool in
            state.latest = seen
            guard !state.isWriting, .current() >= state.writtenAt + Self.pause else { return false }
            state.isWriting = true
            return true
        }
        if isDue { Task { await write() } }
    }

    private func write() async {
        // What is the latest is looked up in the thread, so that an older one never replaces a newer one.
        try? await pool.run { [file, warning, state] in
            guard let seen = state.withLock({ $0.latest }) else { return }
            do throws(SystemError) {
                try file.write(seen)
            } catch {
                warning(
                    "cannot write \(file.path): \(error); without it, the next process of this node does not notice "
                        + "that the database was restored; repair the data directory, and start the node again")
            }
        }
        state.withLock { state in
            state.isWriting = false
            state.writtenAt = .current()
        }
    }

    /// Writes the latest, and ends.
    func stop() async {
        await write()
        await pool.shutDown()
    }
}
