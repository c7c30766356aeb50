import PushLogic
import PushLoop
package import PushModel
import PushPostgreSQL
import PushTime

/// Opening the ledger: the node takes all parts and reads them.
extension PostgreSQLLedger {
    /// Opens the ledger of a store that ``StoreTables/create(parts:)`` has made. Takes all parts, whatever node owns
    /// them, and returns the messages that wait in them.
    package static func open(_ settings: Settings) async throws -> (PostgreSQLLedger, LedgerBacklog) {
        let loop = EventLoop(name: "ledger")
        do {
            return try await open(settings, on: loop)
        } catch {
            await loop.shutDown()
            throw error
        }
    }

    private static func open(
        _ settings: Settings, on loop: EventLoop
    ) async throws -> (PostgreSQLLedger, LedgerBacklog) {
        var settings = settings
        // A flush and some readings of each part may be under way.
        settings.session.limits.maxSections = max(settings.session.limits.maxSections, 512)
        let writers = max(1, settings.writers)
        let sessions = try await StoreSessions.open(writers + 1, on: loop, settings, within: .seconds(30))
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
        let reads = await sessions.with { LoopBound($0[$0.count - 1], on: loop) }
        let gate = LoopGate(loop)
        let call = StoreCall(reads, gate: gate, name: "\(settings.options)")
        let store = try await StoreTables(call).read()
        try await StoreTables(call).addPartitions(at: settings.clock())
        let node = settings.node
        var epochs: [Int: Int64] = [:]
        for row in try await call.run({ $0.call(StoreStatements.takeAll) { $0.append(text: node) } })[0].rows {
            epochs[Int(try row.value(0, as: Int32.self))] = try row.value(1)
        }
        var backlog = LedgerBacklog()
        for row in try await call.run({ $0.call(StoreStatements.paused) })[0].rows {
            guard let app = AppID(try row.value(0, as: String.self)) else { continue }
            backlog.paused[app] = WallTime(milliseconds: try row.value(1))
        }
        let core = await sessions.with { sessions in
            LoopBound(
                PostgreSQLCore(
                    settings, on: loop, identities: store.identities, map: store.map,
                    writers: Array(sessions.dropLast()), reads: sessions[sessions.count - 1], tables: StoreTables(call),
                    gate: gate),
                on: loop)
        }
        for (number, epoch) in epochs.sorted(by: { $0.key < $1.key }) {
            try await load(number, epoch: epoch, store, settings, core, into: &backlog)
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
            core.publish(isWhole: true)
            return core.published
        }
        let ledger = PostgreSQLLedger(
            core, sessions, gate: gate, call: call, identities: store.identities, watcher: watcher,
            retention: settings.retention,
            published: published)
        return (ledger, backlog)
    }

    private static func load(
        _ number: Int, epoch: Int64, _ store: StoreTables.Facts, _ settings: Settings,
        _ core: LoopBound<PostgreSQLCore>,
        into backlog: inout LedgerBacklog
    ) async throws {
        let name = "\(settings.options)"
        let loaded: Result<LedgerBacklog, StoreError> = await withCheckedContinuation { continuation in
            core.loop.execute {
                let restore = PartRestore(
                    number, of: store.map.count, epoch: epoch, identities: store.identities,
                    retention: settings.retention, storeName: name)
                PartLoader(number, on: core.wrapped.reads, into: restore, storeName: name) { result in
                    switch result {
                    case .failure(let error): continuation.resume(returning: .failure(error))
                    case .success(let loaded):
                        core.wrapped.add(loaded) { continuation.resume(returning: $0) }
                    }
                }.start()
            }
        }
        let part = try loaded.get()
        backlog.lanes += part.lanes
        backlog.times += part.times
        if let due = part.nextDue { backlog.nextDue = min(backlog.nextDue ?? due, due) }
    }
}
