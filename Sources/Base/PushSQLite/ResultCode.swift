public import CSQLite

/// A result code of SQLite. An extended code has its primary code in the low 8 bits.
///
/// This type, ``SQLiteFailure`` and ``StatementHandle`` are public, although the module is part of no product: the
/// compiler does not inline `package` functions into other modules, and records read millions of columns.
public struct ResultCode: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int32

    @inlinable
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    private init(_ primary: Int32, detail: Int32) {
        rawValue = primary | detail << 8
    }

    @inlinable
    public static func == (one: ResultCode, other: ResultCode) -> Bool { one.rawValue == other.rawValue }

    /// The code without its details.
    public var primary: ResultCode { ResultCode(rawValue: rawValue & 0xff) }

    // MARK: Primary codes

    @inlinable public static var ok: ResultCode { ResultCode(rawValue: SQLITE_OK) }
    /// The SQL is invalid, or it failed for a reason without a code of its own.
    public static let error = ResultCode(rawValue: SQLITE_ERROR)
    public static let noPermission = ResultCode(rawValue: SQLITE_PERM)
    public static let busy = ResultCode(rawValue: SQLITE_BUSY)
    /// Another statement of the same connection uses the table.
    public static let locked = ResultCode(rawValue: SQLITE_LOCKED)
    @inlinable public static var outOfMemory: ResultCode { ResultCode(rawValue: SQLITE_NOMEM) }
    public static let readOnly = ResultCode(rawValue: SQLITE_READONLY)
    public static let interrupted = ResultCode(rawValue: SQLITE_INTERRUPT)
    public static let inputOutput = ResultCode(rawValue: SQLITE_IOERR)
    public static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
    public static let full = ResultCode(rawValue: SQLITE_FULL)
    public static let cannotOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
    /// Other connections kept winning the race for the locks of the write-ahead log, and SQLite gave up after seconds.
    public static let lockingProtocol = ResultCode(rawValue: SQLITE_PROTOCOL)
    public static let schemaChanged = ResultCode(rawValue: SQLITE_SCHEMA)
    @inlinable public static var tooBig: ResultCode { ResultCode(rawValue: SQLITE_TOOBIG) }
    public static let constraint = ResultCode(rawValue: SQLITE_CONSTRAINT)
    public static let mismatch = ResultCode(rawValue: SQLITE_MISMATCH)
    public static let misuse = ResultCode(rawValue: SQLITE_MISUSE)
    public static let noLargeFiles = ResultCode(rawValue: SQLITE_NOLFS)
    public static let notAuthorized = ResultCode(rawValue: SQLITE_AUTH)
    /// A parameter or column does not exist.
    public static let outOfRange = ResultCode(rawValue: SQLITE_RANGE)
    public static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)

    // MARK: Extended codes, which Swift does not import

    public static let foreignKey = ResultCode(SQLITE_CONSTRAINT, detail: 3)
    public static let notNull = ResultCode(SQLITE_CONSTRAINT, detail: 5)
    public static let primaryKey = ResultCode(SQLITE_CONSTRAINT, detail: 6)
    /// A trigger called `RAISE`.
    public static let trigger = ResultCode(SQLITE_CONSTRAINT, detail: 7)
    public static let unique = ResultCode(SQLITE_CONSTRAINT, detail: 8)
    public static let rowID = ResultCode(SQLITE_CONSTRAINT, detail: 10)
    /// A value has another type than its column of a `STRICT` table.
    public static let dataType = ResultCode(SQLITE_CONSTRAINT, detail: 12)
    /// The file was written after the transaction began to read.
    public static let busySnapshot = ResultCode(SQLITE_BUSY, detail: 2)
    /// The write-ahead log must be recovered, but it cannot be written.
    public static let noRecovery = ResultCode(SQLITE_READONLY, detail: 1)
    /// The file was moved or removed while it was open.
    public static let moved = ResultCode(SQLITE_READONLY, detail: 4)
    /// The lock file does not exist and cannot be created.
    public static let noLocks = ResultCode(SQLITE_READONLY, detail: 5)
    /// The folder of the file cannot be written.
    public static let noFolder = ResultCode(SQLITE_READONLY, detail: 6)
    public static let writeFailed = ResultCode(SQLITE_IOERR, detail: 3)
    public static let inputOutputOutOfMemory = ResultCode(SQLITE_IOERR, detail: 12)
    /// The lock file of the write-ahead log could not be enlarged.
    public static let lockFileGrowthFailed = ResultCode(SQLITE_IOERR, detail: 19)
    /// A checksum is wrong.
    public static let badData = ResultCode(SQLITE_IOERR, detail: 32)
    public static let badFileSystem = ResultCode(SQLITE_IOERR, detail: 33)
    /// The transaction was rolled back while the statement was reading.
    public static let abortedByRollback = ResultCode(SQLITE_ABORT, detail: 2)
}
