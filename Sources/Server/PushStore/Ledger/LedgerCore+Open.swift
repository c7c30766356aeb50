import PushLogic
import PushModel
import PushTime
import PushWire

/// Opening the ledger: its state in memory is rebuilt from the rows.
extension LedgerCore {
    static func open(_ settings: SQLiteLedger.Settings) throws(StoreError) -> (LedgerCore, LedgerBacklog) {
        let registry = try RegistryMark.read(ofStopped: "\(settings.directory)/registry.db")
        let connection = try connect(settings, registry)
        let identities = try LedgerSchema.identities(connection)
        try registry.check(identities, in: settings.directory)
        let core = LedgerCore(
            try SQLiteRows(connection), identities, try numbering(connection), age: try storedAge(connection),
            settings: settings)
        core.ahead.logDate = try LogDate.read(connection, next: core.machine.writer.next)
        try core.readLog()
        try core.readTraces()
        let (messages, times) = try core.readMessages()
        var lanes = messages
        try core.readScheduled()
        let stored = try core.readKeys()
        let rows = core.rows
        try core.machine.dedupe.finishRestoring { (seq) throws(StoreError) in try rows.key(of: seq) }
        rows.keyRow = nil
        lanes.removeDone(by: core.machine.dedupe.pending)
        for (lane, seqs) in lanes.lanes { core.machine.backlog.add(lane.app, waiting: seqs.count) }
        try core.readCancels()
        lanes.removeDone(by: core.machine.dedupe.pending)
        var backlog = LedgerBacklog(
            times: times, nextDue: try core.nextDue(), paused: try pausedApps(connection))
        backlog.restored = try RestoreRecord.unannounced(in: connection, heads: core.machine.writer.topics)
        backlog.openErasures = try openErasures(connection)
        backlog.lanes = lanes.lanes
        backlog.stored = stored
        core.publish(isWhole: true)
        return (core, backlog)
    }

    private static func connect(
        _ settings: SQLiteLedger.Settings, _ registry: RegistryMark
    ) throws(StoreError) -> SQLiteConnection {
        let lost = try LostTransactions.saved(of: settings.path)
        let connection = try SQLiteConnection(settings.path)
        let isNew = try LedgerSchema.version(of: connection) == 0
        let secret = isNew ? try registry.secretOfNewLedger(in: settings.directory) : nil
        try connection.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY")
        // Overwrite deleted content in pages that are written anyway. Pages that become free are not written once more;
        // the erasure of a user overwrites them.
        try connection.run("PRAGMA secure_delete = FAST")
        // Another thread copies pages out of the write-ahead log. A log file that has grown is truncated when the log
        // restarts.
        try connection.run("PRAGMA wal_autocheckpoint = 0")
        try connection.run("PRAGMA journal_size_limit = \(settings.logLimit)")
        connection.followLog()
        try LedgerSchema.prepare(connection, secret: secret)
        try ImportRecord.refuse(connection)
        if let missing = try MissingEvents.leaveOut(
            lost, applied: max(settings.reached, registry.reached(besideNew: isNew)), in: connection,
            at: settings.clock())
        {
            settings.eventsMissing(missing)
        }
        // Truncate a large log that a killed process has left. If the disk fails here, the next write reports it.
        try? connection.checkpoint(.truncate)
        settings.files.add(database: settings.path)
        return connection
    }

    private static func numbering(_ connection: SQLiteConnection) throws(StoreError) -> LogWriter {
        let last = try connection.prepare("SELECT first + count FROM log ORDER BY first DESC LIMIT 1")
        let logged = try last.step() ? last.word(0) : 1
        last.reset()
        try check(connection, logged, "log")
        let gap = try LogGap.all(in: connection).last?.upperBound ?? 0
        let next = max(logged, gap + 1)
        let heads = try connection.prepare("SELECT app, kind, seq FROM heads")
        var known: [LogWriter.Head] = []
        while try heads.step() {
            guard let kind = EventKind(rawValue: UInt8(clamping: heads.number(1))) else { continue }
            try check(connection, heads.word(2), "heads")
            known.append(LogWriter.Head(app: AppID(heads.text(0)), kind: kind, seq: heads.word(2)))
        }
        return LogWriter(next: next, heads: known)
    }

    /// Throws `damaged` if a number is too large or negative. Numbers ascend from 1 and never reach the limit, so such
    /// a number comes from a damaged file, and calculations with it would be wrong.
    private static func check(
        _ connection: SQLiteConnection, _ number: UInt64, count: Int = 0, _ table: String
    ) throws(StoreError) {
        let (end, overflow) = number.addingReportingOverflow(UInt64(clamping: count))
        guard !overflow, end <= FingerprintTable.maximumValue else {
            throw StoreError(
                .damaged,
                "\(connection.path) is damaged: the table \(table) contains the invalid number "
                    + "\(Int64(bitPattern: number)); restore it from a backup")
        }
    }

    private func check(_ number: UInt64, count: Int = 0, _ table: String) throws(StoreError) {
        try Self.check(connection, number, count: count, table)
    }

