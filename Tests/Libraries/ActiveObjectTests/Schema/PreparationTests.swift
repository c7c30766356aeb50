import ActiveObject
import FoundationEssentials
import Testing

/// Tests of tables that grow with their types. Each version of a type is a type of its own here, with the same table.
@Suite struct PreparationTests {
    private enum Mood: String, Codable { case glad, sad }
    private enum Level: Int, Codable { case low, high }

    private struct First: ActiveRecord {
        static let tableName = "persons"
        static var indexes: [Index<First>] { [Index(\.rank), .unique(\.name)] }
        var objectId: Int64?
        var name: String
        var rank = 0
    }

    private struct Second: ActiveRecord {
        static let tableName = "PERSONS"
        static var columns: [Column<Second>] {
            [
                Column(\.mood, default: "glad"), Column(\.born, default: 0.5), Column(\.nick, default: "it's"),
                Column(\.ratio, default: 2), Column(\.code, default: .blob(Data([0, 255]))),
            ]
        }
        static var indexes: [Index<Second>] { [.unique(\.name, \.rank), Index(\.age)] }
        var objectId: Int64?
        var name: String
        var rank = 0
        var age: Int
        var flag: Bool
        var income: Double
        var motto: String
        var photo: Data
        var level: Level
        var mood: Mood
        var born: Date
        var nick: String?
        var ratio: Double
        var code: Data
        var note: String?
    }

