import Glibc

/// Prepared statements by their text, the ones used last. One that is lent stays in here, marked.
struct StatementCache {
    /// More would be texts that are made up as they go, which a cache does not help.
    static let limit = 128

    private var statements: [String: Statement] = [:]
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

    /// Keeps a statement that is about to be lent, unless its text is in here already.
    mutating func add(_ statement: Statement) {
        guard statements[statement.sql] == nil else { return }
        while statements.count >= Self.limit, dropOldest() {}
        lend(statement)
        statements[statement.sql] = statement
    }

    mutating func removeAll() {
        statements.removeAll()
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
