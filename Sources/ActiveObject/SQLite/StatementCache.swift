import Glibc

/// Prepared statements by their text, the ones used last. One that is lent stays in here, marked.
struct StatementCache {
    /// More would be texts that are made up as they go, which a cache does not help.
    static let limit = 128
    /// Bytes of the longest text that is kept. Longer ones are made up for one question, and hardly asked again.
    static let textLimit = 64 * 1024
    /// Bytes of all texts. What SQLite made of them is a few times larger.
    static let byteLimit = 1024 * 1024

    private var statements: [String: Statement] = [:]
    private(set) var byteCount = 0
    /// How often one was lent.
    private(set) var uses: UInt64 = 0

    var count: Int { statements.count }

    /// Marks the statement as lent and hands it out. Nil: there is none, or somebody has it.
    mutating func take(_ sql: String) -> Statement? {
        guard let statement = statements[sql], !statement.isLent, statement.sql.hasSameBytes(as: sql) else {
            return nil
        }
        lend(statement)
        return statement
    }

    /// Keeps a statement that is about to be lent, unless its text is in here already or too long.
    mutating func add(_ statement: Statement) {
        let size = statement.sql.utf8.count
        guard size <= Self.textLimit, statements[statement.sql] == nil else { return }
        while statements.count >= Self.limit || byteCount > Self.byteLimit - size, dropOldest() {}
        lend(statement)
        statements[statement.sql] = statement
        byteCount += size
    }

    mutating func removeAll() {
        statements.removeAll()
        byteCount = 0
    }

    private mutating func lend(_ statement: Statement) {
        uses &+= 1
        statement.isLent = true
        statement.lastUse = uses
    }

    /// False: all are lent.
    private mutating func dropOldest() -> Bool {
        let oldest = statements.lazy.filter { !$0.value.isLent }.min { $0.value.lastUse < $1.value.lastUse }
        guard let oldest else { return false }
        statements.removeValue(forKey: oldest.key)
        byteCount -= oldest.value.sql.utf8.count
        return true
    }
}

extension String {
    /// To `==`, the two ways to write "é" are one text. To SQLite they are two.
    fileprivate func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        var (one, other) = (self, other)
        return one.withUTF8 { one in
            other.withUTF8 { other in
                guard let start = one.baseAddress, let otherStart = other.baseAddress else { return true }
                return unsafe memcmp(start, otherStart, one.count) == 0
            }
        }
    }
}
