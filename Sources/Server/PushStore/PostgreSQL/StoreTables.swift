import PushLoop
import PushModel
import PushPostgreSQL
package import PushTime
import PushWire

/// The tables of a cluster: making them, and what they say about themselves.
package struct StoreTables: Sendable {
    /// What never changes in a store.
    struct Facts: Sendable {
        let map: PartitionMap
        let identities: Identities
        let incarnation: [UInt8]
    }

    private let call: StoreCall

    init(_ call: StoreCall) {
        self.call = call
    }

    /// Connects to a database and makes the tables in it.
    package static func create(_ settings: PostgreSQLLedger.Settings, parts: Int, at time: WallTime) async throws {
        let loop = EventLoop(name: "store")
        do {
            let sessions = try await StoreSessions.open(1, on: loop, settings, within: .seconds(30))
            let session = await sessions.with { LoopBound($0[0], on: loop) }
            let created: Result<Void, any Error>
            do {
                try await StoreTables(StoreCall(session, gate: LoopGate(loop), name: "\(settings.options)")).create(
                    parts: parts, at: time)
                created = .success(())
            } catch {
                created = .failure(error)
            }
            await session.with { $0.stop() }
            try created.get()
            await loop.shutDown()
        } catch {
            await loop.shutDown()
            throw error
        }
    }

    /// Makes the tables. The number of parts is fixed for life.
    func create(parts: Int, at time: WallTime) async throws {
        guard parts >= 1, parts <= EventNumber.maxParts else {
            throw StoreError(
                .cannotOpen, "the number of partitions must be between 1 and \(EventNumber.maxParts); got \(parts)")
        }
        _ = try await call.run(Self.creation(parts: parts, at: time))
    }

    /// Returns what makes all tables in one transaction, with a secret and an incarnation of their own.
    static func creation(parts: Int, at time: WallTime) -> @Sendable (PostgreSQLSection) -> Void {
        let secret = random(32)
        let incarnation = newIncarnation()
        return { section in
            for sql in StoreSchema.tables + SharedStatements.tables + RegistryTables.all {
                section.call(.once(sql: sql))
            }
            section.call(StoreSchema.addStore) { parameters in
                parameters.append(int4: StoreSchema.version)
                parameters.append(int4: Int32(clamping: parts))
                parameters.append(int4: PartitionMap.Rule.id.rawValue)
                parameters.append(bytea: secret)
                parameters.append(bytea: incarnation)
            }
            section.call(StoreSchema.addLeases) { $0.append(int4: Int32(clamping: parts)) }
            section.call(StoreSchema.addHorizons)
            for sql in partitions(besides: [], at: time) { section.call(.once(sql: sql)) }
        }
    }

    static func newIncarnation() -> [UInt8] { random(16) }

    private static func random(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max) }
    }

    func read() async throws -> Facts {
        let reply = await call.reply { $0.call(StoreStatements.store) }
        if case .refused(let failure) = reply, failure.sqlState == .unknownTable {
            throw StoreError(.unsuitable, StoreSchema.absence(in: call.name))
        }
        let result = try call.results(of: reply)[0]
        guard result.rowCount == 1 else {
            throw StoreError(.damaged, "the table carillon.store has \(result.rowCount) rows; expected one")
        }
        let row = try result.row()
        let version: Int32 = try row.value(0)
        if let fault = StoreSchema.fault(of: version) { throw StoreError(.newerVersion, fault) }
        guard let identities = Identities(secret: try row.value(3)) else {
            throw StoreError(.damaged, "the secret in the table carillon.store is invalid; restore it from a backup")
        }
        let map = try PartitionMap(parts: try row.value(1), rule: try row.value(2))
        return Facts(map: map, identities: identities, incarnation: try row.value(4))
    }

    func readClock() async throws -> ClockReading {
        let sent = MonotonicTime.sinceBoot()
        let time: PostgreSQLTimestamp = try await call.run("SELECT clock_timestamp()").row().value(0)
        return ClockReading(time.wallTime, sent: sent, received: .sinceBoot())
    }

    // MARK: Partitions of tables

    private static let daysAhead: Int64 = 3
    private static let hoursAhead: Int64 = 30

    /// Makes the partitions for the coming days and hours that do not exist.
    func addPartitions(at time: WallTime) async throws {
        for attempt in 1... {
            let missing = try await missingPartitions(at: time)
            if missing.isEmpty { return }
            do {
                _ = try await call.run { section in
                    for sql in missing { section.call(.once(sql: sql)) }
                }
                return
            } catch {
                // Another node makes the same partitions.
                if attempt == 3 { throw error }
            }
        }
    }

    private func missingPartitions(at time: WallTime) async throws -> [String] {
        Self.partitions(besides: Set(try await partitions()), at: time)
    }

    /// Returns the statements that make the partitions for the coming days and hours, besides those that exist.
    private static func partitions(besides existing: Set<String>, at time: WallTime) -> [String] {
        let day = time.milliseconds / 86_400_000
        let hour = time.milliseconds / 3_600_000
        var missing: [String] = []
        for number in (day - 1)...(day + daysAhead) where !existing.contains("groups_\(number)") {
            missing += StoreSchema.groupsPartition(Int32(clamping: number))
        }
        for number in (hour - 1)...(hour + hoursAhead) where !existing.contains("bodies_\(number)") {
            missing += StoreSchema.bodiesPartition(Int32(clamping: number))
        }
        return missing
    }

    /// Returns the days for which `groups` has a partition.
    func groupDays() async throws -> Set<Int32> {
        Set(try await partitions().compactMap { $0.hasPrefix("groups_") ? Int32($0.dropFirst(7)) : nil })
    }

    /// Returns the names of the partitions of tables.
    private func partitions() async throws -> [String] {
        let result = try await call.run(
            "SELECT relname FROM pg_class WHERE relnamespace = 'carillon'::regnamespace AND relispartition "
                + "AND relkind = 'r'")
        return try result.rows.map { try $0.value(0, as: String.self) }
    }

    /// Drops the partitions that no part needs, each in a transaction of its own.
    ///
    /// A drop locks the whole table, so that writers wait for it. It gives up after a moment, and is tried again with the
    /// next call: a reader of the log may keep the table for long. Any node may call this, and several at once.
    func removePartitions() async throws {
        let limits = try await call.run("SELECT min(day), min(hour) FROM carillon.horizons").row()
        let (day, hour) = (try limits.value(0, as: Int32.self), try limits.value(1, as: Int32.self))
        for name in try await partitions().sorted() {
            let limit = name.hasPrefix("groups_") ? day : hour
            guard let number = name.split(separator: "_").last.flatMap({ Int32($0) }), number < limit else { continue }
            _ = try await call.run { section in
                section.call(StoreStatements.limitLocks)
                section.call(.once(sql: "DROP TABLE IF EXISTS carillon.\(name)"))
            }
        }
    }
}

extension StoreStatements {
    static let limitLocks = PostgreSQLStatement.once(sql: "SELECT set_config('lock_timeout', '100ms', true)")
}

extension PartitionMap {
    /// Creates the map of a store from two columns of the table `store`.
    init(parts: Int32, rule: Int32) throws(StoreError) {
        guard let rule = Rule(rawValue: rule) else {
            throw StoreError(.damaged, "the table carillon.store has an invalid rule for partitions: \(rule)")
        }
        guard let map = PartitionMap(count: Int(parts), by: rule) else {
            throw StoreError(.damaged, "the table carillon.store has an invalid number of partitions: \(parts)")
        }
        self = map
    }
}
