import Glibc
import PushAPI
import PushLoop
import PushModel
import PushStore
import PushTransport

/// The events of operators of a running Carillon: it notes them in the log, and keeps them in a file for longer. In a
/// cluster, whose log all nodes share, they are in the log only.
final class ServedOperators: Sendable {
    static let prefix = "operator/"
    /// How often a node of a cluster tries to store an event, once a second.
    private static let maxAttempts = 300
    /// The number of events that may wait to be stored, or in a cluster to be published, before operators have to wait.
    private static let maxWaiting = 10_000
    /// Changes that were under way when that number was reached, and those by a signal, are recorded beyond it.
    private static let reserve = 1000

    /// The file with the events; nil in a cluster.
    let file: OperatorsFile?
    private let ledger: any LedgerEngine
    private let node: ServedNode?
    private let log: Logger
    /// The last copying from the log to the file, which may have ended.
    private let keeping = Locked<Task<Void, Never>?>(nil)
    /// The number up to which the file has the events of operators in the log; nil if that could not be found out yet.
    private let kept = Locked<UInt64?>(nil)
    /// The number of events that this process is about to store.
    private let unstored = Locked(0)

    private init(_ pipeline: Pipeline, file: OperatorsFile?, log: Logger) {
        (ledger, node, self.file, self.log) = (pipeline.ledger, pipeline.node, file, log)
    }

    static func open(_ pipeline: Pipeline, on base: RunBase) async -> ServedOperators {
        let directory = base.directory.path
        let file = OperatorsFile(
            in: directory, retention: base.configuration.operators.retention, on: base.threads.files,
            now: { [ledger = pipeline.ledger] in ledger.latest.agedAt })
        let operators = ServedOperators(pipeline, file: pipeline.node == nil ? file : nil, log: base.log)
        await operators.catchUp()
        await operators.announce(PendingOperators(directory: directory))
        await operators.report(openErasures: pipeline.openErasures)
        return operators
    }

    var journal: OperatorJournal {
        OperatorJournal { [self] changes, author, done in
            Task {
                await record(changes, by: author)
                done()
            }
        } fault: { [self] in
            fault
        }
    }

    /// The number of events that are not in the log yet.
    private var waiting: Int { unstored.withLock { $0 } + (node?.ledger.waitingOperations ?? 0) }

    /// Why operators have to wait; nil while they need not.
    private var fault: String? {
        let waiting = waiting
        guard waiting >= Self.maxWaiting else { return nil }
        let isUnowned = (node?.ledger.waitingOperations ?? 0) >= unstored.withLock { $0 }
        let help =
            if node == nil {
                "'carillon doctor' says why the disk takes none"
            } else if isUnowned {
                "'carillon cluster' says who owns partition 0"
            } else {
                "'carillon doctor' says why the database takes none"
            }
        return "\(waiting) events of operators are not in the log yet; \(help)"
    }

    /// Records what one request has changed, and returns when that is stored or cannot be.
    func record(_ changes: [OperatorChange], by author: OperatorName) async {
        guard waiting < Self.maxWaiting + Self.reserve else {
            lose(changes, "too many others wait to be stored")
            return
        }
        unstored.withLock { $0 += changes.count }
        defer { unstored.withLock { $0 -= changes.count } }
        let events = changes.map { $0.event(by: author) }
        guard node != nil else {
            _ = await note(events)
            return
        }
        let named = events.map { (name: Hex.encode(SecureRandom.bytes(16)), draft: $0) }
        for _ in 0..<Self.maxAttempts {
            if await share(named) { return }
            try? await Task.sleep(for: .seconds(1))
        }
        lose(changes, "the database has not stored it")
    }

    private func lose(_ changes: [OperatorChange], _ why: String) {
        for change in changes {
            let kind = "\(change.kind.name)"
            log.error("an event of an operator is lost (\(kind)): \(why)", [.event: "operator.lost"])
        }
    }

    /// Stores events in the log of a single node, and returns whether it did.
    private func note(_ events: [EventDraft]) async -> Bool {
        guard let first = await ledger.note(events) else { return false }
        await keep(upTo: first - 1 + UInt64(events.count))
        return true
    }

    /// Stores events of a cluster, by their names: whichever node has carried a change out, its event is published once.
    private func share(_ events: [(name: String, draft: EventDraft)]) async -> Bool {
        guard let fault = await node?.ledger.share(events) else { return true }
        log.warning("events of operators are not stored yet", [.error: "\(fault)"])
        return false
    }

    /// Writes what operators did while Carillon was stopped.
    private func announce(_ pending: PendingOperators) async {
        let events = pending.events()
        if !events.isEmpty {
            let isStored = node == nil ? await note(events.map(\.draft)) : await share(events)
            guard isStored else { return }
        }
        pending.remove()
    }

    /// Records the erasures of users that an earlier process has begun and not ended. Their names are not known any more.
    private func report(openErasures count: Int) async {
        guard count > 0 else { return }
        log.warning(
            "erasures of users have begun and not ended: erase these users again", [.count: count])
        let change = OperatorChange(
            .operatorUserErase, of: "\(count) erasures that an earlier run has begun",
            after: "not ended: erase these users again")
        await record([change], by: OperatorName(user: getuid()))
    }

    /// Copies what a crash has left in the log alone.
    private func catchUp() async {
        guard file != nil else { return }
        await keep(upTo: ledger.heads().flatMap(\.topics).filter(\.kind.isOperator).map(\.seq).max() ?? 0)
    }

    /// Copies the events of operators up to a number from the log to the file, after all earlier calls have ended: the
    /// file takes only lines that are newer than its own.
    private func keep(upTo end: UInt64) async {
        let task = keeping.withLock { last in
            let task: Task<Void, Never> = Task { [before = last] in
                await before?.value
                await copy(upTo: end)
            }
            last = task
            return task
        }
        await task.value
    }

    /// Begins after what was copied last, so that it also takes what an earlier call could not write.
    private func copy(upTo end: UInt64) async {
        guard let file else { return }
        do {
            var at = try await start(of: file, upTo: end)
            while at < end {
                let found = try await EventReader(log: ledger).forward(since: at, prefix: Self.prefix, limit: 1000)
                try await file.add(found.lines)
                guard found.next[0] > at else { return }
                at = found.next[0]
                kept.withLock { $0 = at }
                guard found.hasMore else { return }
            }
        } catch {
            report(error)
        }
    }

    /// Returns the number up to which nothing needs to be copied. `end` is that of an event of an operator; 0 if there is
    /// none.
    private func start(of file: OperatorsFile, upTo end: UInt64) async throws -> UInt64 {
        if let known = kept.withLock({ $0 }) { return known }
        let bounds = try await ledger.bounds().first
        let newest = try await file.open()
        // Without an event to copy, the first one that comes must not search the whole log.
        let isBehind = end > newest && end >= bounds?.oldest ?? 0
        let start = isBehind ? newest : max(newest, bounds?.newest ?? 0)
        kept.withLock { $0 = start }
        return start
    }

    private func report(_ error: any Error) {
        log.warning(
            "events of operators cannot be kept for longer than the log; the next event of an operator tries it again",
            [.error: "\(error)"])
    }
}
