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
    /// A number that counts the saves of a row. With it, `save` throws `stale` if somebody else saved in between.
    static var versionColumn: WritableKeyPath<Self, Int>? { get }
    /// Set by `save`: when the row was inserted, and when it was last saved.
    static var timestamps: Timestamps<Self>? { get }
    /// The text that is run for an operation: return another than `standard` to override it. It must take the same
    /// parameters, by the same numbers, and give the same columns.
    static func sql(for operation: RecordOperation, standard: String) -> String

    /// Called in the transaction, before the record is validated and written. What it changes is saved; what it throws
    /// undoes the transaction.
    mutating func willSave(in transaction: Transaction) throws
    /// Called in the transaction, after the record was written.
    mutating func didSave(in transaction: Transaction) throws
    func willRemove(in transaction: Transaction) throws
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
    public mutating func willSave(in transaction: Transaction) throws {}
    public mutating func didSave(in transaction: Transaction) throws {}
    public func willRemove(in transaction: Transaction) throws {}
    public func didRemove(in transaction: Transaction) throws {}
    public static func sql(for operation: RecordOperation, standard: String) -> String { standard }
}

/// The statements of a record that can be overridden.
public enum RecordOperation: Hashable, Sendable {
    /// Parameters are the columns without `objectId`, in the order of the properties.
    case insert
    /// The same parameters, and `objectId` as the last.
    case update
    /// `?1` is `objectId`; gives all columns, `objectId` first.
    case find
    /// `?1` is `objectId`.
    case remove
}
