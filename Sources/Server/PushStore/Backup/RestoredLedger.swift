import PushLogic
package import PushModel
package import PushTime

/// A ledger that was copied back from a backup, before a server opens it.
///
/// The process that was lost may have assigned numbers after the backup, so the next event gets a number above all of
/// them. The numbers in between are a gap of the log.
package struct RestoredLedger: Sendable {
    /// What becomes of the messages that waited at the time of the backup.
    package enum Waiting: Sendable {
        /// They are sent by the next start.
        case send
        /// They are cancelled, so that none is sent, and their ids stay known.
        case cancel
        /// Their apps are paused until an operator resumes them.
        case pause
    }

    package struct Summary: Sendable, Equatable {
        package var waiting = 0
        package var scheduled = 0
        /// The apps that were paused by this call.
        package var paused: [AppID] = []
        /// The missing numbers.
        package var gap: ClosedRange<UInt64> = 1...1
    }

    private let directory: String
    private let clock: @Sendable () -> WallTime

    package init(in directory: String, clock: @escaping @Sendable () -> WallTime = { .current() }) {
        self.directory = directory
        self.clock = clock
    }

    private var path: String { "\(directory)/ledger.db" }

    /// Migrates the ledger, leaves out the numbers that may have been assigned since the backup, and decides on the
    /// messages that wait. The registry needs no change: it continues to read the ledger where it was.
    ///
    /// - Parameters:
    ///   - time: The time of the backup.
    ///   - known: A number that the lost process had reached, if one is known.
    package func prepare(
        madeAt time: WallTime, known: UInt64?, waiting fate: Waiting
    ) async throws -> Summary {
        var summary = Summary()
        summary.gap = try leaveOut(madeAt: time, known: known ?? 0)
        var settings = SQLiteLedger.Settings(directory: directory)
        settings.clock = clock
        let (ledger, backlog) = try await SQLiteLedger.open(settings)
        do {
            let status = await ledger.status()
            (summary.waiting, summary.scheduled) = (status.waiting, status.scheduled)
            switch fate {
            case .send: break
            case .cancel: try await cancelAll(backlog, in: ledger)
            case .pause:
                summary.paused = status.apps.keys.filter { backlog.paused[$0] == nil }.sorted { $0.name < $1.name }
                for app in summary.paused { try await pause(app, in: ledger) }
            }
            await ledger.close()
        } catch {
            await ledger.close()
            throw error
        }
        try FileSnapshot.settle(path)
        return summary
    }

    private func leaveOut(madeAt time: WallTime, known: UInt64) throws(StoreError) -> ClosedRange<UInt64> {
        let connection = try SQLiteConnection(path)
        guard try LedgerSchema.version(of: connection) > 0 else {
            throw StoreError(.damaged, "\(path) is not a ledger of Carillon: it has no version")
        }
        try LedgerSchema.prepare(connection)
        let newest = try LogGap.newest(in: connection, version: LedgerSchema.version)
        let now = clock()
        let gap = try LogGap.after(newest, known: known, elapsed: .milliseconds(now.milliseconds(since: time)))
        try connection.run("BEGIN IMMEDIATE")
        try LogGap.add(gap, to: connection, at: now)
        try RestoreRecord.add(gap, to: connection, madeAt: time)
        try connection.run("COMMIT")
        return gap
    }

    // MARK: Messages that wait

    private func pause(_ app: AppID, in ledger: SQLiteLedger) async throws {
        if let fault = await ledger.setPaused(app, since: clock()) { throw fault }
    }

    /// The number of messages that are read at once.
    private static let atOnce = 500

    /// Cancels all messages that wait or are scheduled. Nothing is in flight, so the next start completes them.
    private func cancelAll(_ backlog: LedgerBacklog, in ledger: SQLiteLedger) async throws {
        for lane in backlog.lanes {
            var rest = lane.seqs[...]
            while !rest.isEmpty {
                let asked = Array(rest.prefix(Self.atOnce))
                switch await ledger.load(asked) {
                case .success(let messages):
                    // An answer may end early. What is missing before its last message is completed.
                    let last = messages.last?.seq ?? asked.last ?? .max
                    rest = rest.drop { $0 <= last }
                    await cancel(messages, in: ledger)
                case .failure(let fault):
                    // A damaged message is never sent. The next call skips it.
                    guard fault.damaged != nil else { throw fault }
                }
            }
        }
        while true {
            switch await ledger.due(at: UnixSeconds(.max), limit: Self.atOnce) {
            case .success(let due):
                if due.messages.isEmpty { return }
                await cancel(due.messages, in: ledger)
            case .failure(let fault):
                guard fault.damaged != nil else { throw fault }
            }
        }
    }

    private func cancel(_ messages: [AcceptedMessage], in ledger: SQLiteLedger) async {
        for message in messages {
            ledger.cancel(CancelRequest(message.message.id, of: message.message.app, by: "restore")) { _ in }
        }
        await ledger.flush()
    }
}
