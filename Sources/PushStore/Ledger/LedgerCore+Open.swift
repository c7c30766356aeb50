import PushLogic
import PushModel
import PushWire

/// What the ledger knows when it is opened: rebuilt from its rows.
extension LedgerCore {
    static func open(
        _ path: String, clock: @escaping @Sendable () -> Int64
    ) throws(StoreError) -> (LedgerCore, LedgerBacklog) {
        let connection = try SQLiteConnection(path)
        try connection.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY")
        // Some builds wipe what is freed, which is one more write of every page.
        try connection.run("PRAGMA secure_delete = OFF")
        // Pages are taken over from the log on another thread.
        try connection.run("PRAGMA wal_autocheckpoint = 0")
        try prepare(connection)
        let identities = try identities(connection)
        let statements = try LedgerStatements(connection)
        let core = LedgerCore(
            connection, statements, identities, try numbering(connection), clock: clock)
        try core.readLog()
        try core.readTraces()
        let lanes = try core.readMessages()
        try core.readScheduled()
        try core.readKeys()
        var backlog = LedgerBacklog(nextDue: try core.nextDue())
        for (lane, seqs) in lanes {
            let open = seqs.filter { core.pending.contains($0) }
            if !open.isEmpty { backlog.lanes.append((lane, open)) }
        }
        core.pending.compact()
        return (core, backlog)
    }

    private static func prepare(_ connection: SQLiteConnection) throws(StoreError) {
        let version = try connection.prepare("PRAGMA user_version")
        _ = try version.step()
        let found = version.number(0)
        version.reset()
        if found == LedgerSchema.version { return }
        guard found == 0 else {
            throw StoreError(
                .newerVersion,
                "\(connection.path) was written by a newer Carillon (its version is \(found)); start that one")
        }
        try connection.run("BEGIN IMMEDIATE")
        try connection.run(LedgerSchema.tables)
        let add = try connection.prepare("INSERT INTO meta (name, value) VALUES ('secret', ?)")
        add.bind(1, (0..<32).map { _ in UInt8.random(in: .min ... .max) })
        try add.run()
        try connection.run("PRAGMA user_version = \(LedgerSchema.version); COMMIT")
    }

    private static func identities(_ connection: SQLiteConnection) throws(StoreError) -> Identities {
        let find = try connection.prepare("SELECT value FROM meta WHERE name = 'secret'")
        defer { find.reset() }
        guard try find.step(), let identities = Identities(secret: find.blob(0)) else {
            throw StoreError(.damaged, "\(connection.path) has lost its key; restore it from a backup")
        }
        return identities
    }

    private static func numbering(_ connection: SQLiteConnection) throws(StoreError) -> LogWriter {
        let last = try connection.prepare("SELECT first + count FROM log ORDER BY first DESC LIMIT 1")
        let next = try last.step() ? last.word(0) : 1
        last.reset()
        let heads = try connection.prepare("SELECT app, kind, seq FROM heads")
        var known: [LogWriter.Head] = []
        while try heads.step() {
            guard let kind = EventKind(rawValue: UInt8(clamping: heads.number(1))) else { continue }
            known.append(LogWriter.Head(app: AppID(heads.text(0)), kind: kind, seq: heads.word(2)))
        }
        return LogWriter(next: next, heads: known)
    }

    private func readLog() throws(StoreError) {
        let sum = try connection.prepare("SELECT coalesce(sum(length(body)), 0), coalesce(min(first), 0) FROM log")
        _ = try sum.step()
        logBytes = sum.number(0)
        oldest = sum.number(1) > 0 ? sum.word(1) : writer.next
    }

    /// Bodies are left where they are.
    private func readMessages() throws(StoreError) -> [Lane: [UInt64]] {
        let rows = try connection.prepare("SELECT first, count, apps, heads FROM messages ORDER BY first")
        var lanes: [Lane: [UInt64]] = [:]
        while try rows.step() {
            let first = rows.word(0)
            let apps = MessageRow.apps(rows.text(2))
            let size = unsafe rows.withBlob(3) { $0.count / MessageRowBuilder.headSize }
            var segment = PendingMessages.Segment(first: first, count: min(max(0, Int(rows.number(1))), size))
            unsafe rows.withBlob(3) { bytes in
                for index in 0..<segment.count {
                    guard let head = unsafe MessageHead(bytes, at: index), head.app < apps.count else { continue }
                    // Who needs a claim is told by the body. To keep its end once more than needed does no harm.
                    segment.add(index, claims: true)
                    let lane = Lane(app: apps[head.app], priority: head.priority, isBroad: head.isBroad)
                    lanes[lane, default: []].append(first + UInt64(index))
                }
            }
            pending.append(segment)
        }
        return lanes
    }

    private func readScheduled() throws(StoreError) {
        let rows = try connection.prepare("SELECT seq, fingerprint FROM scheduled ORDER BY seq")
        while try rows.step() {
            scheduledCount += 1
            remember(rows.word(1), rows.word(0))
        }
    }

    /// The first of an id is the one with the lowest number, whatever the order in which they are read.
    private func remember(_ fingerprint: UInt64, _ seq: UInt64) {
        guard let known = messages.add(seq, for: fingerprint) else { return }
        if known == seq || siblings[fingerprint]?.contains(seq) ?? false { return }
        if seq < known { messages.set(seq, for: fingerprint) }
        let later = max(seq, known)
        var others = siblings[fingerprint] ?? []
        others.insert(later, at: others.lastIndex { $0 < later }.map { $0 + 1 } ?? 0)
        siblings[fingerprint] = others
    }

    private func readKeys() throws(StoreError) {
        let sizes = try connection.prepare(
            "SELECT coalesce(sum(length(accepted)), 0), coalesce(sum(length(ended)), 0) FROM keys")
        _ = try sizes.step()
        messages.reserve(messages.count + Int(sizes.number(0)) / AcceptedKey.size)
        deliveries.reserve(Int(sizes.number(1)) / EndedKey.size)
        sizes.reset()
        let rows = try connection.prepare("SELECT number, accepted, ended, completed FROM keys ORDER BY number")
        while try rows.step() {
            let number = rows.word(0)
            unsafe rows.withBlob(1) { bytes in
                for index in 0..<(bytes.count / AcceptedKey.size) {
                    remember(unsafe AcceptedKey(bytes, at: index).fingerprint, number + UInt64(index))
                }
            }
            unsafe rows.withBlob(2) { bytes in
                for index in 0..<(bytes.count / EndedKey.size) { recall(unsafe EndedKey(bytes, at: index)) }
            }
            unsafe rows.withBlob(3) { bytes in
                for index in 0..<(bytes.count / 8) {
                    let seq = unsafe bytes.word(at: 8 * index)
                    _ = pending.complete(seq)
                    if !recovered.isEmpty { recovered[seq] = nil }
                }
            }
        }
        // An id with several messages: the device of a first one for a single device is claimed by it.
        for fingerprint in siblings.keys {
            guard let first = messages.value(of: fingerprint), let key = try key(of: first), key.isSingle else {
                continue
            }
            deliveries.insert(key.audience)
        }
        keyRow = nil
    }

    private func recall(_ key: EndedKey) {
        if key.isClaimed { deliveries.insert(key.fingerprint) }
        guard pending.contains(key.seq) || scheduledCount > 0, let end = DeliveryEnd(rawValue: key.end) else { return }
        recovered[key.seq, default: Recovered()].deliveries.insert(key.fingerprint)
        recovered[key.seq]?.counts.add(end)
    }
}
