import PushModel
import PushTime
import PushWire

/// Forgetting a user in the stored messages.
extension LedgerCore {
    /// The number of bytes of messages that one step searches.
    private static let searchedAtOnce = 8 << 20
    /// The number of rows that one step searches or changes.
    private static let rowsSearched = 16_384
    private static let rowsChanged = 256
    /// The number of free pages that one step overwrites.
    private static let pagesAtOnce = 512
    private static let pageSize = 8192
    /// The number of milliseconds that the last step waits for readers.
    private static let readerPatience: CInt = 2000

    /// Does one step.
    func erase(_ erasure: UserErasure, from place: ErasurePlace) -> Result<ErasureStep, LedgerFault> {
        if let lost = files.fault { return .failure(LedgerFault("\(lost)")) }
        if let fault { return .failure(fault) }
        do {
            switch place {
            case .begin: return .success(ErasureStep(messages: 0, next: nil, pseudonym: try note(erasure)))
            case .waiting(let after):
                let found = try search(statements.messagesNaming, for: erasure.user, after: after)
                let count = try change(rows: found.rows) { number throws(StoreError) in
                    try forget(erasure, inRow: number)
                }
                return .success(
                    ErasureStep(
                        messages: count, next: found.last.map { .waiting(after: $0) } ?? .scheduled(after: 0)))
            case .scheduled(let after):
                let found = try search(statements.scheduledNaming, for: erasure.user, after: after)
                let count = try change(rows: found.rows) { seq throws(StoreError) in
                    try forget(erasure, inScheduled: seq)
                }
                if let last = found.last {
                    return .success(ErasureStep(messages: count, next: .scheduled(after: last)))
                }
                return .success(ErasureStep(messages: count, next: .freePages(left: try freePages())))
            case .freePages(let left):
                // From now on, the pages of an erasure that was cut off end with those of this one.
                hasUsedPages = false
                return .success(ErasureStep(messages: 0, next: try overwrite(left)))
            case .usedPages: return .success(ErasureStep(messages: 0, next: try free()))
            case .log:
                // What readers still need stays in the log until the next checkpoint.
                try connection.checkpoint(.truncate, patience: Self.readerPatience)
                try forget(noteOf: erasure)
                return .success(ErasureStep(messages: 0, next: nil))
            }
        } catch {
            if connection.isInTransaction { try? statements.rollBack.run() }
            hasUsedPages = true
            return .failure(LedgerFault("\(error)"))
        }
    }

    /// Returns the rows that contain the name, and the last one that was searched; nil if it is the last one of all.
    private func search(
        _ statement: SQLiteStatement, for user: String, after: UInt64
    ) throws(StoreError) -> (rows: [UInt64], last: UInt64?) {
        defer { statement.reset() }
        statement.bind(1, Array(user.utf8))
        statement.bind(2, after)
        var rows: [UInt64] = []
        var (bytes, count): (Int64, Int) = (0, 0)
        while try statement.step() {
            bytes += statement.number(1)
            count += 1
            if statement.number(2) > 0 { rows.append(statement.word(0)) }
            if bytes >= Self.searchedAtOnce || count >= Self.rowsSearched || rows.count >= Self.rowsChanged {
                return (rows, statement.word(0))
            }
        }
        return (rows, nil)
    }

    private func change(
        rows numbers: [UInt64], _ body: (UInt64) throws(StoreError) -> Int
    ) throws(StoreError) -> Int {
        if numbers.isEmpty { return 0 }
        var count = 0
        try statements.begin.run()
        for number in numbers { count += try body(number) }
        try statements.commit.run()
        rows.messageRow = nil
        return count
    }

    private func forget(_ erasure: UserErasure, inRow first: UInt64) throws(StoreError) -> Int {
        guard let row = try rows.row(of: first), row.first == first, let changed = row.without(erasure) else {
            return 0
        }
        let rewrite = statements.rewriteMessages
        rewrite.bind(1, changed.row.heads)
        rewrite.bind(2, changed.row.bodies)
        rewrite.bind(3, changed.row.sums ?? [])
        rewrite.bind(4, first)
        try rewrite.run()
        return changed.count
    }

    private func forget(_ erasure: UserErasure, inScheduled seq: UInt64) throws(StoreError) -> Int {
        let find = statements.findScheduled
        defer { find.reset() }
        find.bind(1, seq)
        guard try find.step(), let app = AppID(find.text(3)),
            let body = rows.scheduled(find)?.content.record(after: erasure)
        else { return 0 }
        let (due, time) = (find.number(1), find.time(2))
        let sum = unsafe body.withUnsafeBytes {
            unsafe MessageChecksum.of(
                $0, seq: seq, place: Int(truncatingIfNeeded: due), app: MessageChecksum.of(app), time: time)
        }
        find.reset()
        let rewrite = statements.rewriteScheduled
        rewrite.bind(1, body)
        rewrite.bind(2, Int64(sum))
        rewrite.bind(3, seq)
        try rewrite.run()
        return 1
    }

    // MARK: Erasures that have not ended

    /// The names of their rows of `meta`, which have the pseudonyms.
    private static let notes = "erasure/"

    private func name(of erasure: UserErasure) -> String {
        Self.notes + String(machine.identities.erasure(erasure), radix: 16)
    }