    private static func pausedApps(_ connection: SQLiteConnection) throws(StoreError) -> [AppID: WallTime] {
        let rows = try connection.prepare(
            "SELECT substr(name, 8), value FROM meta WHERE name > 'paused/' AND name < 'paused0'")
        var paused: [AppID: WallTime] = [:]
        while try rows.step() {
            if let app = AppID(rows.text(0)) { paused[app] = rows.time(1) }
        }
        return paused
    }

    private static func storedAge(_ connection: SQLiteConnection) throws(StoreError) -> AgeClock.Stored? {
        let find = try connection.prepare(
            """
            SELECT value, (SELECT value FROM meta WHERE name = 'age_ahead_since') FROM meta WHERE name = 'age'
            """)
        guard try find.step() else { return nil }
        return AgeClock.Stored(time: find.time(0), aheadSince: find.isNull(1) ? nil : find.time(1))
    }

    private func readLog() throws(StoreError) {
        let begin = try connection.prepare("SELECT first FROM log ORDER BY first LIMIT 1")
        let first = try begin.step() ? begin.number(0) : 0
        begin.reset()
        logBytes = try LogSize.read(connection, oldest: UInt64(bitPattern: first))
        oldest = first > 0 ? min(UInt64(first), machine.writer.next) : machine.writer.next
    }

    /// Reads the heads of all stored messages. Their bodies stay on disk.
    private func readMessages() throws(StoreError) -> (WaitingLanes, times: [(first: UInt64, time: WallTime)]) {
        let rows = try connection.prepare("SELECT first, count, apps, heads, time FROM messages ORDER BY first")
        var lanes = WaitingLanes()
        var times: [(first: UInt64, time: WallTime)] = []
        while try rows.step() {
            let first = rows.word(0)
            try check(first, count: Int(clamping: rows.number(1)), "messages")
            let apps = MessageRow.apps(rows.text(2))
            let size = unsafe rows.withBlob(3) { $0.count / MessageRowBuilder.headSize }
            times.append((first, rows.time(4)))
            var segment = PendingMessages.Segment(first: first, count: min(max(0, Int(clamping: rows.number(1))), size))
            unsafe rows.withBlob(3) { bytes in
                for index in 0..<segment.count {
                    guard let head = unsafe MessageHead(bytes, at: index), head.app < apps.count else { continue }
                    // Until `readKeys` has read the key of the message, assume that it needs claims.
                    segment.add(index, claims: true)
                    lanes.add(first + UInt64(index), to: head.lane(of: apps[head.app]))
                }
            }
            machine.dedupe.addPending(segment)
        }
        return (lanes, times)
    }

    private func readScheduled() throws(StoreError) {
        let rows = try connection.prepare("SELECT seq, fingerprint, audience, app FROM scheduled ORDER BY seq")
        var scheduled: [DedupeMachine.ScheduledMessage] = []
        // Messages of one app come in runs.
        var (name, app) = ("", AppID?.none)
        while try rows.step() {
            let seq = rows.word(0)
            try check(seq, "scheduled")
            scheduled.append(
                DedupeMachine.ScheduledMessage(seq: seq, fingerprint: rows.word(1), audience: rows.word(2)))
            let next = rows.text(3)
            if next != name { (name, app) = (next, AppID(next)) }
            if let app { machine.backlog.add(app, scheduled: 1) }
        }
        machine.scheduledCount = scheduled.count
        machine.dedupe.restore(scheduled: scheduled)
    }

    /// Reads the keys. Returns the times of their rows.
    private func readKeys() throws(StoreError) -> StoredTimes {
        let sizes = try connection.prepare(
            "SELECT coalesce(sum(length(accepted)), 0), coalesce(sum(length(ended)), 0), min(number) FROM keys")
        _ = try sizes.step()
        machine.dedupe.reserve(
            messages: Int(clamping: sizes.number(0)) / AcceptedKey.size, from: sizes.isNull(2) ? .max : sizes.word(2),
            deliveries: Int(clamping: sizes.number(1)) / EndedKey.size)
        sizes.reset()
        let rows = try connection.prepare("SELECT number, accepted, ended, completed, time FROM keys ORDER BY number")
        var stored = StoredTimes()
        while try rows.step() {
            let number = rows.word(0)
            stored.note(rows.time(4), of: number)
            let count = unsafe rows.withBlob(1) { $0.count / AcceptedKey.size }
            try check(number, count: count, "keys")
            unsafe rows.withBlob(1) { bytes in
                machine.dedupe.restoreAccepted((0..<count).map { unsafe AcceptedKey(bytes, at: $0) }, from: number)
            }
            unsafe rows.withBlob(2) { bytes in
                let count = bytes.count / EndedKey.size
                machine.dedupe.restoreEnded((0..<count).map { unsafe EndedKey(bytes, at: $0) })
            }
            unsafe rows.withBlob(3) { bytes in
                for index in 0..<(bytes.count / 8) { machine.dedupe.restoreCompleted(unsafe bytes.word(at: 8 * index)) }
            }
        }
        return stored
    }
}
