import PushPostgreSQL
import TestSupport

/// One server for all tests that neither stop it nor change it. They keep their rows in temporary tables.
actor SharedServer {
    static let shared = SharedServer()

    private var starting: Task<PostgreSQLServer, any Error>?

    func server() async throws -> PostgreSQLServer {
        let starting = self.starting ?? Task { try await PostgreSQLServer.start(settings: ["max_connections": "100"]) }
        self.starting = starting
        return try await starting.value
    }
}

extension TestConnection {
    /// Opens a connection to the shared server, with an empty temporary table `item`.
    static func shared(limits: PostgreSQLConnection.Limits = .init()) async throws -> TestConnection {
        let connection = try await TestConnection(try await SharedServer.shared.server(), limits: limits)
        _ = try await connection.run("CREATE TEMP TABLE item (number int8 PRIMARY KEY, body bytea)").results()
        return connection
    }

    /// Returns the only text that a query returns.
    func text(_ sql: String) async throws -> String {
        try await run("SELECT (\(sql))::text").results()[0].row().value(0)
    }
}
