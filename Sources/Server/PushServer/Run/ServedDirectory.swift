import PushConfiguration
import PushLoop

/// The data directory of a running server: locked, examined, and with the mark of the run.
final class ServedDirectory: Sendable {
    private let lock: DataLock
    let mark: RunRecord
    /// The mark of the previous run, if that run did not end in order.
    let remains: RunRecord.Remains?
    private let run = Locked((isMarked: false, unanswered: 0))

    /// Locks the directory and creates it if necessary. All checks of `check` are made on the way.
    ///
    /// - Throws: ``StartError``
    init(_ path: String, check: StartCheck) throws {
        // The directory is checked before it is created and locked. The rest is checked when no other process can use
        // it.
        if let fault = check.directoryFault { throw fault }
        lock = try DataLock(directory: path)
        if let fault = StartError.joined(check.faults) { throw fault }
        mark = RunRecord(directory: lock.directory)
        remains = mark.remains()
    }

    var path: String { lock.directory }

    /// Writes the mark, before the first delivery can leave. It blocks.
    func beginRun() {
        mark.write(maxInFlight: nil)
        run.withLock { $0.isMarked = true }
    }

    /// Notes how many deliveries are unanswered at the end.
    func drained(leaving unanswered: Int) { run.withLock { $0.unanswered = unanswered } }

    /// Ends the mark of the run, and returns the number of deliveries that are unanswered. It blocks.
    func endRun() -> Int {
        let unanswered = run.withLock { $0.unanswered }
        mark.end(unanswered: unanswered)
        return unanswered
    }

    /// Ends the mark of a start that has failed, if it was written. It blocks.
    func abandonRun() {
        let run = run.withLock { $0 }
        if run.isMarked { mark.abandon(unanswered: run.unanswered, previous: remains) }
    }
}
