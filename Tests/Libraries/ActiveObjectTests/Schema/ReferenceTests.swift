import Testing

@testable import ActiveObject

@Suite struct ReferenceTests {
    private struct Team: ActiveRecord {
        static var columns: [Column<Team>] { [Column(\.objectId, named: "id")] }
        static var references: [Reference<Team>] { [Reference(\.captain, to: Player.self, onRemove: .setNil)] }
        var objectId: Int64?
        var name: String
        var captain: Int64?
    }

    private struct Player: ActiveRecord {
        static var references: [Reference<Player>] {
            [
                Reference(\.team, to: Team.self, onRemove: .cascade), Reference(\.mentor, to: Player.self),
                Reference(\.second, to: Team.self),
            ]
        }
        static var indexes: [Index<Player>] { [.unique(\.team, \.number)] }
        var objectId: Int64?
        var number: Int
        var team: Int64
        var mentor: Int64?
        var second: Int64?
    }

    private static func remove(_ id: Int64, from table: String, in database: Database) async throws {
        try await database.write { transaction in
            try transaction.connection.run("DELETE FROM \(table) WHERE rowid = \(id)")
        }
    }

    @Test func `Circular references are enforced by SQLite`() async throws {
        try await withDatabase { database in
            var team = Team(name: "Reds")
            try await team.save(in: database)
            var joe = Player(number: 1, team: try #require(team.objectId))
            try await joe.save(in: database)
            team.captain = joe.objectId
            try await team.save(in: database)
            var ann = Player(number: 2, team: try #require(team.objectId), mentor: joe.objectId)
            try await ann.save(in: database)

            let sql = try look(into: database.path, "SELECT sql FROM sqlite_schema WHERE name = 'players'")
            #expect(sql[0][0].contains(#""team" INTEGER NOT NULL REFERENCES "teams" ("id") ON DELETE CASCADE"#))
            #expect(sql[0][0].contains(#""mentor" INTEGER REFERENCES "players" ("objectId") ON DELETE RESTRICT"#))
            let indexes = try look(
                into: database.path, "SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY name")
            // `team` already has an index.
            #expect(
                indexes.map { $0[0] } == [
                    "players_mentor_index", "players_second_index", "players_team_number_key", "teams_captain_index",
                ])

            var lost = Player(number: 3, team: 99)
            let missing = await thrownError { try await lost.save(in: database) }
            #expect(missing?.code == .brokenReference)
            let mentor = await thrownError { try await Self.remove(1, from: "players", in: database) }
            #expect(mentor?.code == .brokenReference)
            try await Self.remove(2, from: "players", in: database)
            try await Self.remove(1, from: "players", in: database)
            let found = try await Team.findAll(in: database)
            #expect(found.map(\.captain) == [nil])
            var bob = Player(number: 4, team: 1)
            try await bob.save(in: database)
            try await Self.remove(1, from: "teams", in: database)
            let players = try await Player.findAll(in: database)
            #expect(players.isEmpty)
        }
    }

    private struct Wrong: ActiveRecord {
        static var references: [Reference<Wrong>] { [Reference(\.team, to: Team.self, onRemove: .setNil)] }
        var objectId: Int64?
        var team: Int64
    }
    private struct Twice: ActiveRecord {
        static var references: [Reference<Twice>] {
            [Reference(\.team, to: Team.self), Reference(\.team, to: Wrong.self)]
        }
        var objectId: Int64?
        var team: Int64?
    }

    @Test func `Invalid remove rules are rejected`() async throws {
        try await withDatabase { database in
            let wrong = await thrownError { _ = try await Wrong.findAll(in: database) }
            #expect(wrong?.code == .badRecord && wrong?.column == "team")
            let twice = await thrownError { _ = try await Twice.findAll(in: database) }
            #expect(twice?.code == .badRecord && twice?.column == "team")
        }
    }

    private struct Fan: ActiveRecord {
        static var references: [Reference<Fan>] { [Reference(\.team, to: Team.self, onRemove: .cascade)] }
        var objectId: Int64?
        var team: Int64?
    }
    private struct DefaultFan: ActiveRecord {
        static let tableName = "fans"
        static var columns: [Column<DefaultFan>] { [Column(\.team, default: 1)] }
        static var references: [Reference<DefaultFan>] { [Reference(\.team, to: Team.self)] }
        var objectId: Int64?
        var team: Int64?
    }
    private struct StrictFan: ActiveRecord {
        static let tableName = "fans"
        static var references: [Reference<StrictFan>] { [Reference(\.team, to: Team.self)] }
        var objectId: Int64?
        var team: Int64
    }

    @Test(arguments: [
        "team INTEGER) STRICT", "team INTEGER REFERENCES teams (id)) STRICT",
        "team INTEGER REFERENCES others (id) ON DELETE CASCADE) STRICT",
        "team INTEGER REFERENCES teams (name) ON DELETE CASCADE) STRICT",
    ])
    func `A reference that differs from the file causes an error`(columns: String) async throws {
        try await withFile(["CREATE TABLE fans (objectId INTEGER PRIMARY KEY, \(columns)"]) { database in
            let error = await thrownError { _ = try await Fan.findAll(in: database) }
            #expect(error?.code == .badSchema && error?.column == "team")
        }
    }

    @Test func `A new reference in a table with rows needs an optional property`() async throws {
        let made = "CREATE TABLE fans (objectId INTEGER PRIMARY KEY) STRICT"
        try await withFile([made, "INSERT INTO fans VALUES (1)"]) { database in
            let error = await thrownError { _ = try await StrictFan.findAll(in: database) }
            #expect(error?.code == .badSchema && error?.column == "team")
            let given = await thrownError { _ = try await DefaultFan.findAll(in: database) }
            #expect(given?.code == .badSchema && given?.column == "team")
            let fans = try await Fan.findAll(in: database)
            #expect(fans.map(\.team) == [nil])
        }
        try await withFile([made]) { database in
            let fans = try await StrictFan.findAll(in: database)
            #expect(fans.isEmpty)
        }
    }
}
