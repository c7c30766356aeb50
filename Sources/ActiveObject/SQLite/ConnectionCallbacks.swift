private import CSQLite
import Glibc

/// The callbacks that SQLite makes during a call into a connection, and the state that they read and write. They run on
/// the connection's thread.
@safe
final class ConnectionCallbacks {
    private let interruption: Interruption
    /// How long a statement waits while another program holds the file.
    var patience = Duration.zero
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
    private static let stepsBetweenQuestions: Int32 = 10_000

    /// Registers the callbacks. The caller must keep this object as long as the connection is open.
    @unsafe
    func set(on handle: OpaquePointer) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        // SQLite forgets an interrupt that arrives between two statements. This flag is not forgotten.
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
                // A pragma with an argument changes a setting.
                case SQLITE_PRAGMA where unsafe second != nil && ConnectionCallbacks.isReserved(pragma: first): break
                default: return SQLITE_OK
                }
                return unsafe ConnectionCallbacks.from(context).isControlling ? SQLITE_OK : SQLITE_DENY
            }, context)
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> ConnectionCallbacks {
        unsafe Unmanaged<ConnectionCallbacks>.fromOpaque(context!).takeUnretainedValue()
    }

    /// Waits a little while another program holds the file. Returns false when `patience` is used up.
    private func waits(afterTries count: Int32) -> Bool {
        let now = ContinuousClock.now
        if count == 0 { waitingSince = now }
        guard !interruption.isRequested, now - (waitingSince ?? now) < patience else { return false }
        usleep(count < 4 ? 1000 : 10_000)
        return true
    }

    /// Returns whether `Connection` sets this pragma and relies on its value.
    private static func isReserved(pragma name: UnsafePointer<CChar>?) -> Bool {
        guard let name = unsafe name else { return false }
        return [
            "query_only", "journal_mode", "locking_mode", "foreign_keys", "synchronous", "trusted_schema",
            "cell_size_check",
        ].contains(unsafe String(cString: name).lowercased())
    }
}
