/// The error that ActiveObject throws: what happened, where, and what to do about it.
///
/// The message names the table, the column and the class of the value. It never contains a value of a column that is
/// declared private (``Column``).
public struct ActiveObjectError: Error, Sendable, CustomStringConvertible {
    /// The kind of an error.
    ///
    /// The set is open: a later version may add codes. A `switch` over a code therefore needs a `default`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: Hashable {
            case notUnique, missingValue, brokenReference, checkFailed, typeMismatch, outOfRange, invalid, notFound,
                stale
            case badRecord, badSchema, badSQL, badPosition, notOpen, badMigration
            case busy, readOnly, diskFull, corrupt, cannotOpen, inputOutput, outOfMemory, interrupted, other
        }

        private let value: Value

        private init(_ value: Value) {
            self.value = value
        }

        // MARK: The caller's data

        /// Another row has the same value in a unique column or index.
        public static let notUnique = Code(.notUnique)
        /// A column that must have a value is NULL.
        public static let missingValue = Code(.missingValue)
        /// A row refers to a row that does not exist, or a row cannot be removed because others refer to it.
        public static let brokenReference = Code(.brokenReference)
        /// A `CHECK` constraint or a trigger of the table rejected the row.
        public static let checkFailed = Code(.checkFailed)
        /// A value is not of the property's type.
        public static let typeMismatch = Code(.typeMismatch)
        /// A number does not fit the property or SQLite's 64 bits, or a value is too long.
        public static let outOfRange = Code(.outOfRange)
        /// The record breaks rules of its type; see ``ActiveObjectError/failures``.
        public static let invalid = Code(.invalid)
        /// The record is not in the table, or no longer.
        public static let notFound = Code(.notFound)
        /// Another caller saved the record after it was read.
        public static let stale = Code(.stale)

        // MARK: The caller's code

        /// The type cannot be a record. The message names the property and the reason.
        public static let badRecord = Code(.badRecord)
        /// The table in the file does not fit the type.
        public static let badSchema = Code(.badSchema)
        /// SQLite does not accept the SQL.
        public static let badSQL = Code(.badSQL)
        /// A ``Position`` is damaged or belongs to another query.
        public static let badPosition = Code(.badPosition)
        /// No database is open under that name, or the database has been closed.
        public static let notOpen = Code(.notOpen)
        /// A migration failed. None of its changes were kept.
        public static let badMigration = Code(.badMigration)

        // MARK: The file and the system

        /// Another program holds the file, or too many calls are waiting. A later retry may succeed.
        public static let busy = Code(.busy)
        /// The file cannot be written.
        public static let readOnly = Code(.readOnly)
        /// The disk is full, or a limit on file sizes or a quota is reached.
        public static let diskFull = Code(.diskFull)
        /// The file is damaged or is not a database.
        public static let corrupt = Code(.corrupt)
        /// The file cannot be opened.
        public static let cannotOpen = Code(.cannotOpen)
        /// Reading or writing the file failed.
        public static let inputOutput = Code(.inputOutput)
        /// SQLite could not allocate memory.
        public static let outOfMemory = Code(.outOfMemory)
        /// The task was cancelled while the statement ran. The caller of ``Database/read(_:)`` or
        /// ``Database/write(_:)`` receives `CancellationError` instead.
        public static let interrupted = Code(.interrupted)
        /// None of the other codes applies.
        public static let other = Code(.other)

        /// The name of the code, such as `notUnique`.
        public var description: String { "\(value)" }
    }

    /// The kind of the error.
    public let code: Code
    /// What happened, where, and what to do about it, as one line for a log.
    public private(set) var message: String
    /// The table that the error is about, if it is about one.
    public let table: String?
    /// The column that the error is about. If it is about several, their names are joined with ", ".
    public let column: String?
    /// The class of the value that was found, or else the class that the column needs.
    public let valueClass: ValueClass?
    /// SQLite's extended result code, if the error comes from SQLite.
    public let resultCode: Int32?
    /// The rules that the record breaks, if ``code-swift.property`` is ``Code-swift.struct/invalid``.
    public let failures: [ValidationFailure]
    /// The index of the record, if the error comes from an operation on an array.
    public private(set) var index: Int?

    /// A reason on which this library acts, and for which SQLite has no result code.
    enum Cause {
        case missingName, integerOverflow
    }

    let cause: Cause?

    /// The ``message``.
    public var description: String { message }

    init(
        _ code: Code, message: String, table: String? = nil, column: String? = nil, valueClass: ValueClass? = nil,
        resultCode: Int32? = nil, failures: [ValidationFailure] = [], cause: Cause? = nil
    ) {
        self.code = code
        self.message = message
        self.table = table
        self.column = column
        self.valueClass = valueClass
        self.resultCode = resultCode
        self.failures = failures
        self.cause = cause
    }

    /// Returns this error with the index of the record in an array.
    func at(_ index: Int) -> ActiveObjectError {
        var error = self
        error.index = index
        error.message = "record \(index) of the array: \(message)"
        return error
    }
}

/// A rule that a record breaks.
public struct ValidationFailure: Hashable, Sendable, CustomStringConvertible {
    /// The columns that the rule is about, joined with ", ", or the name that the rule gives instead.
    public let column: String
    /// The text of the rule as the end of a sentence: "must not be empty".
    public let message: String

    /// Creates a failure, for a hook that validates by itself.
    public init(column: String, message: String) {
        self.column = column
        self.message = message
    }

    /// The column and the message: "name must not be empty".
    public var description: String { "\(column) \(message)" }
}
