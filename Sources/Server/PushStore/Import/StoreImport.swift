import PushLogic
import PushModel
import PushPostgreSQL
package import PushTime
import PushWire

/// The import of the data directory of a single node into a new store.
///
/// While it lasts, no node can use the store. An import that was interrupted is repeated from the start. The directory is
/// marked before the store becomes usable, so that the messages are never sent by both.
package struct StoreImport: Sendable {
    package struct Summary: Sendable {
        package var facts: StoreFacts
        /// The messages that wait, and those that are scheduled.
        package var waiting = 0
        package var scheduled = 0
        /// The messages whose repetitions are recognized.
        package var remembered = 0
        /// Those of them whose partition is not known, so that all partitions have them.
        package var inAllPartitions = 0
        package var events = 0
        package var devices = 0
        package var keys = 0
        package var webhooks = 0
    }

    private let access: StoreAccess
    /// A single node's data directory, whose lock the caller holds.
    private let directory: String
    /// The key in the file `api.key`; nil if there is none.
    private let sealing: [UInt8]?
    private let webhooks: [ImportedWebhook]
    private let clock: @Sendable () -> WallTime

    package init(
        _ access: StoreAccess, from directory: String, sealing: [UInt8]?, webhooks: [ImportedWebhook] = [],
        clock: @escaping @Sendable () -> WallTime = { .current() }
    ) {
        self.access = access
        self.directory = directory
        self.sealing = sealing
        self.webhooks = webhooks
        self.clock = clock
    }

    package func run() async throws -> Summary {
        let source = try SourceLedger(in: directory)
        let mark = try source.mark()
        if let mark, mark != "\(access.options)" {
            throw StoreError(
                .unsuitable,
                "\(directory) was imported into the store \(mark); name that store to repeat an import that was "
                    + "interrupted")
        }
        // A marked directory has done this before.
        if mark == nil { try await applyLog() }
        return try await access.visit { call, _ in
            let facts = try await Self.begin(call, secret: try source.secret(), isMarked: mark != nil)
            let task = ImportTask(call, map: facts.map, now: clock())
            var summary = Summary(facts: facts.facts)
            let counts = try await task.copyLedger(source, webhooks: webhooks)
            (summary.waiting, summary.scheduled) = (counts.messages, counts.scheduled)
            (summary.remembered, summary.inAllPartitions) = (counts.keys, counts.keysInAllParts)
            summary.events = counts.events
            summary.webhooks = webhooks.count
            (summary.devices, summary.keys) = try await task.copyRegistry(in: directory)
            try source.setMark("\(access.options)")
            _ = try await call.run { section in
                section.call(ImportStatements.finish) { parameters in
                    parameters.append(int4: StoreSchema.version)
                    if let sealing { parameters.append(bytea: sealing) } else { parameters.appendNull() }
                }
            }
            summary.facts = try await StoreSetup.facts(call)
            return summary
        }
    }

    /// Applies to the registry what it has not yet applied of the log, as the next start of the node would.
    private func applyLog() async throws {
        var settings = SQLiteLedger.Settings(directory: directory)
        settings.clock = clock
        let (ledger, _) = try await SQLiteLedger.open(settings)
        do {
            let registry = try await SQLiteRegistry.open(
                directory: directory, identities: ledger.identities, note: { await ledger.note($0) })
            do {
                try await registry.catchUp(from: ledger)
            } catch {
                await registry.close()
                throw error
            }
            await registry.close()
        } catch {
            await ledger.close()
            throw error
        }
        await ledger.close()
    }

    /// Makes sure that the store is new, or that an import of the same directory was interrupted, and empties it.
    private static func begin(
        _ call: StoreCall, secret: [UInt8], isMarked: Bool
    ) async throws -> (facts: StoreFacts, map: PartitionMap) {
        guard try await call.run({ $0.call(ImportStatements.lock) })[0].row().value(0, as: Bool.self) else {
            throw StoreError(.unsuitable, "another import into \(call.name) is under way; wait for its end")
        }
        let presence = try await StoreSetup.presence(call)
        guard presence.hasStore else {
            throw StoreError(
                .unsuitable, "the database \(presence.database) has no store; make one with 'carillon store init'")
        }
        let facts = try await StoreSetup.facts(call)
        switch facts.version {
        case StoreSchema.unfinishedImport:
            let row = try await call.run("SELECT secret, to_jsonb(s) ? 'part_rule' FROM carillon.store s").row()
            guard try row.value(1, as: Bool.self) else {
                throw StoreError(
                    .unsuitable,
                    "an earlier version of Carillon began the import into \(call.name); finish it with that version, or "
                        + "drop the schema carillon and run 'carillon store init'")
            }
            guard try row.value(0, as: [UInt8].self) == secret else {
                throw StoreError(
                    .unsuitable,
                    "an import of another directory into \(call.name) has not ended; repeat that one, or make a new store"
                )
            }
        case StoreSchema.version:
            if isMarked {
                throw StoreError(
                    .unsuitable, "the directory was imported into \(call.name) before; start nodes with this store")
            }
            let used: String? = try await call.run { $0.call(ImportStatements.used) }[0].row().optional(0)
            if let used {
                throw StoreError(
                    .unsuitable, "the store \(call.name) is not new: \(used); import into a new store")
            }
        default:
            throw StoreError(.newerVersion, facts.versionFault ?? "the store has another version")
        }
        _ = try await call.run { section in
            section.call(ImportStatements.begin) { parameters in
                parameters.append(int4: StoreSchema.unfinishedImport)
                parameters.append(bytea: secret)
            }
            section.call(ImportStatements.empty)
        }
        let row = try await call.run("SELECT parts, part_rule FROM carillon.store").row()
        return (facts, try PartitionMap(parts: try row.value(0), rule: try row.value(1)))
    }
}
