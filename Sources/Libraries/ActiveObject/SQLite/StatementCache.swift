import Glibc

/// A cache of the most recently used prepared statements by their SQL. A lent statement stays in the cache, marked.
struct StatementCache {
    /// The number of statements. A larger number would mean SQL generated ad hoc, for which a cache is useless.
    static let limit = 128
    /// The size of the longest SQL that is cached, in bytes. Longer SQL is generated for one query and rarely repeated.
    static let textLimit = 64 * 1024
    /// The size of all SQL texts together, in bytes. The compiled statements are a few times larger.
    static let byteLimit = 1024 * 1024

    private var statements: [String: Statement] = [:]
    private(set) var byteCount = 0
    /// The number of times that a statement was lent.
    private(set) var uses: UInt64 = 0

    var count: Int { statements.count }

    /// Marks the statement as lent and returns it; nil if there is none or it is already lent.
    mutating func take(_ sql: String) -> Statement? {
        guard let statement = statements[sql], !statement.isLent, statement.sql.hasSameBytes(as: sql) else {
            return nil
        }
        lend(statement)
        return statement
    }

    /// Adds a statement that is about to be lent, unless its SQL is already in the cache or too long.
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

    /// Returns false if all statements are lent.
    private mutating func dropOldest() -> Bool {
        let oldest = statements.lazy.filter { !$0.value.isLent }.min { $0.value.lastUse < $1.value.lastUse }
        guard let oldest else { return false }
        statements.removeValue(forKey: oldest.key)
        byteCount -= oldest.value.sql.utf8.count
        return true
    }
}

extension String {
    /// Returns whether both have the same UTF-8. Swift's `==` treats the two encodings of "é" as equal; SQLite does
    /// not.
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
