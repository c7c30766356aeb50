private import CSQLite
import Glibc

extension ActiveObjectError {
    /// Creates an error from a result code and a message of SQLite. These messages name tables and columns, never
    /// values.
    ///
    /// - Parameters:
    ///   - systemError: The last error number of the operating system, for codes that come from a system call.
    ///   - isColumn: Returns whether a table has a column. It decides where the table's name ends in "table.column".
    init(
        result: Int32, systemError: Int32, message said: String, action: String, path: String, sql: String?,
        isColumn: (_ table: String, _ column: String) -> Bool
    ) {
        let place = Self.place(in: said, isColumn: isColumn)
        let what = Self.meaning(result, systemError, said: said, path: path, place: place)
        let statement = sql.map { "; in: \($0.shownSQL)" } ?? ""
        self.init(
            what.code, "cannot \(action): \(what.text)\(statement)", table: place?.table, column: place?.column,
            resultCode: result)
    }

    /// Whether a table or column does not exist. It may be newer than the state of the file that was read.
    var saysOfMissingTable: Bool {
        code == .badSQL
            && (message.firstRange(of: "no such table") != nil || message.firstRange(of: "no such column") != nil)
    }

    /// Returns the table and the columns that a message names, as in "UNIQUE constraint failed: persons.name,
    /// persons.age". Returns nil for an index over expressions, which SQLite names instead: "index 'persons_lower'".
    private static func place(
        in said: String, isColumn: (String, String) -> Bool
    ) -> (table: String, column: String)? {
        let isConstraint = said.firstRange(of: "constraint failed: ")
        guard let colon = isConstraint?.upperBound ?? said.firstRange(of: " column ")?.upperBound,
            !said[colon...].hasPrefix("index '")
        else { return nil }
        let names = String(said[colon...])
        // Both names may contain dots. The split is right if the columns exist.
        for dot in names.indices where names[dot] == "." {
            let table = String(names[..<dot])
            let rest = names[names.index(after: dot)...]
            let columns = split(rest, at: ", \(table).")
            if columns.allSatisfy({ isColumn(table, $0) }) { return (table, columns.joined(separator: ", ")) }
        }
        return nil
    }

