// The verbs of a type, each a query in one call.

extension ActiveRecord {
    /// All that are like this.
    ///
    /// - Parameter order: of those that are equal in all of it, and without it, in the order of their keys.
    public static func find(
        where criteria: Criteria<Self>, order: [Order<Self>] = [], limit: Int? = nil, offset: Int = 0,
        in snapshot: Snapshot
    ) throws -> [Self] {
        try Query(criteria, order, limit, offset).all(in: snapshot)
    }

    public static func find(
        where criteria: Criteria<Self>, order: [Order<Self>] = [], limit: Int? = nil, offset: Int = 0,
        in database: Database? = nil
    ) async throws -> [Self] {
        try await Query(criteria, order, limit, offset).all(in: database)
    }

    /// All there are, in an order of their own, or a part of them.
    public static func findAll(
        order: [Order<Self>], limit: Int? = nil, offset: Int = 0, in snapshot: Snapshot
    ) throws -> [Self] {
        try Query(.all, order, limit, offset).all(in: snapshot)
    }

    public static func findAll(
        order: [Order<Self>], limit: Int? = nil, offset: Int = 0, in database: Database? = nil
    ) async throws -> [Self] {
        try await Query(.all, order, limit, offset).all(in: database)
    }

    /// The first that is like this, in the order of the keys; nil if none is.
    public static func first(where criteria: Criteria<Self>, in snapshot: Snapshot) throws -> Self? {
        try self.where(criteria).first(in: snapshot)
    }

    public static func first(where criteria: Criteria<Self>, in database: Database? = nil) async throws -> Self? {
        try await self.where(criteria).first(in: database)
    }

    /// How many are like this.
    public static func count(where criteria: Criteria<Self>, in snapshot: Snapshot) throws -> Int {
        try self.where(criteria).count(in: snapshot)
    }

    public static func count(where criteria: Criteria<Self>, in database: Database? = nil) async throws -> Int {
        try await self.where(criteria).count(in: database)
    }

    /// How many there are.
    public static func countAll(in snapshot: Snapshot) throws -> Int {
        try query.count(in: snapshot)
    }

    public static func countAll(in database: Database? = nil) async throws -> Int {
        try await query.count(in: database)
    }

    /// Whether there is a record with this key.
    public static func exists(_ objectId: Int64, in snapshot: Snapshot) throws -> Bool {
        try self.where(Criteria(.key, .equals(objectId))).exists(in: snapshot)
    }

    public static func exists(_ objectId: Int64, in database: Database? = nil) async throws -> Bool {
        try await self.where(Criteria(.key, .equals(objectId))).exists(in: database)
    }

    /// Whether one is like this.
    public static func exists(where criteria: Criteria<Self>, in snapshot: Snapshot) throws -> Bool {
        try self.where(criteria).exists(in: snapshot)
    }

    public static func exists(where criteria: Criteria<Self>, in database: Database? = nil) async throws -> Bool {
        try await self.where(criteria).exists(in: database)
    }

    /// Removes all that are like this, by one statement, and returns their number. No hooks are called: see
    /// `Query.remove`.
    @discardableResult
    public static func remove(where criteria: Criteria<Self>, in transaction: Transaction) throws -> Int {
        try self.where(criteria).remove(in: transaction)
    }

    @discardableResult
    public static func remove(where criteria: Criteria<Self>, in database: Database? = nil) async throws -> Int {
        try await self.where(criteria).remove(in: database)
    }

    /// Empties the table and returns how many records there were. No hooks are called: see `Query.remove`.
    @discardableResult
    public static func removeAll(in transaction: Transaction) throws -> Int {
        try query.remove(in: transaction)
    }

    @discardableResult
    public static func removeAll(in database: Database? = nil) async throws -> Int {
        try await query.remove(in: database)
    }
}

extension Query {
    fileprivate init(_ criteria: Criteria<Record>, _ orders: [Order<Record>], _ limit: Int?, _ offset: Int) {
        var query = Query().where(criteria).order(orders).offset(offset)
        if let limit { query = query.limit(limit) }
        self = query
    }
}
