import PushThread

/// The open databases by the names that record types use.
enum OpenDatabases {
    private static let databases = Locked<[String: Database]>([:])

    static func check(isFree name: String) throws(ActiveObjectError) {
        if databases.withLock({ $0[name] != nil }) { throw isOpenAlready(name) }
    }

    static func add(_ database: Database, as name: String) throws(ActiveObjectError) {
        let isFree = databases.withLock { databases in
            guard databases[name] == nil else { return false }
            databases[name] = database
            return true
        }
        guard isFree else { throw isOpenAlready(name) }
    }

    private static func isOpenAlready(_ name: String) -> ActiveObjectError {
        ActiveObjectError(
            .cannotOpen, message: "a database named \(name) is already open; close it first, or use another name")
    }

    static func remove(_ database: Database) {
        databases.withLock { databases in databases = databases.filter { $0.value !== database } }
    }

    static func named(_ name: String) throws(ActiveObjectError) -> Database {
        guard let database = databases.withLock({ $0[name] }) else {
            throw ActiveObjectError(.notOpen, message: "no database named \(name) is open; call Database.open first")
        }
        return database
    }
}
