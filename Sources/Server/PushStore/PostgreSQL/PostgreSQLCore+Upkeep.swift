import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import PushWire

/// The removal of what is not needed any more, by dropping partitions of the tables.
///
/// Each part has a horizon: the first day of `groups` and the first hour of `bodies` that it needs. Its owner moves the
/// horizon on, and copies the messages that wait for long into a later hour before. The owner of the first part drops
/// the partitions that lie before all horizons. Nothing is written before a horizon, so that a drop needs no clock.
///
/// Groups are not copied, because a reader would find their events twice: the partition of a day stays while an old
/// message waits, while the table `bodies` has messages that a group of the day may have completed, and while a part has
/// no later group, whose number the next one continues.
extension PostgreSQLCore {
    struct Upkeep {
        /// When the horizons of the parts were examined last.
        var last: WallTime?
        var isRemovingPartitions = false
    }

    /// The time between two examinations.
    private static let upkeepInterval: Int64 = 60_000
    /// For how long the bodies of a waiting message stay in the partition of their hour.
    static let hoursKept: Int32 = 6
    private static let rowsAtOnce: Int64 = 16
    private static let timeout: Duration = .seconds(60)

    /// The time for which partitions of the tables are needed. It is later than the clock shows if that was set back.
    var partitionTime: WallTime { parts.values.reduce(settings.clock()) { max($0, $1.horizon.time) } }

    func upkeepIfDue() {
        let now = settings.clock()
        if let last = upkeep.last, now >= last, now.milliseconds(since: last) < Self.upkeepInterval { return }
        upkeep.last = now
        for part in parts.values where part.isOpen { part.isUpkeepDue = true }
        if exchange(&upkeep.isRemovingPartitions, with: true) { return }
        let (tables, time, gate, failed) = (tables, partitionTime, gate, settings.failed)
        let removes = parts[0]?.isOpen == true
        let ended = LoopBound<() -> Void>({ [weak self] in self?.upkeep.isRemovingPartitions = false }, on: loop)
        Task {
            do {
                try await tables.addPartitions(at: time)
                if removes { try await tables.removePartitions() }
            } catch {
                failed("the partitions of the ledger's tables are not up to date, retrying: \(error)")
            }
            _ = gate.execute { ended.wrapped() }
        }
    }

    /// Moves the horizon of a part on, which is not busy. No group of the part is stored meanwhile, so that no message is
    /// overlooked.
    func upkeep(_ part: LedgerPart) {
        part.isBusy = true
        part.isUpkeepDue = false
        let age = age()
        let hour = LedgerHorizon.hour(of: settings.clock())
        let kept = max(retention.window, retention.logAge)
        let section = PostgreSQLSection()
        section.call(StoreStatements.moveHorizon) { parameters in
            parameters.append(int4: Int32(part.part))
            parameters.append(int8: part.epoch)
            parameters.append(int4: max(LedgerHorizon.hour(of: age) - Self.hoursKept, 0))
            parameters.append(int8Array: part.machine.dedupe.pending.rows.lazy.map { Int64(bitPattern: $0) })
            parameters.append(int4: max(hour, part.horizon.hour))
            parameters.append(int8: Self.rowsAtOnce)
            parameters.append(int4: LedgerHorizon.day(of: age - kept))
            parameters.append(int8Array: part.lookup.keptRows.lazy.map { Int64(bitPattern: $0) })
            parameters.append(int8: Int64(bitPattern: part.lookup.forgottenUpTo))
        }
        section.call(StoreStatements.oldestGroup) { $0.append(int4: Int32(part.part)) }
        reads.send(section, timeout: Self.timeout) { [weak self] reply in
            guard let self else { return }
            // A failure is tried again with the next examination.
            if case .done(let results) = reply, part.phase != .gone { try? horizonMoved(of: part, results) }
            isFree(part)
            flushLane(of: part)
        }
    }

    private func horizonMoved(of part: LedgerPart, _ results: [PostgreSQLResult]) throws {
        if let row = results[0].rows.first(where: { _ in true }) {
            part.horizon = LedgerHorizon(day: try row.value(0), hour: try row.value(1))
            // Not all messages were copied.
            part.isUpkeepDue = try row.value(2)
        }
        if let oldest: Int64 = try results[1].row().optional(0) { part.oldest = UInt64(bitPattern: oldest) }
    }
}

extension StoreStatements {
    /// Copies messages that wait in old hours to a later one, and moves the horizon on if none is left. Returns the
    /// horizon, and whether messages are left.
    ///
    /// A part that is read takes the messages in `bodies` as waiting unless a group says that they are completed. The
    /// oldest of these groups is that of the oldest message. Days are compared one by one, because a clock that was set
    /// back puts a later group into an earlier day.
    static let moveHorizon = PostgreSQLStatement(
        "move-horizon",
        sql: """
            WITH held AS MATERIALIZED (
                SELECT part FROM carillon.leases WHERE part = $1 AND epoch = $2 FOR SHARE),
            moved AS (
                INSERT INTO carillon.bodies (part, number, hour, time, heads, bodies)
                SELECT part, number, $5, time, heads, bodies FROM carillon.bodies AS old JOIN held USING (part)
                WHERE hour < $3 AND number = ANY($4) AND NOT EXISTS (
                    SELECT 1 FROM carillon.bodies AS new
                    WHERE new.part = $1 AND new.number = old.number AND new.hour >= $3)
                ORDER BY number LIMIT $6 ON CONFLICT DO NOTHING RETURNING number),
            oldest AS MATERIALIZED (SELECT min(number) AS body FROM carillon.bodies WHERE part = $1),
            days AS MATERIALIZED (
                SELECT substring(relname FROM '^groups_([0-9]+)$')::int AS day FROM pg_class
                WHERE relnamespace = 'carillon'::regnamespace AND relispartition),
            completing AS (
                SELECT min(days.day) AS day FROM oldest, days, LATERAL (
                    SELECT 1 FROM carillon.groups
                    WHERE part = $1 AND groups.day = days.day AND number >= coalesce(
                        (SELECT number FROM carillon.groups WHERE part = $1 AND number <= oldest.body
                            ORDER BY number DESC LIMIT 1), oldest.body)
                    ORDER BY number LIMIT 1) AS found
                WHERE days.day < $7),
            needed AS (
                SELECT least($7, (SELECT day FROM completing),
                    (SELECT day FROM carillon.groups WHERE part = $1 ORDER BY number DESC LIMIT 1),
                    (SELECT min(day) FROM carillon.groups WHERE part = $1 AND number = ANY($8)),
                    (SELECT day FROM carillon.groups WHERE part = $1 AND number > $9 ORDER BY number LIMIT 1)) AS first)
            UPDATE carillon.horizons SET
                hour = CASE WHEN (SELECT count(*) FROM moved) < $6 THEN greatest(hour, $3) ELSE hour END,
                day = greatest(day, (SELECT first FROM needed))
            FROM held WHERE horizons.part = held.part
            RETURNING day, hour, (SELECT count(*) FROM moved) = $6
            """,
        parameters: [.int4, .int8, .int4, .int8Array, .int4, .int8, .int4, .int8Array, .int8])
    static let oldestGroup = PostgreSQLStatement(
        "oldest-group", sql: "SELECT min(number) FROM carillon.groups WHERE part = $1", parameters: [.int4])
}