    /// Notes an erasure, and returns the pseudonym of it: that of the earlier one of the same user, if there is one.
    private func note(_ erasure: UserErasure) throws(StoreError) -> String {
        let find = try connection.prepare("SELECT value FROM meta WHERE name = ?")
        find.bind(1, name(of: erasure))
        let known = try find.step() ? find.text(0) : ""
        find.reset()
        if UserErasure.isPseudonym(known) { return known }
        let add = try connection.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)")
        add.bind(1, name(of: erasure))
        add.bind(2, erasure.pseudonym)
        try add.run()
        return erasure.pseudonym
    }

    private func forget(noteOf erasure: UserErasure) throws(StoreError) {
        let remove = try connection.prepare("DELETE FROM meta WHERE name = ?")
        remove.bind(1, name(of: erasure))
        try remove.run()
    }

    /// Returns the number of erasures that have not ended.
    static func openErasures(_ connection: SQLiteConnection) throws(StoreError) -> Int {
        let count = try connection.prepare("SELECT count(*) FROM meta WHERE name > 'erasure/' AND name < 'erasure0'")
        defer { count.reset() }
        return try count.step() ? Int(clamping: count.number(0)) : 0
    }

    // MARK: Free pages

    private func freePages() throws(StoreError) -> Int {
        let count = try connection.prepare("PRAGMA freelist_count")
        defer { count.reset() }
        return try count.step() ? Int(clamping: count.number(0)) : 0
    }

    /// Overwrites some free pages with zeros by using them, and returns where to go on. When all are used, they become
    /// free again. SQLite has no other way to overwrite them without rewriting the whole file.
    private func overwrite(_ left: Int) throws(StoreError) -> ErasurePlace {
        let pages = min(left, Self.pagesAtOnce, try freePages())
        if pages <= 0 { return .usedPages }
        let add = try connection.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('wipe/' || ?, zeroblob(?))")
        add.bind(1, Int64(left))
        add.bind(2, Int64(pages * (Self.pageSize - 4)))
        try add.run()
        return .freePages(left: left - pages)
    }

    /// Makes some pages free that an erasure has used which failed or was killed. Returns whether there are more.
    func freeUsedPages() throws(StoreError) -> Bool {
        if hasUsedPages { hasUsedPages = try free() == .usedPages }
        return hasUsedPages
    }

    /// Makes some of these pages free, and returns where to go on. Those of an erasure that a crash has ended are among
    /// them.
    private func free() throws(StoreError) -> ErasurePlace {
        let find = try connection.prepare(
            "SELECT name FROM meta WHERE name >= 'wipe/' AND name < 'wipe0' ORDER BY name LIMIT 1")
        defer { find.reset() }
        guard try find.step() else { return .log }
        let remove = try connection.prepare("DELETE FROM meta WHERE name = ?")
        remove.bind(1, find.text(0))
        find.reset()
        try remove.run()
        return .usedPages
    }
}

extension MessageRow {
    /// Returns the row without a user, and the number of messages that named the user; nil if none did.
    func without(_ erasure: UserErasure) -> (row: MessageRow, count: Int)? {
        var changed = self
        changed.bodies = []
        var found = 0
        for index in 0..<min(count, heads.count / MessageRowBuilder.headSize) {
            guard let head = unsafe heads.withUnsafeBytes({ unsafe MessageHead($0, at: index) }) else { continue }
            let end = end(after: index)
            guard head.offset <= end, end <= bodies.count else { return nil }
            var record = Array(bodies[head.offset..<end])
            if let message = message(first + UInt64(index)), let shorter = message.record(after: erasure) {
                record = shorter
                found += 1
                changed.setSum(of: record, at: index, head: head)
            }
            changed.setOffset(changed.bodies.count, at: index)
            changed.bodies += record
        }
        return found > 0 ? (changed, found) : nil
    }

    /// Returns where the record of a message ends: where the next one begins.
    private func end(after index: Int) -> Int {
        for next in index + 1..<max(index + 1, min(count, heads.count / MessageRowBuilder.headSize)) {
            if let head = unsafe heads.withUnsafeBytes({ unsafe MessageHead($0, at: next) }) { return head.offset }
        }
        return bodies.count
    }

    private mutating func setOffset(_ offset: Int, at index: Int) {
        unsafe heads.withUnsafeMutableBytes {
            unsafe $0.storeBytes(
                of: UInt32(truncatingIfNeeded: offset).littleEndian,
                toByteOffset: MessageRowBuilder.headSize * index, as: UInt32.self)
        }
    }

    /// Sets the checksum of a record. A row of an earlier version has none.
    private mutating func setSum(of record: [UInt8], at index: Int, head: MessageHead) {
        guard var sums = exchange(&self.sums, with: nil) else { return }
        defer { self.sums = sums }
        guard sums.count >= MessageChecksum.size * (index + 1) else { return }
        let sum = unsafe record.withUnsafeBytes {
            unsafe MessageChecksum.of(
                $0, seq: first + UInt64(index), place: head.lane, app: MessageChecksum.of(apps[head.app]), time: time)
        }
        unsafe sums.withUnsafeMutableBytes {
            unsafe $0.storeBytes(
                of: sum.littleEndian, toByteOffset: MessageChecksum.size * index, as: UInt32.self)
        }
    }
}
