private import CSQLite
import Glibc

/// What SQLite calls while a call into a connection runs, and what these calls see and leave behind. They come on the
/// connection's thread.
@safe
final class ConnectionCallbacks {
    private let interruption: Interruption
    /// How long a statement waits for another program that holds the file.
    var patience = Duration.zero
    private var waitingSince: ContinuousClock.Instant?
    /// Pages that the log had after the last commit.
    private(set) var logPages = 0
    /// Only `Connection` begins and ends transactions: raw SQL that did would break the promise of `write`.
    var isControlling = false

    init(interruption: Interruption) {
        self.interruption = interruption
    }

    /// Steps of SQLite's machine between two questions whether to stop: well under a millisecond.
    private static let stepsBetweenQuestions: Int32 = 10_000

    /// The caller keeps this as long as the connection is open.
    @unsafe
    func set(on handle: OpaquePointer) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        // An interrupt between two statements is forgotten by SQLite; this one is not.
        unsafe sqlite3_progress_handler(
            handle, Self.stepsBetweenQuestions,
            { context in unsafe ConnectionCallbacks.from(context).interruption.isRequested ? 1 : 0 }, context)
        unsafe _ = sqlite3_busy_handler(
            handle, { context, count in unsafe ConnectionCallbacks.from(context).waits(afterTries: count) ? 1 : 0 },
            context)
        unsafe _ = sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                unsafe ConnectionCallbacks.from(context).logPages = Int(pages)
                return SQLITE_OK
            }, context)
        unsafe _ = sqlite3_set_authorizer(
            handle,
            { context, action, first, second, _, _ in
                switch action {
                case SQLITE_TRANSACTION, SQLITE_SAVEPOINT: break
                // A pragma with a value sets something.
                case SQLITE_PRAGMA where unsafe second != nil && ConnectionCallbacks.isReserved(pragma: first): break
                default: return SQLITE_OK
                }
                return unsafe ConnectionCallbacks.from(context).isControlling ? SQLITE_OK : SQLITE_DENY
            }, context)
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> ConnectionCallbacks {
        unsafe Unmanaged<ConnectionCallbacks>.fromOpaque(context!).takeUnretainedValue()
    }

    /// Another program holds the file. Waits a little; false when that has been done long enough.
    private func waits(afterTries count: Int32) -> Bool {
        let now = ContinuousClock.now
        if count == 0 { waitingSince = now }
        guard !interruption.isRequested, now - (waitingSince ?? now) < patience else { return false }
        usleep(count < 4 ? 1000 : 10_000)
        return true
    }

    /// What `Connection` sets and readers and writers count on.
    private static func isReserved(pragma name: UnsafePointer<CChar>?) -> Bool {
        guard let name = unsafe name else { return false }
        return [
            "query_only", "journal_mode", "locking_mode", "foreign_keys", "synchronous", "trusted_schema",
            "cell_size_check",
        ].contains(unsafe String(cString: name).lowercased())
    }
}