    @Test func `A table is created STRICT with a key, column types and indexes`() async throws {
        try await withDatabase { database in
            var record = First(name: "Joe")
            try await record.save(in: database)
            let tables = try look(into: database.path, "SELECT sql FROM sqlite_schema ORDER BY name")
            #expect(
                tables == [
                    [
                        """
                        CREATE TABLE "persons" ("objectId" INTEGER PRIMARY KEY, "name" TEXT NOT NULL, \
                        "rank" INTEGER NOT NULL) STRICT
                        """
                    ],
                    [#"CREATE UNIQUE INDEX "persons_name_key" ON "persons" ("name")"#],
                    [#"CREATE INDEX "persons_rank_index" ON "persons" ("rank")"#],
                ])
        }
    }

    @Test func `New properties become columns, and existing rows get defaults`() async throws {
        try await withDatabase { database in
            var record = First(name: "Joe", rank: 3)
            try await record.save(in: database)
            let found = try await Second.findAll(in: database)
            let joe = try #require(found.first)
            #expect(joe.name == "Joe" && joe.rank == 3 && joe.age == 0 && !joe.flag && joe.income == 0)
            #expect(joe.motto == "" && joe.photo.isEmpty && joe.level == .low && joe.mood == .glad)
            #expect(joe.born == Date(timeIntervalSinceReferenceDate: 0.5) && joe.nick == "it's" && joe.ratio == 2)
            #expect(joe.code == Data([0, 255]) && joe.note == nil)
            let indexes = try look(
                into: database.path, "SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY name")
            #expect(indexes == [["PERSONS_age_index"], ["PERSONS_name_rank_key"]])
            // The older type still works: its new columns have defaults, and its indexes are created again.
            var ann = First(name: "Ann")
            try await ann.save(in: database)
        }
    }

    @Test func `Foreign indexes are kept, and replace equivalent declared ones`() async throws {
        try await withFile([
            "CREATE TABLE persons (objectId INTEGER PRIMARY KEY, name TEXT NOT NULL, rank INTEGER NOT NULL) STRICT",
            "CREATE UNIQUE INDEX by_name ON persons (name)", "CREATE INDEX half ON persons (rank) WHERE rank > 0",
            "CREATE INDEX down ON persons (rank DESC)", "CREATE INDEX persons_rank_index ON persons (rank, name)",
        ]) { database in
            let found = try await First.findAll(in: database)
            #expect(found.isEmpty)
            let indexes = try look(
                into: database.path, "SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY name")
            #expect(indexes.map { $0[0] } == ["by_name", "down", "half", "persons_rank_index", "persons_rank_index_2"])
        }
    }

    @Test func `A new unique key over duplicate rows is rejected and rolled back`() async throws {
        try await withFile([
            "CREATE TABLE persons (objectId INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT",
            "INSERT INTO persons (name) VALUES ('Joe'), ('Joe')",
        ]) { database in
            let error = await thrownError { _ = try await First.findAll(in: database) }
            #expect(error?.code == .notUnique)
            #expect(error?.table == "persons" && error?.column == "name")
            let columns = try look(into: database.path, "SELECT name FROM pragma_table_info('persons')")
            #expect(columns == [["objectId"], ["name"]])
        }
    }

    private struct NeedsDate: ActiveRecord {
        static let tableName = "persons"
        var objectId: Int64?
        var born: Date
    }
    private struct NeedsMood: ActiveRecord {
        static let tableName = "persons"
        var objectId: Int64?
        var mood: Mood
    }
    private struct NeedsUUID: ActiveRecord {
        static let tableName = "persons"
        var objectId: Int64?
        var token: UUID
    }
    private struct NeedsList: ActiveRecord {
        static let tableName = "persons"
        var objectId: Int64?
        var list: [Int]
    }
    private struct WrongDefault: ActiveRecord {
        static let tableName = "persons"
        static var columns: [Column<WrongDefault>] { [Column(\.mood, default: "angry")] }
        var objectId: Int64?
        var mood: Mood
    }

    private static let oneRow = [
        "CREATE TABLE persons (objectId INTEGER PRIMARY KEY) STRICT", "INSERT INTO persons VALUES (1)",
    ]

    @Test func `A property without a readable default needs an explicit one`() async throws {
        func refused<Record: ActiveRecord>(_ type: Record.Type, with code: ActiveObjectError.Code) async throws {
            try await withFile(Self.oneRow) { database in
                let error = await thrownError { _ = try await type.findAll(in: database) }
                #expect(
                    error?.code == code && error?.message.contains("default") == true,
                    "\(type): \(error?.message ?? "no error")")
            }
        }
        try await refused(NeedsDate.self, with: .badSchema)
        try await refused(NeedsMood.self, with: .badSchema)
        try await refused(NeedsUUID.self, with: .badSchema)
        try await refused(NeedsList.self, with: .badSchema)
        try await refused(WrongDefault.self, with: .badRecord)
        // Without rows, no default is needed.
        try await withFile(Array(Self.oneRow.prefix(1))) { database in
            let found = try await NeedsDate.findAll(in: database)
            #expect(found.isEmpty)
        }
        try await withDatabase { database in
            let error = await thrownError { _ = try await WrongDefault.findAll(in: database) }
            #expect(error?.code == .badRecord)
        }
    }

    private struct Plain: ActiveRecord {
        static let tableName = "persons"
        var objectId: Int64?
        var name: String
        var nick: String?
        var age: Int
        var income: Double
    }

    private static let key = "objectId INTEGER PRIMARY KEY"

