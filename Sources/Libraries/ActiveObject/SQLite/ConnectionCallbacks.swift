import Glibc
import PushSQLite

/// The callbacks that SQLite makes during a call into a connection, and the state that they read and write. They run on
/// the connection's thread.
final class ConnectionCallbacks {
    private let interruption: Interruption
    /// How long a statement waits while another program holds the file.
    var busyTimeout = Duration.zero
    private var waitingSince: ContinuousClock.Instant?
    /// The number of pages in the log after the last commit.
    private(set) var logPages = 0
    /// Whether `Connection` itself runs a statement. Raw SQL must not begin or end transactions, because that would
    /// break the promise of `write`.
    var isControlling = false

    init(interruption: Interruption) {
        self.interruption = interruption
    }

    /// The number of virtual machine steps between two checks for an interruption; well under a millisecond.
    private static let stepsBetweenChecks: Int32 = 10_000

    /// Registers the callbacks. The connection keeps this object.
    func set(on database: DatabaseHandle) {
        // SQLite forgets an interrupt that arrives between two statements. This flag is not forgotten.
        database.setProgressHandler(every: Self.stepsBetweenChecks) { self.interruption.isRequested }
        database.setBusyHandler { self.shouldRetry(afterTries: $0) }
        database.onCommit { self.logPages = $0 }
        database.setAuthorizer { action in
            if case .setting(let pragma) = action, !Self.isReserved(pragma: pragma) { return true }
            return self.isControlling
        }
    }

    /// Waits a little while another program holds the file. Returns false when `busyTimeout` is used up.
    private func shouldRetry(afterTries count: Int32) -> Bool {
        let now = ContinuousClock.now
        if count == 0 { waitingSince = now }
        guard !interruption.isRequested, now - (waitingSince ?? now) < busyTimeout else { return false }
        usleep(count < 4 ? 1000 : 10_000)
        return true
    }

    /// Returns whether `Connection` sets this pragma and relies on its value.
    private static func isReserved(pragma: String) -> Bool {
        [
            "query_only", "journal_mode", "locking_mode", "foreign_keys", "synchronous", "trusted_schema",
            "cell_size_check",
        ].contains(pragma.lowercased())
    }
}
