import PushAPI
import PushLoop
import PushModel
import PushStore

/// The events of operators of a running Carillon: it notes them in the log, and keeps them in a file for longer. In a
/// cluster, whose log all nodes share, they are in the log only.
final class ServedOperators: Sendable {
    static let prefix = "operator/"

    /// The file with the events; nil in a cluster.
    let file: OperatorsFile?
    private let ledger: any LedgerEngine
    private let log: Logger

    private init(_ pipeline: Pipeline, file: OperatorsFile?, log: Logger) {
        (ledger, self.file, self.log) = (pipeline.ledger, file, log)
    }

    static func open(_ pipeline: Pipeline, on base: RunBase) async -> ServedOperators {
        let directory = base.directory.path
        let file = OperatorsFile(
            in: directory, retention: base.configuration.operators.retention, on: base.threads.files)
        let operators = ServedOperators(pipeline, file: pipeline.node == nil ? file : nil, log: base.log)
        await operators.catchUp()
        await operators.announce(PendingOperators(directory: directory))
        return operators
    }

    var journal: OperatorJournal {
        OperatorJournal { [self] change, author, done in
            Task {
                await note([change.event(by: author)])
                done()
            }
        }
    }

    /// Stores events. Returns whether they are in the log, or will be: a node of a cluster that owns no partition stores
    /// them when it gets one.
    @discardableResult
    private func note(_ events: [EventDraft]) async -> Bool {
        guard let first = await ledger.note(events) else {
            if file == nil { ledger.note(events, done: nil) }
            return file == nil
        }
        await keep(after: first - 1, upTo: first - 1 + UInt64(events.count))
        return true
    }

    /// Writes what operators did while Carillon was stopped.
    private func announce(_ pending: PendingOperators) async {
        let events = pending.events()
        if !events.isEmpty, await !note(events) { return }
        pending.remove()
    }

    /// Copies what a crash has left in the log alone.
    private func catchUp() async {
        guard let file else { return }
        do {
            let kept = try await file.open()
            let newest = ledger.heads().flatMap(\.topics).filter(\.kind.isOperator).map(\.seq).max() ?? 0
            let oldest = try await ledger.bounds().first?.oldest ?? 0
            if newest > kept, newest >= oldest { await keep(after: kept, upTo: newest) }
        } catch {
            report(error)
        }
    }

    /// Copies the events of operators between two numbers from the log to the file.
    private func keep(after start: UInt64, upTo end: UInt64) async {
        guard let file else { return }
        do {
            var at = start
            while at < end {
                let found = try await EventReader(log: ledger).forward(since: at, prefix: Self.prefix, limit: 1000)
                try await file.add(found.lines)
                guard found.hasMore, found.next[0] > at else { return }
                at = found.next[0]
            }
        } catch {
            report(error)
        }
    }

    private func report(_ error: any Error) {
        log.warning(
            "events of operators cannot be kept for longer than the log; the next start tries it again",
            [.error: "\(error)"])
    }
}
