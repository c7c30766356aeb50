import Glibc
import PushSQLite

extension ActiveObjectError {
    /// Creates an error from a failure of SQLite. SQLite's messages name tables and columns, never values.
    ///
    /// - Parameters:
    ///   - isColumn: Returns whether a table has a column. It decides where the table's name ends in "table.column".
    init(
        _ failure: SQLiteFailure, action: String, path: String, sql: String?,
        isColumn: (_ table: String, _ column: String) -> Bool
    ) {
        let columns = Self.columns(of: failure, isColumn: isColumn)
        let meaning = Self.meaning(of: failure, path: path, columns: columns)
        let statement = sql.map { "; in: \($0.shownSQL)" } ?? ""
        self.init(
            meaning.code, message: "cannot \(action): \(meaning.text)\(statement)", table: columns?.table,
            column: columns?.names,
            resultCode: failure.code.rawValue,
            cause: failure.isMissingName ? .missingName : failure.isIntegerOverflow ? .integerOverflow : nil)
    }

    /// Whether a table or column does not exist. It may be newer than the state of the file that was read.
    var isMissingName: Bool { code == .badSQL && cause == .missingName }

    /// Returns the table and the columns that a failure names, as in "persons.name, persons.age".
    private static func columns(
        of failure: SQLiteFailure, isColumn: (String, String) -> Bool
    ) -> (table: String, names: String)? {
        guard let names = failure.constrainedColumns else { return nil }
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
        of failure: SQLiteFailure, path: String, columns: (table: String, names: String)?
    ) -> (code: Code, text: String) {
        let message = failure.message
        let column = columns.map { "\($0.table).\($0.names)" } ?? "a column"
        switch failure.code {
        case .unique, .primaryKey, .rowID:
            let problem =
                columns != nil
                ? "a row with this value of \(column) already exists" : "such a row already exists (\(message))"
            return (.notUnique, "\(problem); change the value, or use `upsert`")
        case .notNull:
            return (.missingValue, "\(column) needs a value, but is NULL")
        case _ where failure.isBrokenReference:
            return (
                .brokenReference,
                "a row refers to a row that does not exist, or the row to remove is still referred to; save the row "
                    + "that is referred to first, and remove it last"
            )
        case .dataType:
            return (.typeMismatch, "\(message): the column has another type")
        case .busySnapshot:
            return (.busy, "\(path) was written after this transaction began to read; run the transaction again")
        case .moved:
            return (.readOnly, "\(path) was moved or removed while it was open; close the database and open it again")
        case .noLocks, .noRecovery, .noFolder:
            return (
                .cannotOpen,
                "reading \(path) needs lock files beside it, but this process may not write to its folder; change the "
                    + "permissions of the folder, or copy the file to another folder"
            )
        case .inputOutputOutOfMemory: return (.outOfMemory, "out of memory")
        case .badFileSystem, .badData:
            return (.corrupt, "\(path) is damaged: \(message); restore it from a backup")
        case .abortedByRollback:
            return (
                .other, "the transaction was rolled back while this statement was reading; run the transaction again"
            )
        default: return generalMeaning(of: failure, path: path)
        }
    }

    private static func generalMeaning(of failure: SQLiteFailure, path: String) -> (code: Code, text: String) {
        let message = failure.message
        let systemError = failure.likelySystemError
        switch failure.primary {
        case .constraint:
            return (.checkFailed, "\(message); change the value, or the rule of the table")
        case .busy, .lockingProtocol:
            return (.busy, "\(path) is locked by another program; retry, or raise `busyTimeout`")
        case .locked:
            return (
                .busy, "another statement of the same call uses the table (\(message)); finish that statement first"
            )
        case .full:
            return (.diskFull, "the disk of \(path) is full; the transaction was rolled back; free disk space")
        case .notADatabase: return (.corrupt, "\(path) is not a database, or is encrypted")
        case .corrupt: return (.corrupt, "\(path) is damaged: \(message); restore it from a backup")
        case .readOnly:
            return (
                .readOnly, "\(path) cannot be written: \(message); check the permissions of the file and its folder"
            )
        case .cannotOpen, .noPermission, .noLargeFiles:
            let why = systemError == 0 ? message : systemErrorText(systemError)
            return (.cannotOpen, "\(path) cannot be opened: \(why); check that its folder exists and is writable")
        case .inputOutput:
            // SQLite does not report a limit on the file size or a quota as a full disk.
            if [ENOSPC, EFBIG, EDQUOT].contains(systemError) {
                return (.diskFull, "no space left for \(path): \(systemErrorText(systemError))")
            }
            let why = systemError == 0 ? message : "\(message), \(systemErrorText(systemError))"
            return (.inputOutput, "reading or writing \(path) failed: \(why); check the disk")
        case .outOfMemory: return (.outOfMemory, "out of memory")
        case .interrupted: return (.interrupted, "interrupted, because the task was cancelled")
        case .tooBig: return (.outOfRange, "a value or the SQL is longer than SQLite allows")
        case .mismatch: return (.typeMismatch, message)
        case .schemaChanged: return (.busy, "the tables were changed meanwhile; retry")
        case .notAuthorized:
            return (.badSQL, "\(message): only `write`, `read` and `savepoint` may begin and end transactions")
        case .error, .outOfRange, .misuse: return (.badSQL, message.withoutLiterals)
        default: return (.other, "\(message) (SQLite's code \(failure.code.rawValue))")
        }
    }
}

extension SQLiteFailure {
    /// The error number of the operating system; 0 if there is none.
    fileprivate var likelySystemError: Int32 {
        // SQLite does not record it on every path.
        systemError == 0 && primary == .inputOutput ? threadError : systemError
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
