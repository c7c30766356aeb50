/// Prepared statements by their text, the ones used last. One that is lent stays in here, marked.
struct StatementCache {
    /// Texts are the same if their bytes are. `String` takes two ways to write "é" for one text; SQLite does not.
    struct Key: Hashable {
        let text: String

        static func == (one: Key, other: Key) -> Bool {
            one.text.utf8.count == other.text.utf8.count && one.text.utf8.elementsEqual(other.text.utf8)
        }

        func hash(into hasher: inout Hasher) {
            var text = text
            text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }

    /// More would be texts that are made up as they go, which a cache does not help.
    static let limit = 128

    private var statements: [Key: Statement] = [:]
    private var uses: UInt64 = 0

    var count: Int { statements.count }

    /// Marks the statement as lent and hands it out. Nil: there is none, or somebody has it.
    mutating func take(_ key: Key) -> Statement? {
        guard let statement = statements[key], !statement.isLent else { return nil }
        lend(statement)
        return statement
    }

    /// Keeps a statement that is about to be lent, unless its text is in here already.
    mutating func add(_ statement: Statement, for key: Key) {
        guard statements[key] == nil else { return }
        while statements.count >= Self.limit, dropOldest() {}
        lend(statement)
        statements[key] = statement
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
