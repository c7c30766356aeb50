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
    private let pool = BlockingPool(name: "renewal", threadCount: 1, queueLimit: 4)
    private let state = Locked(State())

    init(_ file: RenewalFile) {
        self.file = file
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
        try? await pool.run { [file, state] in
            if let seen = state.withLock({ $0.latest }) { file.write(seen) }
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
