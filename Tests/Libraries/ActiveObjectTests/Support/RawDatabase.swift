@testable import ActiveObject

/// Creates a file as another program or an older version would leave it.
func prepareFile(_ path: String, with statements: [String]) throws {
    let connection = try Connection(path: path, mode: .readWrite(creates: true))
    defer { connection.close() }
    for sql in statements {
        if sql.hasPrefix("PRAGMA") {
            try connection.control(sql)
        } else {
            try connection.run(sql)
        }
    }
}

/// Returns the rows of a statement, each value as text.
func look(into path: String, _ sql: String) throws -> [[String]] {
    let connection = try Connection(path: path, mode: .readOnly)
    defer { connection.close() }
    return try connection.rows(sql) { row in
        row.map { value in
            switch value {
            case .null: "NULL"
            case .integer(let value): "\(value)"
            case .real(let value): "\(value)"
            case .text(let value): value
            case .blob(let value): "\(value.count) bytes"
            }
        }
    }
}

/// Runs `body` with a database in a new file in which `statements` have run.
func withFile<Result>(
    _ statements: [String], options: Database.Options = Database.Options(),
    body: (Database) async throws -> Result
) async throws -> Result {
    try await withDatabase(options, in: statements, body: body)
}

/// Returns the error that `body` throws; nil if it throws none, or another type.
func thrownError(_ body: () async throws -> Void) async -> ActiveObjectError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? ActiveObjectError
    }
}

func thrownCode(_ body: () async throws -> Void) async -> ActiveObjectError.Code? {
    await thrownError(body)?.code
}
