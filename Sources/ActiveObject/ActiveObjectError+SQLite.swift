private import CSQLite
import Glibc

extension ActiveObjectError {
    /// From a result code of SQLite and what it says of it. Its messages name tables and columns, never values.
    ///
    /// - Parameters:
    ///   - systemError: what the operating system said last, for codes that come from a call to it.
    ///   - isColumn: whether a table has a column, to tell where the one name ends and the other begins.
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

    /// SQLite knows no such table or column: it may be newer than the state that was read.
    var saysOfMissingTable: Bool {
        code == .badSQL
            && (message.firstRange(of: "no such table") != nil || message.firstRange(of: "no such column") != nil)
    }

    /// "UNIQUE constraint failed: persons.name, persons.age" names a place; of several columns all are given. An index
    /// over expressions is named by itself: "index 'persons_lower'".
    private static func place(
        in said: String, isColumn: (String, String) -> Bool
    ) -> (table: String, column: String)? {
        let isConstraint = said.firstRange(of: "constraint failed: ")
        guard let colon = isConstraint?.upperBound ?? said.firstRange(of: " column ")?.upperBound,
            !said[colon...].hasPrefix("index '")
        else { return nil }
        let names = String(said[colon...])
        // The table's name may have dots in it, and so may the column's: what fits is right.
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
                ? "there is a row with this value of \(column) already" : "there is such a row already (\(said))"
            return (.notUnique, "\(what); change it, or upsert")
        case Extended.notNull:
            return (.missingValue, "\(column) needs a value and was given none")
        // RESTRICT is a trigger to SQLite, and only its message says what it was about.
        case _ where result & 0xff == SQLITE_CONSTRAINT && said.hasPrefix("FOREIGN KEY"):
            return (
                .brokenReference,
                "a row that is referred to is not there, or is still referred to; save what is referred to first, and "
                    + "remove it last"
            )
        case Extended.dataType:
            return (.typeMismatch, "\(said): the column is of another type")
        case Extended.busySnapshot:
            return (.busy, "\(path) was written after this transaction began to read; run it again")
        case Extended.moved:
            return (.readOnly, "\(path) was moved or removed while it was open; close the database and open it again")
        case Extended.noLocks, Extended.noRecovery, Extended.noFolder:
            return (
                .cannotOpen,
                "even to be read, \(path) needs a place for locks beside it, and its folder may not be written: change "
                    + "the permissions of the folder, or copy the file into another"
            )
        case Extended.noMemory: return (.outOfMemory, "there is no memory left")
        case Extended.badFileSystem, Extended.badData:
            return (.corrupt, "\(path) is damaged: \(said); restore it from a backup")
        case Extended.abortedByRollback:
            return (.other, "the transaction that it read in has been undone; run it again")
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
            return (.busy, "\(path) is locked by another program; try again, or raise `busyTimeout`")
        case SQLITE_LOCKED:
            return (.busy, "the table is in use by another statement of the same call (\(said)); end that first")
        case SQLITE_FULL: return (.diskFull, "the disk of \(path) is full; nothing of this transaction was kept")
        case SQLITE_NOTADB: return (.corrupt, "\(path) is no database, or one that is encrypted")
        case SQLITE_CORRUPT: return (.corrupt, "\(path) is damaged: \(said); restore it from a backup")
        case SQLITE_READONLY:
            return (.readOnly, "\(path) is not to be written: \(said); look at the permissions of it and its folder")
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_NOLFS:
            let why = systemError == 0 ? said : systemErrorText(systemError)
            return (.cannotOpen, "\(path) cannot be opened: \(why); does its folder exist, and may it be written?")
        case SQLITE_IOERR:
            // A limit on a file's size or a quota, which SQLite does not know as a full disk.
            if [ENOSPC, EFBIG, EDQUOT].contains(systemError) {
                return (.diskFull, "there is no room for \(path): \(systemErrorText(systemError))")
            }
            let why = systemError == 0 ? said : "\(said), \(systemErrorText(systemError))"
            return (.inputOutput, "reading or writing \(path) failed: \(why); look at the disk")
        case SQLITE_NOMEM: return (.outOfMemory, "there is no memory left")
        case SQLITE_INTERRUPT: return (.interrupted, "it was stopped, because the task was cancelled")
        case SQLITE_TOOBIG: return (.outOfRange, "a value, or the SQL, is longer than SQLite takes")
        case SQLITE_MISMATCH: return (.typeMismatch, said)
        case SQLITE_SCHEMA: return (.busy, "the tables were changed meanwhile; try again")
        case SQLITE_AUTH:
            return (.badSQL, "\(said): transactions are begun and ended by `write`, `read` and `savepoint` only")
        case SQLITE_ERROR, SQLITE_RANGE, SQLITE_MISUSE: return (.badSQL, said.withoutLiterals)
        default: return (.other, "\(said) (SQLite's code \(result))")
        }
    }
}

extension String {
    /// What SQLite says of SQL that it does not take, without the texts and numbers of that SQL: `near "'Joe'": syntax
    /// error`, `unrecognized token: "'Joe"`, `bad JSON path: 'Joe'`.
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

/// What the operating system calls an error.
func systemErrorText(_ number: Int32) -> String {
    unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
}

extension String {
    /// SQL as errors show it: without the texts and numbers in it, which may be nobody's business, and not too long.
    var shownSQL: String {
        var shown = ""
        var rest = Substring(self)
        var isInWord = false
        while let character = rest.first, shown.count < 400 {
            switch character {
            case "'":
                // Two in a row are one in the text: they end one literal and begin the next, which shows as well.
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

/// Extended result codes, which are macros that Swift does not see.
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
