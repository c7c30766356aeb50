private import CSQLite

/// What went wrong, where, and what to do: the one error that this library throws.
///
/// It names the table, the column and the class of the value. It never holds a value of a column that is marked
/// private.
public struct ActiveObjectError: Error, Sendable, CustomStringConvertible {
    public enum Code: Hashable, Sendable {
        // The caller's data.
        case notUnique, missingValue, brokenReference, checkFailed
        /// What the column holds, or was given, is no value of the property's type.
        case typeMismatch
        /// A number that does not fit the property, or SQLite's 64 bits; a value that is too long.
        case outOfRange
        /// Rules of the type were broken: see `failures`.
        case invalid
        /// The record is not in the table (any more).
        case notFound
        /// Somebody else saved the record since it was read.
        case stale

        // The caller's code.
        /// The type cannot be a record; the message says which property and why.
        case badRecord
        /// The table in the file does not fit the type.
        case badSchema
        case badSQL
        /// A position of a page is damaged, or belongs to another query.
        case badPosition
        /// No database is open under that name, or it has been closed.
        case notOpen
        /// A migration failed; nothing of it was kept.
        case badMigration

        // The file and the system.
        case busy, readOnly, diskFull, corrupt, cannotOpen, inputOutput, outOfMemory
        /// The task was cancelled, or the database closed, while the statement ran.
        case interrupted
        case other
    }

    public let code: Code
    public let message: String
    public let table: String?
    public let column: String?
    public let valueClass: ValueClass?
    /// SQLite's extended result code, where SQLite said it.
    public let resultCode: Int32?
    /// Of a validation: each rule that was broken.
    public let failures: [ValidationFailure]

    public var description: String { message }

    init(
        _ code: Code, _ message: String, table: String? = nil, column: String? = nil, valueClass: ValueClass? = nil,
        resultCode: Int32? = nil, failures: [ValidationFailure] = [], sql: String? = nil
    ) {
        self.code = code
        self.message = message
        self.table = table
        self.column = column
        self.valueClass = valueClass
        self.resultCode = resultCode
        self.failures = failures
    }
}

/// One rule that a record broke.
public struct ValidationFailure: Hashable, Sendable, CustomStringConvertible {
    public let column: String
    /// What the rule says, as part of a sentence: "must not be empty".
    public let message: String

    public init(column: String, message: String) {
        self.column = column
        self.message = message
    }

    public var description: String { "\(column) \(message)" }
}

extension ActiveObjectError {
    /// From a result code of SQLite and what it says of it. Its messages name tables and columns, never values.
    init(result: Int32, message said: String, action: String, path: String, sql: String?) {
        let place = Self.place(in: said)
        let what = Self.meaning(result, said: said, path: path, place: place)
        let statement = sql.map { "; in: \($0)" } ?? ""
        self.init(
            what.code, "cannot \(action): \(what.text)\(statement)", table: place?.table, column: place?.column,
            resultCode: result, sql: sql)
    }

    /// "UNIQUE constraint failed: persons.name, persons.age" names a place; of several columns all are given.
    private static func place(in said: String) -> (table: String, column: String)? {
        guard
            let colon = said.firstRange(of: "constraint failed: ")?.upperBound
                ?? said.firstRange(of: " column ")?.upperBound
        else { return nil }
        let names = said[colon...].split(separator: ", ").map { $0.split(separator: ".", maxSplits: 1) }
        guard let table = names.first?.first, names.allSatisfy({ $0.count == 2 }) else { return nil }
        return (String(table), names.map { $0[1] }.joined(separator: ", "))
    }

    private static func meaning(
        _ result: Int32, said: String, path: String, place: (table: String, column: String)?
    ) -> (code: Code, text: String) {
        let column = place.map { "\($0.table).\($0.column)" } ?? "a column"
        switch result {
        case Constraint.unique, Constraint.primaryKey, Constraint.rowID:
            return (.notUnique, "there is a row with this value of \(column) already; change it, or upsert")
        case Constraint.notNull:
            return (.missingValue, "\(column) needs a value and was given none")
        case Constraint.foreignKey:
            return (.brokenReference, "a row that is referred to is not there, or is still referred to")
        case Constraint.dataType:
            return (.typeMismatch, "\(said): the column is of another type")
        case SQLITE_FULL:
            return (.diskFull, "the disk of \(path) is full; nothing of this transaction was kept")
        case SQLITE_NOTADB:
            return (.corrupt, "\(path) is no database, or one that is encrypted")
        default: break
        }
        switch result & 0xff {
        case SQLITE_CONSTRAINT: return (.checkFailed, said)
        case SQLITE_BUSY, SQLITE_LOCKED:
            return (.busy, "\(path) is locked by another program; try again, or raise `busyTimeout`")
        case SQLITE_READONLY: return (.readOnly, "\(path) is not to be written: \(said); look at its permissions")
        case SQLITE_CORRUPT: return (.corrupt, "\(path) is damaged: \(said); restore it from a backup")
        case SQLITE_CANTOPEN:
            return (.cannotOpen, "\(path) cannot be opened: \(said); does its folder exist, and may it be written?")
        case SQLITE_IOERR: return (.inputOutput, "reading or writing \(path) failed: \(said)")
        case SQLITE_NOMEM: return (.outOfMemory, "there is no memory left")
        case SQLITE_INTERRUPT: return (.interrupted, "it was stopped")
        case SQLITE_TOOBIG: return (.outOfRange, "a value is longer than SQLite takes")
        case SQLITE_MISMATCH: return (.typeMismatch, said)
        case SQLITE_ERROR: return (.badSQL, said)
        default: return (.other, "\(said) (SQLite's code \(result))")
        }
    }
}

/// Extended result codes, which are macros that Swift does not see.
private enum Constraint {
    static let foreignKey = SQLITE_CONSTRAINT | 3 << 8
    static let notNull = SQLITE_CONSTRAINT | 5 << 8
    static let primaryKey = SQLITE_CONSTRAINT | 6 << 8
    static let unique = SQLITE_CONSTRAINT | 8 << 8
    static let rowID = SQLITE_CONSTRAINT | 10 << 8
    static let dataType = SQLITE_CONSTRAINT | 12 << 8
}
