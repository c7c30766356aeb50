import PushModel
import PushPostgreSQL
import PushTime

/// The changes of a store that operators make: they create it, bring it to the version of this program, and declare it
/// restored.
package struct StoreSetup: Sendable {
    private let access: StoreAccess

    package init(_ access: StoreAccess) {
        self.access = access
    }

    package static var maxPartitions: Int { EventNumber.maxParts }

    // MARK: Create

    /// Makes the tables of a store, all of them in one transaction. Returns what was made.
    package func create(partitions: Int) async throws -> StoreFacts {
        guard (1...Self.maxPartitions).contains(partitions) else {
            throw StoreError(
                .unsuitable,
                "the number of partitions must be from 1 to \(Self.maxPartitions), not \(partitions)")
        }
        // A standby may be added later; a node does not start without one.
        return try await access.visit(durability: .single) { call, info in
            let presence = try await Self.presence(call)
            if presence.hasSchema { throw await Self.existing(presence, over: call) }
            if let fault = presence.encodingFault { throw StoreError(.unsuitable, fault) }
            let now = WallTime.current().adding(milliseconds: info.clockOffset.wholeMilliseconds)
            switch await call.reply(StoreTables.creation(parts: partitions, at: now)) {
            case .done: return try await Self.facts(call)
            case .refused(let failure): throw await Self.explain(failure, in: presence, over: call)
            case .notSent(let reason):
                throw StoreError(.cannotOpen, "cannot make the store; nothing was changed: \(call.name): \(reason)")
            case .unknown(let reason):
                throw StoreError(
                    .cannotWrite,
                    "it is not known whether the store was made: \(call.name): \(reason); run 'carillon store check', "
                        + "and repeat the command if there is no store")
            }
        }
    }

    static func presence(_ call: StoreCall) async throws -> StorePresence {
        try StorePresence(try await call.run { $0.call(StorePresence.statement) }[0].row())
    }

    /// Returns the error of a database that has a schema of this name.
    private static func existing(_ presence: StorePresence, over call: StoreCall) async -> StoreError {
        guard presence.hasStore else {
            return StoreError(
                .unsuitable,
                "the database \(presence.database) has a schema named carillon that is not a store of Carillon; rename "
                    + "the schema, or name another database")
        }
        let facts: StoreFacts
        do {
            facts = try await self.facts(call)
        } catch {
            return StoreError(
                .unsuitable,
                "the database \(presence.database) has a store already, which cannot be read: \(error); name another "
                    + "database")
        }
        return StoreError(
            .unsuitable,
            "the database \(presence.database) has a store already, with version \(facts.version) of the tables and "
                + "\(facts.partitions) partitions, made at \(facts.created.iso8601); use it as it is, or name another "
                + "database")
    }

    private static func explain(
        _ failure: PostgreSQLFailure, in presence: StorePresence, over call: StoreCall
    ) async -> StoreError {
        switch failure.sqlState {
        case .insufficientPrivilege:
            return StoreError(
                .notPermitted,
                "the user \(presence.user) may not create a schema in the database \(presence.database): "
                    + "\(failure.message); let the owner of the database run GRANT CREATE ON DATABASE "
                    + "\"\(presence.database)\" TO \"\(presence.user)\"")
        case .duplicateSchema, .uniqueViolation:
            // Another command has made a store at the same time.
            guard let found = try? await self.presence(call) else { break }
            return await existing(found, over: call)
        default: break
        }
        return StoreError(.cannotWrite, "cannot make the store; nothing was changed: \(call.name): \(failure)")
    }

    // MARK: Migrate

    /// Brings the tables to the version of this program, in one transaction. Returns the store and the version that it
    /// had before.
    package func migrate() async throws -> (facts: StoreFacts, earlier: Int32) {
        try await access.visit(durability: .single) { call, _ in
            let facts = try await Self.presentFacts(call)
            guard StoreSchema.migrations[facts.version] != nil else {
                if let fault = facts.versionFault { throw StoreError(.newerVersion, fault) }
                return (facts, facts.version)
            }
            let nodes = try await Self.liveNodes(call)
            guard nodes.isEmpty else {
                throw StoreError(
                    .unsuitable,
                    "nodes still run on the store: \(nodes.joined(separator: ", ")); stop them, or wait until their "
                        + "leases have ended, and repeat the command")
            }
            let reply = await call.reply { section in
                for version in facts.version..<StoreSchema.version {
                    for sql in StoreSchema.migrations[version] ?? [] { section.call(.once(sql: sql)) }
                }
                section.call(Self.setVersion) { $0.append(int4: StoreSchema.version) }
            }
            switch reply {
            case .done: return (try await Self.facts(call), facts.version)
            case .refused(let failure):
                throw StoreError(
                    .cannotWrite, "cannot change the tables; nothing was changed: \(call.name): \(failure)")
            case .unknown(let reason), .notSent(let reason):
                throw StoreError(
                    .cannotWrite,
                    "it is not known whether the tables were changed: \(call.name): \(reason); repeat the command, which "
                        + "is harmless")
            }
        }
    }

    private static let setVersion = PostgreSQLStatement.once(
        sql: "UPDATE carillon.store SET version = $1", parameters: [.int4])

    // MARK: Restored

    /// Gives the store another incarnation, so that nodes which have joined it before the restore stop. Returns the store
    /// with its new incarnation.
    ///
    /// The epochs of all partitions are raised by more than they can have grown since the backup. A node that still
    /// believes to own a partition of the lost database can therefore write nothing.
    package func declareRestored() async throws -> StoreFacts {
        try await access.visit(durability: .single) { call, _ in
            _ = try await Self.existingFacts(call)
            let incarnation = StoreTables.newIncarnation()
            let reply = await call.reply { section in
                // Writers lock single rows of this table. Without the lock, an update of all rows could wait for them in
                // a circle. The server allows the statement in a block only.
                section.call(
                    .once(sql: "DO $$ BEGIN LOCK TABLE carillon.leases IN EXCLUSIVE MODE; END $$"))
                section.call(Self.replaceIncarnation) { $0.append(bytea: incarnation) }
                section.call(.once(sql: "UPDATE carillon.leases SET epoch = epoch + \(Self.epochStep)"))
            }
            switch reply {
            case .done: return try await Self.facts(call)
            case .refused(let failure):
                throw StoreError(.cannotWrite, "cannot change the store; nothing was changed: \(call.name): \(failure)")
            case .unknown(let reason), .notSent(let reason):
                throw StoreError(
                    .cannotWrite,
                    "it is not known whether the store was changed: \(call.name): \(reason); repeat the command, which "
                        + "is harmless")
            }
        }
    }

    /// An epoch grows by one with each change of the owner of a partition.
    private static let epochStep: Int64 = 1 << 32

    private static let replaceIncarnation = PostgreSQLStatement.once(
        sql: "UPDATE carillon.store SET incarnation = $1", parameters: [.bytea])

    /// Returns the names of the nodes whose leases have not ended.
    package func liveNodes() async throws -> [String] {
        try await access.visit(durability: .single) { call, _ in
            _ = try await Self.existingFacts(call)
            return try await Self.liveNodes(call)
        }
    }

    private static func liveNodes(_ call: StoreCall) async throws -> [String] {
        let result = try await call.run(
            "SELECT id FROM carillon.nodes WHERE state IN ('live', 'draining') AND until >= clock_timestamp() "
                + "ORDER BY id")
        return try result.rows.map { try $0.value(0, as: String.self) }
    }

    // MARK: Facts

    /// Returns the facts of a store that this program can use.
    static func existingFacts(_ call: StoreCall) async throws -> StoreFacts {
        let facts = try await presentFacts(call)
        if let fault = facts.versionFault { throw StoreError(.newerVersion, fault) }
        return facts
    }

    /// Returns the facts of a store of any version.
    private static func presentFacts(_ call: StoreCall) async throws -> StoreFacts {
        let presence = try await presence(call)
        guard presence.hasStore else {
            throw StoreError(.unsuitable, StoreSchema.absence(in: presence.database))
        }
        return try await facts(call)
    }

    static func facts(_ call: StoreCall) async throws -> StoreFacts {
        let result: PostgreSQLResult
        switch await call.reply({ $0.call(StoreFacts.statement) }) {
        case .done(let results):
            guard let first = results.first, first.rowCount == 1 else {
                throw StoreError(
                    .damaged,
                    "the table carillon.store does not have exactly one row; restore the database from a backup")
            }
            result = first
        case .refused(let failure) where failure.sqlState == .insufficientPrivilege:
            throw StoreError(
                .notPermitted,
                "this user may not read the store: \(failure.message); connect as the user that made it")
        case .refused(let failure): throw StoreError(.cannotRead, "\(call.name): \(failure)")
        case .unknown(let reason), .notSent(let reason): throw StoreError(.cannotRead, "\(call.name): \(reason)")
        }
        return try StoreFacts(try result.row())
    }
}
