import FoundationEssentials
import TestSupport
import Testing

@testable import ActiveObject

@Suite struct CriteriaTests {
    private func people(_ database: Database) async throws {
        var people = [
            Person(name: "Joe", age: 42, rank: 3, sex: .male), Person(name: "Ann", age: 17, rank: 3, sex: .female),
            Person(name: "joan", age: 30), Person(name: "100%", age: 18, flags: 255),
        ]
        try await people.saveAll(in: database)
    }

    @Test func `Criteria are written as expressions in Swift`() async throws {
        try await withDatabase { database in
            try await people(database)
            func names(_ criteria: Criteria<Person>) async throws -> [String] {
                try await Person.find(where: criteria, in: database).map(\.name)
            }
            #expect(try await names(\.name == "Joe") == ["Joe"])
            #expect(try await names(\.age ~= 18..<42) == ["joan", "100%"])
            #expect(try await names(\.age >= 18 && \.sex != .male && !(\.name == "joan")) == ["100%"])
            #expect(try await names(\.sex == nil || .hasPrefix(\.name, prefix: "J")) == ["Joe", "joan", "100%"])
            #expect(try await names(.like(\.name, pattern: "j%")) == ["Joe", "joan"])
            #expect(try await names(.like(\.name, pattern: "%!%", escape: "!")) == ["100%"])
            #expect(try await names((\Person.name).contains("oa")) == ["joan"])
            #expect(try await names(.isIn(\.age, values: [17, 18])) == ["Ann", "100%"])
            #expect(try await names(["name": "Joe", "rank": 3]) == ["Joe"])
            #expect(try await names(["SEX": nil, "age": 30]) == ["joan"])
            #expect(try await names(Criteria(["sex": .text("female")])) == ["Ann"])
            #expect(try await names([:]) == ["Joe", "Ann", "joan", "100%"])
            #expect(
                try await names(
                    \.age > 3 && \.name != "x" && \.rank == 3
                        || \.sex == nil && !(\.income < 2.5)
                            && .hasPrefix(\.name, prefix: "J")
                        || \.active == false || \.flags >= 255) == ["Joe", "Ann", "100%"])
            #expect(try await names(.nothing).isEmpty)
            #expect(try await names(.any(of: [])).isEmpty)
        }
    }

    @Test func `An invalid criterion causes an error with table and column`() async throws {
        struct Wide: ActiveRecord {
            var objectId: Int64?
            var number: UInt64 = 0
            var share: Double?
            var when: Date?
            var computed: Int { 1 }

            static var columns: [Column<Wide>] { [Column(\.when, dates: .iso8601)] }
        }
        try await withDatabase { database in
            let cases: [(Criteria<Wide>, ActiveObjectError.Code, String?)] = [
                (\.number == .max, .outOfRange, "number"),
                (.isIn(\.number, values: [1, .max]), .outOfRange, "number"),
                (\.share < .nan, .outOfRange, "share"),
                (\.when == Date(timeIntervalSince1970: 1e15), .outOfRange, "when"),
                (\.computed == 1, .badRecord, nil),
                (["nummber": 1], .badRecord, "nummber"),
                (["number": "1"], .typeMismatch, "number"),
                (["share": .real(.nan)], .outOfRange, "share"),
                (["when": 5], .typeMismatch, "when"),
            ]
            for (criteria, code, column) in cases {
                let error = await #expect(throws: ActiveObjectError.self) {
                    try await Wide.find(where: criteria, in: database)
                }
                #expect(
                    error?.code == code && error?.table == "wides" && error?.column == column,
                    "\(String(describing: error))")
            }
            let unknown = await #expect(throws: ActiveObjectError.self) {
                try await Wide.find(where: ["nummber": 1], in: database)
            }
            #expect(unknown?.message == "wides has no column nummber; it has objectId, number, share, when")
        }
    }

    @Test func `JSON is compared for equality only`() async throws {
        try await withDatabase { database in
            let error = await #expect(throws: ActiveObjectError.self) {
                try await Sample.count(where: \.point < Sample.Point(x: 1), in: database)
            }
            #expect(error?.code == .typeMismatch && error?.column == "point")
            let least = await #expect(throws: ActiveObjectError.self) {
                try await Sample.query.min(\.point, in: database)
            }
            #expect(least?.code == .typeMismatch && least?.column == "point")
        }
    }

    @Test func `A list of values can have any length`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                var samples = (0..<200).map { Sample(name: "n\($0)\"\\\u{1}", age: $0, score: Double($0) / 3) }
                try samples.saveAll(in: transaction)
                let ages = Array(100..<100_100)
                #expect(try Sample.count(where: .isIn(\.age, values: ages), in: transaction) == 100)
                #expect(try Sample.count(where: !.isIn(\.age, values: ages), in: transaction) == 100)
                let names = (0..<100_000).map { "n\($0 * 2)\"\\\u{1}" }
                #expect(try Sample.count(where: .isIn(\.name, values: names), in: transaction) == 100)
                #expect(try Sample.count(where: .isIn(\.name, values: names + ["\u{0}"]), in: transaction) == 100)
                var odd = [Sample(name: "a\u{0}b"), Sample(name: "a\u{0}c"), Sample(name: "a")]
                try odd.saveAll(in: transaction)
                let some = names + ["a\u{0}b", "a\u{0}", "x\u{0}"]
                #expect(try Sample.count(where: .isIn(\.name, values: some), in: transaction) == 101)
                #expect(try Sample.count(where: !.isIn(\.nick, values: some + [nil]), in: transaction) == 0)
            }
        }
    }

    @Test func `Reals in a list are matched exactly`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                var random = SeededRandom(seed: 7)
                var samples = (0..<500).map { _ -> Sample in
                    let score = Double(bitPattern: random.next())
                    return Sample(score: score.isNaN ? 0 : score)
                }
                try samples.saveAll(in: transaction)
                for count in [1, 2, 3, 5, 31, 32, 33, 500] {
                    let some = samples.prefix(count).map(\.score)
                    let found = try Sample.find(where: .isIn(\.score, values: some), in: transaction)
                    #expect(found.map(\.objectId) == samples.filter { some.contains($0.score) }.map(\.objectId))
                }
            }
        }
    }

    /// There are too many values for parameters, so they are passed as whole numbers and powers of two.
    @Test func `Reals in a long list are matched exactly, and adjacent reals are not matched`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                var random = SeededRandom(seed: 8)
                var scores = (0..<20_000).map { _ in Double(bitPattern: random.next()) }.filter { !$0.isNaN }
                scores += [
                    0, .infinity, -.infinity, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .leastNormalMagnitude,
                    .leastNormalMagnitude.nextDown, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, 0.1, 1, -3,
                ]
                let all = Set(scores)
                var samples = scores.suffix(3000).map { Sample(score: $0) }
                try samples.saveAll(in: transaction)
                var others = scores.suffix(3000).flatMap { [$0.nextUp, $0.nextDown] }.filter { !all.contains($0) }
                    .map { Sample(score: $0) }
                try others.saveAll(in: transaction)
                let found = try Sample.find(where: .isIn(\.score, values: scores), in: transaction)
                #expect(found.map(\.objectId) == samples.map(\.objectId))
                #expect(try Sample.count(where: !.isIn(\.score, values: scores), in: transaction) == others.count)
            }
        }
    }

    @Test func `Long lists of dates and optional reals work, and long lists of blobs are rejected`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                let dates = (0..<30_000).map { Date(timeIntervalSinceReferenceDate: 7e8 + Double($0) / 7) }
                var samples = dates.suffix(10).map { Sample(ratio: 0.1, born: $0) } + [Sample(born: .distantPast)]
                try samples.saveAll(in: transaction)
                #expect(try Sample.count(where: .isIn(\.born, values: dates), in: transaction) == 10)
                let ratios: [Float?] = (0..<30_000).map { Float($0) / 10 } + [nil]
                #expect(try Sample.count(where: .isIn(\.ratio, values: ratios), in: transaction) == 11)
                #expect(try Sample.count(where: !.isIn(\.ratio, values: ratios.dropLast()), in: transaction) == 1)
                let blobs: [Data?] = (0...16_384).map { Data("\($0)".utf8) }
                #expect(try Sample.count(where: .isIn(\.bytes, values: blobs.dropLast()), in: transaction) == 0)
                let error = #expect(throws: ActiveObjectError.self) {
                    try Sample.count(where: .isIn(\.bytes, values: blobs), in: transaction)
                }
                #expect(error?.code == .outOfRange && error?.column == "bytes")
            }
        }
    }

    @Test func `A chain of three thousand terms runs`() async throws {
        try await withDatabase { database in
            try await people(database)
            let other = (0..<3_000).reduce(Criteria<Person>.all) { $0 && \.age != 1000 + $1 }
            let either = (0..<2000).reduce(Criteria<Person>.nothing) { $0 || \.age == $1 }
            let reversed = (0..<3_000).reduce(Criteria<Person>.all) { (\.age != 1000 + $1) && $0 }
            #expect(try await Person.count(where: other, in: database) == 4)
            #expect(try await Person.count(where: either, in: database) == 4)
            guard case .chain(.and, let list) = (!(!reversed)).node else { return #expect(Bool(false), "no chain") }
            #expect(list.nodes.count == 3_000 && list.depth == 1)
            let tooMany = (0..<40_000).reduce(Criteria<Person>.all) { $0 && \.age != $1 }
            let error = await #expect(throws: ActiveObjectError.self) {
                try await Person.count(where: tooMany, in: database)
            }
            #expect(error?.code == .outOfRange)
        }
    }

    @Test func `Criteria nested up to the limit run, and deeper ones are rejected`() async throws {
        try await withDatabase { database in
            try await people(database)
            func nested(_ depth: Int) -> Criteria<Person> {
                (0..<depth).reduce(.isIn(\.sex, values: [.male, nil])) { inner, level in
                    level % 2 == 0
                        ? (\.age > 0 && (\.rank < 100 && inner)) && .hasPrefix(\.name, prefix: "") : \.age < 0 || inner
                }
            }
            for depth in 1...20 {
                let query = Person.where(nested(depth)).order(by: \.name).limit(10)
                let count = try await query.count(in: database)
                #expect(count == 3)
                try await database.write { transaction in
                    let updated = try query.update(.increment(\.votes), in: transaction)
                    #expect(updated == 3)
                }
            }
            for depth in [21, 30, 10_000, 100_000] {
                let criteria = nested(depth)
                let error = await #expect(throws: ActiveObjectError.self) {
                    try await Person.count(where: criteria, in: database)
                }
                #expect(error?.code == .badSQL && error?.table == "persons")
            }
        }
    }

    @Test func `A criterion that contains a variant of itself is deallocated`() {
        final class Object: Sendable {}
        struct Held: ColumnValue, Equatable {
            let object = Object()

            init() {}
            init?(sqlValue: SQLValue) {}

            static var valueClass: ValueClass { .integer }
            var sqlValue: SQLValue { 1 }
            static func == (one: Held, other: Held) -> Bool { one.object === other.object }
        }
        struct Holder: ActiveRecord {
            var objectId: Int64?
            var held = Held()
            var age = 0
        }
        func make() -> Object {
            let held = Held()
            let one: Criteria<Holder> = \.held == held && \.age > 1
            let either = one || \.age == 5
            let both = one && either
            _ = both && !one && !both
            _ = either || both || !either
            return held.object
        }
        weak let object = make()
        #expect(object == nil)
    }

    @Test func `Criteria built from the same prefix are independent`() async throws {
        try await withDatabase { database in
            try await people(database)
            let both: Criteria<Person> = \.age > 0 && \.rank >= 0
            let one = both && \.name == "Joe"
            let other = both && \.name == "Ann"
            #expect(try await Person.first(where: one, in: database)?.name == "Joe")
            #expect(try await Person.first(where: other, in: database)?.name == "Ann")
            #expect(try await Person.count(where: both, in: database) == 4)
        }
    }

    @Test func `A prefix test is case-sensitive, even on a column that ignores case`() async throws {
        struct Key: ActiveRecord {
            var objectId: Int64?
            var name = ""

            static var columns: [Column<Key>] { [Column(\.name, ignoresCase: true)] }
            static var indexes: [Index<Key>] { [Index(\.name)] }
        }
        try await withDatabase { database in
            try await database.write { transaction in
                let names = ["Zoe", "zoe", "ZOE", "zO\u{0}a", "zo\u{0}b", "Z", "z", "@x", "[", "A", "a\u{10ffff}c"]
                var keys = names.map { Key(name: $0) }
                try keys.saveAll(in: transaction)
                for prefix in ["z", "Z", "ZO", "zo", "zo\u{0}", "zO\u{0}", "@", "A", "a", "[", "\u{0}", "a\u{10ffff}"] {
                    let found = try Key.find(where: .hasPrefix(\.name, prefix: prefix), in: transaction).map(\.name)
                    #expect(found == names.filter { $0.utf8.starts(with: prefix.utf8) }, "\(prefix.debugDescription)")
                }
                #expect(try Key.count(where: \.name == "ZOE", in: transaction) == 3)
            }
        }
    }

    @Test(
        arguments: [
            (.hasPrefix(\.name, prefix: "a"), "SEARCH samples USING INDEX samples_name_index (name>? AND name<?)"),
            (\.name == "a", "SEARCH samples USING INDEX samples_name_index (name=?)"),
            (\.nick == "a", "SEARCH samples USING INDEX samples_nick_index (nick=?)"),
            (\.nick == nil, "SEARCH samples USING INDEX samples_nick_index (nick=?)"),
            (.isIn(\.age, values: [1, 2]), "SEARCH samples USING INDEX samples_age_index (age=?)"),
            (\.age ~= 1..<9, "SEARCH samples USING INDEX samples_age_index (age>? AND age<?)"),
            (!(\.age < 9), "SEARCH samples USING INDEX samples_age_index (age>?)"),
            (\.objectId == 5, "SEARCH samples USING INTEGER PRIMARY KEY (rowid=?)"),
        ] as [(Criteria<Sample>, String)]) func `A criterion uses the index`(criteria: Criteria<Sample>, plan: String)
        async throws
    {
        try await withDatabase { database in
            try await database.write { transaction in
                let table = try transaction.table(of: Sample.self)
                let text = try Sample.where(criteria).select("*", in: table, ordered: false)
                let lines = try transaction.plan(text)
                #expect(lines.first == plan)
            }
        }
    }

    @Test func `Values are never part of the SQL`() async throws {
        let table = try Table<Sample>()
        func sql(_ criteria: Criteria<Sample>) throws -> String {
            try Sample.where(criteria).select("*", in: table, ordered: true).sql
        }
        let same: [(Criteria<Sample>, Criteria<Sample>)] = [
            (\.name == "a'; --" && \.age < 5, \.name == "b" && \.age < 7),
            (.isIn(\.age, values: [1]), .isIn(\.age, values: Array(0..<1000))),
            (.isIn(\.score, values: [1, 2, 3]), .isIn(\.score, values: [1, 2, 3, 4])),
        ]
        for (one, other) in same {
            let texts = (try sql(one), try sql(other))
            #expect(texts.0 == texts.1)
        }
        let limited = Sample.query.order(by: \.name)
        let texts = try [1, 2].map { try limited.limit($0).offset($0).select("*", in: table, ordered: true).sql }
        #expect(texts[0] == texts[1] && texts[0].hasSuffix("LIMIT ? OFFSET ?"))
    }
}

extension Snapshot {
    /// Returns the lines of EXPLAIN QUERY PLAN.
    func plan(_ text: SQLText) throws -> [String] {
        let values = text.parameters.map(\.value)
        return try rows("EXPLAIN QUERY PLAN " + text.sql, arguments: .list(values)).map {
            try $0["detail", as: String.self]
        }
    }
}