    @Test(arguments: [
        // STRICT tables, each with one thing that does not fit.
        ("\(key), name TEXT, nick TEXT, age INTEGER NOT NULL, income REAL NOT NULL) STRICT", "name"),
        ("\(key), name TEXT NOT NULL, nick TEXT NOT NULL, age INTEGER NOT NULL, income REAL NOT NULL) STRICT", "nick"),
        ("\(key), name BLOB NOT NULL, nick TEXT, age INTEGER NOT NULL, income REAL NOT NULL) STRICT", "name"),
        ("\(key), name TEXT NOT NULL, nick TEXT, age REAL NOT NULL, income REAL NOT NULL) STRICT", "age"),
        ("\(key), name TEXT NOT NULL, nick TEXT, age INT NOT NULL, income INTEGER NOT NULL) STRICT", "income"),
        (
            "\(key), name TEXT NOT NULL, nick TEXT, age INT NOT NULL, income ANY NOT NULL, old TEXT NOT NULL) STRICT",
            "old"
        ),
        ("\(key), name TEXT NOT NULL COLLATE NOCASE, nick TEXT, age INT NOT NULL, income ANY NOT NULL) STRICT", "name"),
        (
            "objectId INT PRIMARY KEY, name TEXT NOT NULL, nick TEXT, age INT NOT NULL, income ANY NOT NULL) STRICT",
            "objectId"
        ),
        ("objectId INTEGER, name TEXT NOT NULL, nick TEXT, age INT NOT NULL, income ANY NOT NULL) STRICT", "objectId"),
        (
            "id INTEGER PRIMARY KEY, name TEXT NOT NULL, nick TEXT, age INT NOT NULL, income ANY NOT NULL) STRICT",
            "objectId"
        ),
        // Tables of other programs.
        ("\(key), name STRING, nick TEXT, age INT, income REAL)", "name"),
        ("\(key), name TEXT, nick TEXT, age FLOAT, income REAL)", "age"),
        ("\(key), name TEXT, nick TEXT, age INT, income TEXT)", "income"),
        ("\(key), name TEXT, nick TEXT, age INT, income REAL, twice INT NOT NULL)", "twice"),
        ("\(key), name TEXT, nick TEXT, age INT AS (7), income REAL)", "age"),
        ("objectId INTEGER, name TEXT, nick TEXT, age INT, income REAL, PRIMARY KEY (objectId, name))", "objectId"),
        ("objectId INTEGER PRIMARY KEY DESC, name TEXT, nick TEXT, age INT, income REAL)", "objectId"),
    ])
    func `A table that does not fit causes an error with the column`(columns: String, column: String) async throws {
        try await withFile(["CREATE TABLE persons (\(columns)"]) { database in
            let error = await thrownError { _ = try await Plain.findAll(in: database) }
            #expect(error?.code == .badSchema, "\(error?.message ?? "no error")")
            #expect(error?.table == "persons")
            #expect(error?.column == column)
        }
    }

    @Test(arguments: [
        "\(key), name TEXT NOT NULL, nick TEXT, age INTEGER NOT NULL, income REAL NOT NULL, old TEXT) STRICT",
        "\(key), name ANY NOT NULL, nick ANY, age ANY NOT NULL, income ANY NOT NULL, old TEXT NOT NULL DEFAULT '') STRICT",
        "\(key), name VARCHAR(20), nick NCHAR(5), age BIGINT, income DOUBLE PRECISION, made DATETIME)",
        "\(key) AUTOINCREMENT, name CLOB, nick, age BOOLEAN, income DECIMAL(10, 2))",
        "OBJECTID INTEGER PRIMARY KEY, NAME TEXT, Nick TEXT, AGE INT, Income NUMERIC, twice INT AS (age * 2))",
    ])
    func `A table that fits is used unchanged`(columns: String) async throws {
        try await withFile(["CREATE TABLE persons (\(columns)"]) { database in
            var joe = Plain(name: "007", nick: nil, age: -5, income: 3)
            try await joe.save(in: database)
            joe.nick = "1e3"
            joe.income = 0.125
            try await joe.save(in: database)
            let found = try await Plain.findAll(in: database)
            #expect(found.map(\.name) == ["007"])
            #expect(found.map(\.nick) == ["1e3"])
            #expect(found.map(\.age) == [-5])
            #expect(found.map(\.income) == [0.125])
        }
    }

    private struct Dated: ActiveRecord {
        static let tableName = "events"
        static var columns: [Column<Dated>] { [Column(\.objectId, named: "id"), Column(\.at, dates: .iso8601)] }
        var objectId: Int64?
        var at: Date
        var token: UUID?
    }

    @Test func `Texts that never look numeric can be stored in columns with numeric affinity`() async throws {
        try await withFile(["CREATE TABLE events (id INTEGER PRIMARY KEY, at DATETIME, token GUID)"]) { database in
            var event = Dated(at: Date(timeIntervalSince1970: 1.5), token: UUID())
            try await event.save(in: database)
            let found = try await Dated.find(1, in: database)
            #expect(found?.at == event.at && found?.token == event.token)
        }
    }

