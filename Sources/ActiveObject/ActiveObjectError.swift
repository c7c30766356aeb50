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
        /// Another program holds the file, or too many calls wait already. Trying again later may help.
        case busy
        case readOnly, diskFull, corrupt, cannotOpen, inputOutput, outOfMemory
        /// The task was cancelled while the statement ran. Who called `read` or `write` gets `CancellationError`.
        case interrupted
        case other
    }

    public let code: Code
    public private(set) var message: String
    public let table: String?
    public let column: String?
    public let valueClass: ValueClass?
    /// SQLite's extended result code, where SQLite said it.
    public let resultCode: Int32?
    /// Of a validation: each rule that was broken.
    public let failures: [ValidationFailure]
    /// Of a verb on an array: which of its records it was.
    public private(set) var index: Int?

    public var description: String { message }

    init(
        _ code: Code, _ message: String, table: String? = nil, column: String? = nil, valueClass: ValueClass? = nil,
        resultCode: Int32? = nil, failures: [ValidationFailure] = []
    ) {
        self.code = code
        self.message = message
        self.table = table
        self.column = column
        self.valueClass = valueClass
        self.resultCode = resultCode
        self.failures = failures
    }

    /// The same of one record of an array.
    func at(_ index: Int) -> ActiveObjectError {
        var error = self
        error.index = index
        error.message = "record \(index) of the array: \(message)"
        return error
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
