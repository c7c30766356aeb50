/// A plain struct that has a table.
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
/// Its stored properties are its columns, found when the type is first used; the table is made then, and gains columns
/// when the type gains properties. Everything below has a convention and can be overridden.
public protocol ActiveRecord: Sendable {
    /// The key of the row. Nil until the record was saved; `save` sets it.
    ///
    /// SQLite gives a new row the number behind the highest that is there: when the row with the highest is removed, the
    /// next one gets its number again. A key that is kept elsewhere, or an old copy of a removed record, may then mean
    /// another row. Where that must not be, have a `Migration` make the table with `INTEGER PRIMARY KEY AUTOINCREMENT`,
    /// which is taken as it is; inserts cost a third more. Or keep a `UUID` in a column of its own.
    var objectId: Int64? { get set }

    /// `persons` for `Person`.
    static var tableName: String { get }
    /// The name of the database that is meant where none is given; see `Database.open(_:name:)`.
    static var databaseName: String { get }
    /// The columns about which something is unusual.
    static var columns: [Column<Self>] { get }
    static var indexes: [Index<Self>] { get }
    /// Which columns hold the `objectId` of another record, and what becomes of this one when that is removed.
    static var references: [Reference<Self>] { get }
    /// What must hold before a record is saved.
    static var rules: [Rule<Self>] { get }
    /// A number that counts the saves of a row, from 1, which an insert sets whatever it was. With it, `save` and
    /// `remove` throw `stale` if somebody else saved since the record was read.
    ///
    /// It begins anew with a new row that gets the number of a removed one (see `objectId`): a copy of the removed one
    /// that was never saved again has the version of the new.
    static var versionColumn: WritableKeyPath<Self, Int>? { get }
    /// Set by `save`: when the row was inserted, and when it was last saved.
    static var timestamps: Timestamps<Self>? { get }
    /// The text that is run for an operation: return another than `standard` to override it. `RecordOperation` says for
    /// each which parameters it is given and what it must do.
    static func sql(for operation: RecordOperation, standard: String) -> String

    // MARK: Hooks

    // All run in the transaction, and may save and remove other records through it. What they throw undoes the verb that
    // they are part of, with all that they did: of an array, the whole array.

    /// Before the record is validated and written. What it changes is saved.
    mutating func willSave(in transaction: Transaction) throws
    /// After the record was written; `objectId` is set. What it changes is not saved.
    mutating func didSave(in transaction: Transaction) throws
    /// Before the row is removed. What it throws undoes the verb.
    func willRemove(in transaction: Transaction) throws
    /// After the row was removed; not if it was gone already.
    func didRemove(in transaction: Transaction) throws
}

extension ActiveRecord {
    public static var tableName: String { conventionalTableName(of: "\(Self.self)") }
    public static var databaseName: String { Database.mainName }
    public static var columns: [Column<Self>] { [] }
    public static var indexes: [Index<Self>] { [] }
    public static var references: [Reference<Self>] { [] }
    public static var rules: [Rule<Self>] { [] }
    public static var versionColumn: WritableKeyPath<Self, Int>? { nil }
    public static var timestamps: Timestamps<Self>? { nil }
    public static func sql(for operation: RecordOperation, standard: String) -> String { standard }
}

/// The statements of a record that can be overridden.
///
/// An override must have the parameters of the standard text, by the same numbers. "The columns" are those of the
/// properties without `objectId`, in the order of their declaration, from `?1` on; n is how many they are.
///
/// What a statement did is known by the rows that it changed. SQLite counts none where a trigger does the work, as with
/// a view: there the override ends in RETURNING, and gives one row if it did something.
public enum RecordOperation: Hashable, Sendable {
    /// Parameters: the columns. `objectId` becomes what RETURNING gives as its first value; without RETURNING, the
    /// number of the inserted row; nil if nothing was inserted, which is no error (INSERT OR IGNORE).
    case insert
    /// Of a record that brings its `objectId`. Parameters: the columns, then `objectId` as `?n+1`.
    case insertWithID
    /// Parameters: the columns, then `objectId` as `?n+1`, then, with a version column, the version that was read as
    /// `?n+2`; the new version is among the columns. Changes nothing if there is no such row, or one of another
    /// version.
    case update
    /// `?1` is `objectId`; gives all columns, `objectId` first.
    case find
    /// `?1` is `objectId`; with a version column `?2` is the version that was read.
    case remove
}
