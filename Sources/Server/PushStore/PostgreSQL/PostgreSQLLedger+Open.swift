import PushLogic
import PushLoop
package import PushModel
import PushPostgreSQL
import PushTime

/// Opening the ledger, with or without its parts.
extension PostgreSQLLedger {
    /// Makes the tables of a store in an empty database. The number of parts is fixed for life.
    package static func create(_ settings: Settings, parts: Int) async throws {
        try await StoreTables.create(settings, parts: parts, at: settings.clock())
    }

    /// Opens the ledger of a store that ``create(_:parts:)`` has made, without any part: parts come with
    /// ``load(_:epoch:reply:)``. The returned backlog has the apps that operators have paused, and no messages.
    package static func open(_ settings: Settings) async throws -> (PostgreSQLLedger, LedgerBacklog) {
        let loop = EventLoop(name: "ledger")
        do {
            return try await open(settings, on: loop)
        } catch {
            await loop.shutDown()
            throw error
        }
    }

    /// Opens the ledger and takes all parts, whatever node owns them. Returns the messages that wait in them. The witness
    /// is not notified of their opening.
    package static func openTakingAll(_ settings: Settings) async throws -> (PostgreSQLLedger, LedgerBacklog) {
        let (ledger, opened) = try await open(settings)
        do {
            var backlog = try await ledger.takeAll(as: settings.node)
            backlog.paused = opened.paused
            return (ledger, backlog)
        } catch {
            await ledger.close(within: .zero)
            throw error
        }
    }

    private func takeAll(as node: String) async throws -> LedgerBacklog {
        var epochs: [(part: Int, epoch: Int64)] = []
        for row in try await call.run({ $0.call(StoreStatements.takeAll) { $0.append(text: node) } })[0].rows {
            epochs.append((Int(try row.value(0, as: Int32.self)), try row.value(1)))
        }
        for (number, epoch) in epochs.sorted(by: { $0.part < $1.part }) {
            guard let part = PartitionID(number) else { continue }
            let fault = await withCheckedContinuation { continuation in
                load(part, epoch: PartitionEpoch(epoch)) { continuation.resume(returning: $0) }
            }
            if let fault { throw StoreError(.cannotOpen, fault.description) }
        }
        return await core.with { $0.serveAll() }
    }

    private static func open(
        _ settings: Settings, on loop: EventLoop
    ) async throws -> (PostgreSQLLedger, LedgerBacklog) {
        var settings = settings
        // A flush and some readings of each part may be under way.
        settings.session.limits.maxSections = max(settings.session.limits.maxSections, 512)
        let writers = max(1, settings.writers)
        // One session reads for the ledger, and one for those who read the log: their statements may take long.
        let sessions = try await StoreSessions.open(writers + 2, on: loop, settings, within: .seconds(30))
        do {
            return try await open(settings, on: loop, sessions)
        } catch {
            await sessions.with { for session in $0 { session.stop() } }
            throw error
        }
    }

    private static func open(
        _ settings: Settings, on loop: EventLoop, _ sessions: LoopBound<[PostgreSQLSession]>
    ) async throws -> (PostgreSQLLedger, LedgerBacklog) {
        let history = await sessions.with { sessions in
            LoopBound(sessions[sessions.count - 1], on: loop)
        }
        let gate = LoopGate(loop)
        let call = StoreCall(history, gate: gate, name: "\(settings.options)")
        settings.clockRead(try await StoreTables(call).readClock())
        let store = try await StoreTables(call).read()
        try await StoreTables(call).addPartitions(at: settings.clock())
        let marks = try await call.run { $0.call(SharedStatements.marks) }[0]
        let shared = try PostgreSQLCore.sharedApps(in: marks, by: "")
        let age = try PostgreSQLCore.age(in: marks)
        let core = await sessions.with { sessions in
            LoopBound(
                PostgreSQLCore(
                    settings, identities: store.identities, map: store.map,
                    writers: Array(sessions.dropLast(2)), reads: sessions[sessions.count - 2],
                    tables: StoreTables(call), age: age, gate: gate),
                on: loop)
        }
        let watcher = await sessions.with { sessions in
            for session in sessions {
                session.onFailure = settings.failed
                session.onChange = { change in if case .up = change { core.wrapped.sessionIsUp() } }
            }
            return LoopBound(
                loop.scheduleRepeating(every: .milliseconds(250)) { core.wrapped.watch() }, on: loop)
        }
        let published = await core.with { core in
            core.published.withLock { [count = core.partCount] in $0.partCount = count }
            core.shared.apps = shared
            core.publish(isWhole: true)
            return core.published
        }
        let ledger = PostgreSQLLedger(
            core, sessions, gate: gate, call: call, store, watcher: watcher, retention: settings.retention,
            published: published, scales: shared.scales)
        return (ledger, LedgerBacklog(paused: shared.paused))
    }
}
