// Functions of record types, each of which executes a query.

extension ActiveRecord {
    /// Returns the records that satisfy `criteria`.
    ///
    /// - Parameters:
    ///   - criteria: The condition.
    ///   - order: The columns to sort by. Records that are equal there are sorted by their keys.
    ///   - limit: The maximum number of records; nil for no limit.
    ///   - offset: The number of records to skip.
    ///   - snapshot: The state of the database to read.
    public static func find(
        where criteria: Criteria<Self>, order: [Order<Self>] = [], limit: Int? = nil, offset: Int = 0,
        in snapshot: Snapshot
    ) throws -> [Self] {
        try Query(where: criteria, order: order, limit: limit, offset: offset).all(in: snapshot)
    }

    /// Returns the records that satisfy `criteria`, from a database, by default the one that the type names.
    public static func find(
        where criteria: Criteria<Self>, order: [Order<Self>] = [], limit: Int? = nil, offset: Int = 0,
        in database: Database? = nil
    ) async throws -> [Self] {
        try await Query(where: criteria, order: order, limit: limit, offset: offset).all(in: database)
    }

    /// Returns all records, sorted by columns, or a part of them.
    public static func findAll(
        order: [Order<Self>], limit: Int? = nil, offset: Int = 0, in snapshot: Snapshot
    ) throws -> [Self] {
        try Query(where: .all, order: order, limit: limit, offset: offset).all(in: snapshot)
    }

    /// Returns all records, sorted by columns, from a database, by default the one that the type names.
    public static func findAll(
        order: [Order<Self>], limit: Int? = nil, offset: Int = 0, in database: Database? = nil
    ) async throws -> [Self] {
        try await Query(where: .all, order: order, limit: limit, offset: offset).all(in: database)
    }

    /// Returns the record with the lowest key that satisfies `criteria`; nil if there is none.
    public static func first(where criteria: Criteria<Self>, in snapshot: Snapshot) throws -> Self? {
        try self.where(criteria).first(in: snapshot)
    }

    /// Returns the record with the lowest key that satisfies `criteria`, from a database, by default the one that the
    /// type names.
    public static func first(where criteria: Criteria<Self>, in database: Database? = nil) async throws -> Self? {
        try await self.where(criteria).first(in: database)
    }

    /// Returns the number of records that satisfy `criteria`.
    public static func count(where criteria: Criteria<Self>, in snapshot: Snapshot) throws -> Int {
        try self.where(criteria).count(in: snapshot)
    }

    /// Returns the number of records that satisfy `criteria` in a database, by default the one that the type names.
    public static func count(where criteria: Criteria<Self>, in database: Database? = nil) async throws -> Int {
        try await self.where(criteria).count(in: database)
    }

    /// Returns the number of records.
    public static func countAll(in snapshot: Snapshot) throws -> Int {
        try query.count(in: snapshot)
    }

    /// Returns the number of records in a database, by default the one that the type names.
    public static func countAll(in database: Database? = nil) async throws -> Int {
        try await query.count(in: database)
    }

    /// Returns whether there is a record with this key.
    public static func exists(_ objectId: Int64, in snapshot: Snapshot) throws -> Bool {
        try self.where(Criteria(.key, satisfies: .equals(objectId))).exists(in: snapshot)
    }

    /// Returns whether there is a record with this key in a database, by default the one that the type names.
    public static func exists(_ objectId: Int64, in database: Database? = nil) async throws -> Bool {
        try await self.where(Criteria(.key, satisfies: .equals(objectId))).exists(in: database)
    }

    /// Returns whether a record satisfies `criteria`.
    public static func exists(where criteria: Criteria<Self>, in snapshot: Snapshot) throws -> Bool {
        try self.where(criteria).exists(in: snapshot)
    }

    /// Returns whether a record satisfies `criteria` in a database, by default the one that the type names.
    public static func exists(where criteria: Criteria<Self>, in database: Database? = nil) async throws -> Bool {
        try await self.where(criteria).exists(in: database)
    }

    /// Removes the records that satisfy `criteria` with a single statement. Hooks are not called; see
    /// ``Query/remove(in:)-(Transaction)``.
    ///
    /// - Returns: The number of removed records.
    @discardableResult
    public static func remove(where criteria: Criteria<Self>, in transaction: Transaction) throws -> Int {
        try self.where(criteria).remove(in: transaction)
    }

    /// Removes the records that satisfy `criteria` from a database, by default the one that the type names. Hooks are
    /// not called.
    ///
    /// - Returns: The number of removed records.
    @discardableResult
    public static func remove(where criteria: Criteria<Self>, in database: Database? = nil) async throws -> Int {
        try await self.where(criteria).remove(in: database)
    }

    /// Removes all records. Hooks are not called; see ``Query/remove(in:)-(Transaction)``.
    ///
    /// - Returns: The number of removed records.
    @discardableResult
    public static func removeAll(in transaction: Transaction) throws -> Int {
        try query.remove(in: transaction)
    }

    /// Removes all records from a database, by default the one that the type names. Hooks are not called.
    ///
    /// - Returns: The number of removed records.
    @discardableResult
    public static func removeAll(in database: Database? = nil) async throws -> Int {
        try await query.remove(in: database)
    }
}

extension Query {
    fileprivate init(where criteria: Criteria<Record>, order orders: [Order<Record>], limit: Int?, offset: Int) {
        var query = Query().where(criteria).order(orders).offset(offset)
        if let limit { query = query.limit(limit) }
        self = query
    }
}
