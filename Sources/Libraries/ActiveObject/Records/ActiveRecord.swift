/// A plain struct that is stored in a table.
///
/// ```swift
/// struct Person: ActiveRecord, Codable {
///     var objectId: Int64?
///     var name: String
///     var age: Int
/// }
///
/// let database = try await Database.open("people.db")
/// var joe = Person(name: "Joe", age: 42)
/// try await joe.save()
/// let same = try await Person.find(joe.objectId!)
/// ```
///
/// The stored properties are the columns. They are determined when the type is first used; the table is created then,
/// or gains columns for new properties. All static members have defaults and can be overridden.
public protocol ActiveRecord: Sendable {
    /// The key of the row. Nil until the record is saved; `save` sets it.
    ///
    /// SQLite gives a new row the number after the highest existing one. If the row with the highest number is removed,
    /// the next new row reuses its number. A key that is stored elsewhere, or an old copy of a removed record, may then
    /// refer to another row. If this is not acceptable, let a ``Migration`` create the table with `INTEGER PRIMARY KEY
    /// AUTOINCREMENT`, which makes inserts about a third slower, or store a `UUID` in a column of its own.
    var objectId: Int64? { get set }

    /// The name of the table; by default `persons` for `Person`.
    static var tableName: String { get }
    /// The name of the database to use when a call does not pass one; see ``Database/open(_:name:options:)``.
    static var databaseName: String { get }
    /// The columns that differ from the conventions.
    static var columns: [Column<Self>] { get }
    /// The indexes of the table.
    static var indexes: [Index<Self>] { get }
    /// The columns with the `objectId` of another record, and what happens to a record when that other record is
    /// removed.
    static var references: [Reference<Self>] { get }
    /// The conditions that a record must satisfy before it is saved.
    static var rules: [Rule<Self>] { get }
    /// A number that counts the saves of a row. An insert sets it to 1. With it, `save` and `remove` throw
    /// ``ActiveObjectError/Code-swift.struct/stale`` if another caller has saved the record since it was read.
    ///
    /// If a new row reuses the number of a removed one (see ``objectId``), its versions start again at 1. A copy of the
    /// removed record that was never saved again then has the version of the new row.
    static var versionColumn: WritableKeyPath<Self, Int>? { get }
    /// The properties with the times of the insert and of the last save, which `save` sets.
    static var timestamps: Timestamps<Self>? { get }
    /// Returns the SQL of an operation. Override it to return other SQL than `standard`. ``RecordOperation`` describes
    /// the parameters and the result of each operation.
    static func sql(for operation: RecordOperation, standard: String) -> String

    // MARK: Hooks

    // All hooks run in the transaction and may save and remove other records through it. An error of a hook undoes the
    // operation with everything that its hooks did; for an array, the whole array.

    /// Called before the record is validated and written. Its changes of the record are saved.
    mutating func willSave(in transaction: Transaction) throws
    /// Called after the record was written, with `objectId` set. Its changes of the record are not saved.
    mutating func didSave(in transaction: Transaction) throws
    /// Called before the row is removed.
    func willRemove(in transaction: Transaction) throws
    /// Called after the row was removed; not if it was already gone.
    func didRemove(in transaction: Transaction) throws
}

extension ActiveRecord {
    /// The conventional name: `persons` for `Person`.
    public static var tableName: String { conventionalTableName(of: "\(Self.self)") }
    /// ``Database/mainName``.
    public static var databaseName: String { Database.mainName }
    /// No columns that differ from the conventions.
    public static var columns: [Column<Self>] { [] }
    /// No indexes.
    public static var indexes: [Index<Self>] { [] }
    /// No references.
    public static var references: [Reference<Self>] { [] }
    /// No rules.
    public static var rules: [Rule<Self>] { [] }
    /// No version column.
    public static var versionColumn: WritableKeyPath<Self, Int>? { nil }
    /// No timestamps.
    public static var timestamps: Timestamps<Self>? { nil }
    /// Returns `standard`.
    public static func sql(for operation: RecordOperation, standard: String) -> String { standard }
}

/// The operations of a record whose SQL can be overridden.
///
/// An override must use the parameters of the standard SQL, with the same numbers. "The columns" below are those of all
/// properties except `objectId`, in the order of declaration, from `?1` on; n is their number.
///
/// The number of changed rows shows whether a statement had an effect. SQLite does not count rows that a trigger
/// changes, as for a view. In this case the override must end with RETURNING, and return one row if it had an effect.
public enum RecordOperation: Hashable, Sendable {
    /// Inserts a record without `objectId`. Parameters: the columns. `objectId` becomes the first value that RETURNING
    /// returns, or else the number of the inserted row. It stays nil if no row was inserted, which is not an error
    /// (INSERT OR IGNORE).
    case insert
    /// Inserts a record with `objectId`. Parameters: the columns, then `objectId` as `?n+1`.
    case insertWithID
    /// Updates a record. Parameters: the columns, then `objectId` as `?n+1`, then, with a version column, the version
    /// that was read as `?n+2`; the new version is among the columns. The statement must change nothing if the row does
    /// not exist or has another version.
    case update
    /// Selects a record by its key. Parameter: `objectId` as `?1`. The result has all columns, `objectId` first.
    case find
    /// Removes a record. Parameters: `objectId` as `?1`; with a version column, the version that was read as `?2`.
    case remove
}
