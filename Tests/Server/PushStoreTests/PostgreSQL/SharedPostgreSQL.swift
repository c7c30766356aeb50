import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import TestSupport

@testable import PushStore

/// The server that the tests of this target share. Each ledger has a database of its own.
actor SharedPostgreSQL {
    static let shared = SharedPostgreSQL()

    private var starting: Task<PostgreSQLServer, any Error>?
    private var templates: [Int: Task<String, any Error>] = [:]
    private var newest = 0

    func server() async throws -> PostgreSQLServer {
        if let starting { return try await starting.value }
        let task = Task { try await PostgreSQLServer.start(settings: ["max_connections": "400"]) }
        starting = task
        return try await task.value
    }

    /// Returns how to connect to a new database with the tables of a store.
    func store(parts: Int, at time: WallTime) async throws -> PostgreSQLOptions {
        let server = try await server()
        let template = try await template(parts: parts, at: time, on: server)
        newest += 1
        let name = "ledger_\(newest)"
        try await server.execute("CREATE DATABASE \(name) TEMPLATE \(template)")
        var options = try PostgreSQLURL.parse(server.url())
        options.database = name
        return options
    }

    /// Returns how to connect to a new database without tables.
    func emptyDatabase(_ clause: String = "") async throws -> PostgreSQLOptions {
        let server = try await server()
        newest += 1
        let name = "empty_\(newest)"
        try await server.execute("CREATE DATABASE \(name) \(clause)")
        var options = try PostgreSQLURL.parse(server.url())
        options.database = name
        return options
    }

    private func template(parts: Int, at time: WallTime, on server: PostgreSQLServer) async throws -> String {
        if let known = templates[parts] { return try await known.value }
        let task = Task {
            let name = "template_\(parts)"
            try await server.execute("CREATE DATABASE \(name)")
            var options = try PostgreSQLURL.parse(server.url())
            options.database = name
            try await StoreTables.create(Self.settings(options), parts: parts, at: time)
            return name
        }
        templates[parts] = task
        return try await task.value
    }

    static func settings(_ options: PostgreSQLOptions) -> PostgreSQLLedger.Settings {
        var settings = PostgreSQLLedger.Settings(options, resolver: { [$0.name] })
        settings.session.durability = .single
        // On a busy machine, a flush may take long. Tests of a database that stands still set a shorter time.
        settings.patience = .seconds(3600)
        return settings
    }
}
