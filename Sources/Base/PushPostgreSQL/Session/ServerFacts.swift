import PushTime

/// What the check at each connect reads from the server, and what is wrong with it.
struct ServerFacts: Hashable {
    var version: Int32 = 0
    var isInRecovery = false
    var fsync = ""
    var fullPageWrites = ""
    var synchronousCommit = ""
    var synchronousStandbys = ""
    var systemIdentifier: Int64 = 0
    var timeline: Int64 = 0
    var time = PostgreSQLTimestamp(microseconds: 0)

    /// The timeline is that of the log, because the control file has the old one until the checkpoint that follows a
    /// promotion. A standby has no current position in the log.
    ///
    /// The session keeps the `synchronous_commit` that it reads here. Otherwise commits would not wait for a disk any more
    /// from the reload of a server with an unsafe one until the next check.
    static let statement = PostgreSQLStatement(
        "check-server",
        sql: """
            SELECT current_setting('server_version_num')::int4, pg_is_in_recovery(), current_setting('fsync'),
                current_setting('full_page_writes'),
                set_config('synchronous_commit', current_setting('synchronous_commit'), false),
                current_setting('synchronous_standby_names'),
                (SELECT system_identifier FROM pg_control_system()),
                CASE WHEN pg_is_in_recovery() THEN 0
                    ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int4 END,
                clock_timestamp()
            """)

    init() {}

    init(_ row: PostgreSQLRow) throws(PostgreSQLValueError) {
        version = try row.value(0)
        isInRecovery = try row.value(1)
        fsync = try row.value(2)
        fullPageWrites = try row.value(3)
        synchronousCommit = try row.value(4)
        synchronousStandbys = try row.value(5)
        systemIdentifier = try row.value(6)
        timeline = try row.value(7)
        time = try row.value(8)
    }

    static let oldestVersion: Int32 = 150_000

    /// All reasons why the server must not be used, the gravest one first, and what to change.
    func faults(at target: PostgreSQLTarget, durability: PostgreSQLDurability) -> [String] {
        var faults: [String] = []
        if version < Self.oldestVersion {
            faults.append("the server \(target) has version \(version / 10_000); upgrade it to PostgreSQL 15 or newer")
        }
        if isInRecovery {
            faults.append(
                "the server \(target) is a standby and accepts no writes; connect to the primary, or promote it")
        }
        if fsync != "on" {
            faults.append(
                "the server \(target) has fsync = \(fsync), and a crash would lose acknowledged messages; set "
                    + "fsync = on in postgresql.conf")
        }
        if fullPageWrites != "on" {
            faults.append(
                "the server \(target) has full_page_writes = \(fullPageWrites), and a crash can damage its data; "
                    + "set full_page_writes = on in postgresql.conf")
        }
        if !["on", "remote_apply"].contains(synchronousCommit) {
            faults.append(
                "the server \(target) has synchronous_commit = \(synchronousCommit) for this user, and commits do "
                    + "not wait for the disk of the standby; set synchronous_commit = on for the server, the database, "
                    + "and the role")
        }
        // A standby has no standbys of its own until it is promoted.
        if durability == .replicated, !isInRecovery, synchronousStandbys.allSatisfy(\.isWhitespace) {
            faults.append(
                "the server \(target) has no synchronous standby, and its loss would lose acknowledged messages; "
                    + "set synchronous_standby_names, or set durability to \"single\" to run without a standby")
        }
        return faults
    }

    /// - Parameters:
    ///   - sent: The time of this machine when the check was sent.
    ///   - received: The time of this machine when the answer arrived.
    func info(at target: PostgreSQLTarget, sent: WallTime, received: WallTime) -> ServerInfo {
        let roundTrip = max(0, received.milliseconds(since: sent))
        let middle = sent.adding(milliseconds: roundTrip / 2)
        return ServerInfo(
            target: target, version: version, systemIdentifier: systemIdentifier, timeline: timeline,
            synchronousStandbys: synchronousStandbys,
            clockOffset: .milliseconds(time.wallTime.milliseconds(since: middle)),
            roundTrip: .milliseconds(roundTrip), isStandby: isInRecovery)
    }
}