    @Test func `A view can be read, and a table without rowids is rejected`() async throws {
        let columns =
            "objectId INTEGER PRIMARY KEY, name TEXT NOT NULL, nick TEXT, age INT NOT NULL, income REAL NOT NULL"
        try await withFile([
            "CREATE TABLE all_persons (\(columns))", "INSERT INTO all_persons VALUES (7, 'Joe', NULL, 42, 1.5)",
            "CREATE VIEW persons AS SELECT *, 1 AS extra FROM all_persons",
        ]) { database in
            let found = try await Plain.findAll(in: database)
            #expect(found.map(\.name) == ["Joe"])
            let saving = await thrownError {
                var joe = found[0]
                try await joe.save(in: database)
            }
            #expect(saving?.code == .badSQL)
            let error = await thrownError { _ = try await First.findAll(in: database) }
            #expect(error?.code == .badSchema)
        }
        try await withFile(["CREATE TABLE persons (\(columns)) WITHOUT ROWID"]) { database in
            let error = await thrownError { _ = try await Plain.findAll(in: database) }
            #expect(error?.code == .badSchema && error?.message.contains("WITHOUT ROWID") == true)
        }
    }

    @Test(arguments: [
        "CREATE TABLE persons (objectId INTEGER PRIMARY KEY, name TEXT UNIQUE ON CONFLICT IGNORE, nick, age INT, income)",
        """
        CREATE TABLE persons (objectId INTEGER PRIMARY KEY, name TEXT, nick, age INT, income);
        CREATE TRIGGER once BEFORE INSERT ON persons WHEN EXISTS (SELECT 1 FROM persons WHERE name = NEW.name)
        BEGIN SELECT RAISE(IGNORE); END
        """,
    ]) func `A row that the table ignores does not get another row's number`(made: String) async throws {
        try await withFile([made]) { database in
            let ids = try await database.write { transaction in
                var people = ["Joe", "Ann", "Joe"].map { Plain(name: $0, age: 1, income: 1) }
                try people.saveAll(in: transaction)
                var one = Plain(name: "Ann", age: 1, income: 1)
                try one.save(in: transaction)
                var other = Plain(name: "Ann", age: 1, income: 1)
                try other.insert(in: transaction)
                var third = Plain(objectId: 7, name: "Ann", age: 1, income: 1)
                try third.insert(in: transaction)
                return (people + [one, other, third]).map(\.objectId)
            }
            #expect(ids == [1, 2, nil, nil, nil, nil])
        }
    }

    @Test func `A read-only database does not change tables`() async throws {
        try await withFolder { folder in
            let path = folder + "/test.db"
            try prepareFile(
                path,
                with: [
                    "PRAGMA journal_mode = WAL",
                    "CREATE TABLE persons (objectId INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT",
                ])
            var options = Database.Options()
            options.isReadOnly = true
            let database = try await Database.open(path, name: nil, options: options)
            let column = await thrownError { _ = try await First.findAll(in: database) }
            #expect(column?.code == .badSchema && column?.column == "rank")
            let table = await thrownError { _ = try await Person.find(1, in: database) }
            #expect(table?.code == .badSchema)
            let other = await thrownError { _ = try await Dated.findAll(in: database) }
            #expect(other?.code == .badSchema && other?.table == "events")
            await database.close()
            try prepareFile(path, with: ["ALTER TABLE persons ADD COLUMN rank INTEGER NOT NULL DEFAULT 0"])
            let again = try await Database.open(path, name: nil, options: options)
            // Only indexes are missing.
            let found = try await First.findAll(in: again)
            await again.close()
            #expect(found.isEmpty)
        }
    }

    @Test func `A table created in a rolled back transaction is created again`() async throws {
        struct Stop: Error {}
        try await withDatabase { database in
            try await database.write { transaction in
                try? transaction.savepoint {
                    var joe = First(name: "Joe")
                    try joe.save(in: transaction)
                    throw Stop()
                }
                var ann = First(name: "Ann")
                try ann.save(in: transaction)
            }
            let found = try await First.findAll(in: database)
            #expect(found.map(\.name) == ["Ann"])
        }
    }
}
