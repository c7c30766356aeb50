import PushConfiguration
import PushLoop

/// The data directory of a running server: locked, examined, and with the record of the run.
final class DataDirectory: Sendable {
    private let lock: DataLock
    let record: RunRecord
    /// The record of the previous run, if that run did not end in order.
    let uncleanEnd: RunRecord.UncleanEnd?
    private let run = Locked((isRecorded: false, unanswered: 0))

    /// Locks the directory and creates it if necessary. All checks of `check` are made on the way.
    ///
    /// - Throws: ``StartError``
    init(_ path: String, check: StartCheck) throws {
        // The directory is checked before it is created and locked. The rest is checked when no other process can use
        // it.
        if let fault = check.directoryFault { throw fault }
        lock = try DataLock(directory: path)
        if let fault = StartError.joined(check.faults) { throw fault }
        record = RunRecord(directory: lock.directory)
        uncleanEnd = record.uncleanEnd()
    }

    var path: String { lock.directory }

    /// Writes the record, before the first delivery can leave. It blocks.
    func beginRun() {
        record.write(maxInFlight: nil)
        run.withLock { $0.isRecorded = true }
    }

    /// Notes how many deliveries are unanswered at the end.
    func drained(leaving unanswered: Int) { run.withLock { $0.unanswered = unanswered } }

    /// Ends the record of the run, and returns the number of deliveries that are unanswered. It blocks.
    func endRun() -> Int {
        let unanswered = run.withLock { $0.unanswered }
        record.end(unanswered: unanswered)
        return unanswered
    }

    /// Ends the record of a start that has failed, if it was written. It blocks.
    func abandonRun() {
        let run = run.withLock { $0 }
        if run.isRecorded { record.abandon(unanswered: run.unanswered, previous: uncleanEnd) }
    }
}