    private static func split(_ text: Substring, at separator: String) -> [String] {
        var parts: [String] = []
        var rest = text
        while let range = rest.firstRange(of: separator) {
            parts.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return parts + [String(rest)]
    }

    private static func meaning(
        _ result: Int32, _ systemError: Int32, said: String, path: String, place: (table: String, column: String)?
    ) -> (code: Code, text: String) {
        let column = place.map { "\($0.table).\($0.column)" } ?? "a column"
        switch result {
        case Extended.unique, Extended.primaryKey, Extended.rowID:
            let what =
                place != nil
                ? "a row with this value of \(column) already exists" : "such a row already exists (\(said))"
            return (.notUnique, "\(what); change the value, or use `upsert`")
        case Extended.notNull:
            return (.missingValue, "\(column) needs a value, but is NULL")
        // SQLite reports RESTRICT as a trigger. Only the message tells that it is about a foreign key.
        case _ where result & 0xff == SQLITE_CONSTRAINT && said.hasPrefix("FOREIGN KEY"):
            return (
                .brokenReference,
                "a row refers to a row that does not exist, or the row to remove is still referred to; save the row "
                    + "that is referred to first, and remove it last"
            )
        case Extended.dataType:
            return (.typeMismatch, "\(said): the column has another type")
        case Extended.busySnapshot:
            return (.busy, "\(path) was written after this transaction began to read; run the transaction again")
        case Extended.moved:
            return (.readOnly, "\(path) was moved or removed while it was open; close the database and open it again")
        case Extended.noLocks, Extended.noRecovery, Extended.noFolder:
            return (
                .cannotOpen,
                "reading \(path) needs lock files beside it, but this process may not write to its folder; change the "
                    + "permissions of the folder, or copy the file to another folder"
            )
        case Extended.noMemory: return (.outOfMemory, "out of memory")
        case Extended.badFileSystem, Extended.badData:
            return (.corrupt, "\(path) is damaged: \(said); restore it from a backup")
        case Extended.abortedByRollback:
            return (
                .other, "the transaction was rolled back while this statement was reading; run the transaction again"
            )
        default: return general(result, systemError, said: said, path: path)
        }
    }

    private static func general(
        _ result: Int32, _ systemError: Int32, said: String, path: String
    ) -> (code: Code, text: String) {
        switch result & 0xff {
        case SQLITE_CONSTRAINT:
            return (.checkFailed, "\(said); change the value, or the rule of the table")
        case SQLITE_BUSY, SQLITE_PROTOCOL:
            return (.busy, "\(path) is locked by another program; retry, or raise `busyTimeout`")
        case SQLITE_LOCKED:
            return (.busy, "another statement of the same call uses the table (\(said)); finish that statement first")
        case SQLITE_FULL:
            return (.diskFull, "the disk of \(path) is full; the transaction was rolled back; free disk space")
        case SQLITE_NOTADB: return (.corrupt, "\(path) is not a database, or is encrypted")
        case SQLITE_CORRUPT: return (.corrupt, "\(path) is damaged: \(said); restore it from a backup")
        case SQLITE_READONLY:
            return (.readOnly, "\(path) cannot be written: \(said); check the permissions of the file and its folder")
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_NOLFS:
            let why = systemError == 0 ? said : systemErrorText(systemError)
            return (.cannotOpen, "\(path) cannot be opened: \(why); check that its folder exists and is writable")
        case SQLITE_IOERR:
            // SQLite does not report a limit on the file size or a quota as a full disk.
            if [ENOSPC, EFBIG, EDQUOT].contains(systemError) {
                return (.diskFull, "no space left for \(path): \(systemErrorText(systemError))")
            }
            let why = systemError == 0 ? said : "\(said), \(systemErrorText(systemError))"
            return (.inputOutput, "reading or writing \(path) failed: \(why); check the disk")
        case SQLITE_NOMEM: return (.outOfMemory, "out of memory")
        case SQLITE_INTERRUPT: return (.interrupted, "interrupted, because the task was cancelled")
        case SQLITE_TOOBIG: return (.outOfRange, "a value or the SQL is longer than SQLite allows")
        case SQLITE_MISMATCH: return (.typeMismatch, said)
        case SQLITE_SCHEMA: return (.busy, "the tables were changed meanwhile; retry")
        case SQLITE_AUTH:
            return (.badSQL, "\(said): only `write`, `read` and `savepoint` may begin and end transactions")
        case SQLITE_ERROR, SQLITE_RANGE, SQLITE_MISUSE: return (.badSQL, said.withoutLiterals)
        default: return (.other, "\(said) (SQLite's code \(result))")
        }
    }
}

extension String {
    /// SQLite's message about invalid SQL without the literals of that SQL, which may be private. Examples of messages
    /// with literals: `near "'Joe'": syntax error`, `unrecognized token: "'Joe"`, `bad JSON path: 'Joe'`.
    fileprivate var withoutLiterals: String {
        if hasPrefix("unrecognized token:") { return "unrecognized token" }
        if let token = firstRange(of: "near \"")?.upperBound, let first = self[token...].first,
            first == "'" || first.isNumber, let end = self[token...].lastIndex(of: "\"")
        {
            return self[..<token] + "…" + self[end...]
        }
        guard let start = firstIndex(of: "'"), let end = lastIndex(of: "'"), start < end else { return self }
        return self[...start] + "…" + self[end...]
    }
}

/// Returns the operating system's text for an error number.
func systemErrorText(_ number: Int32) -> String {
    unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
}

extension String {
    /// The SQL as errors show it: shortened, and without its literals, which may be private.
    var shownSQL: String {
        var shown = ""
        var rest = Substring(self)
        var isInWord = false
        while let character = rest.first, shown.count < 400 {
            switch character {
            case "'":
                // A doubled quote is part of the literal. It is treated as the end of one literal and the start of the
                // next, which shows the same.
                rest = rest.dropFirst().drop { $0 != "'" }.dropFirst()
                if !shown.hasSuffix("'…'") { shown += "'…'" }
                isInWord = false
                continue
            case "\"", "`", "[":
                let end: Character = character == "[" ? "]" : character
                let name = rest.dropFirst().prefix { $0 != end }
                shown += "\(character)\(name)\(end)"
                rest = rest.dropFirst().dropFirst(name.count).dropFirst()
                isInWord = false
                continue
            case _ where character.isWholeNumber && !isInWord:
                rest = rest.drop { $0.isLetter || $0.isNumber || $0 == "." }
                shown += "…"
                continue
            default:
                isInWord = character.isLetter || character.isNumber || "_?:@$".contains(character)
                shown.append(character)
                rest = rest.dropFirst()
            }
        }
        return rest.isEmpty ? shown : shown + " …"
    }
}

/// Extended result codes. They are macros that Swift does not import.
private enum Extended {
    static let foreignKey = SQLITE_CONSTRAINT | 3 << 8
    static let notNull = SQLITE_CONSTRAINT | 5 << 8
    static let primaryKey = SQLITE_CONSTRAINT | 6 << 8
    static let unique = SQLITE_CONSTRAINT | 8 << 8
    static let rowID = SQLITE_CONSTRAINT | 10 << 8
    static let dataType = SQLITE_CONSTRAINT | 12 << 8
    static let busySnapshot = SQLITE_BUSY | 2 << 8
    static let noRecovery = SQLITE_READONLY | 1 << 8
    static let noLocks = SQLITE_READONLY | 5 << 8
    static let noFolder = SQLITE_READONLY | 6 << 8
    static let moved = SQLITE_READONLY | 4 << 8
    static let noMemory = SQLITE_IOERR | 12 << 8
    static let badData = SQLITE_IOERR | 32 << 8
    static let badFileSystem = SQLITE_IOERR | 33 << 8
    static let abortedByRollback = SQLITE_ABORT | 2 << 8
}
