import Foundation
import TestSupport
import Testing

@testable import ActiveObject

@Suite struct PageTests {
    private static let orders: [(String, Query<Sample>)] = [
        ("key", Sample.query),
        ("key down", Sample.query.order(by: \.objectId, descending: true)),
        ("name", Sample.query.order(by: \.name)),
        ("name down", Sample.query.order(by: \.name, descending: true)),
        ("nick", Sample.query.order(by: \.nick)),
        ("nick down", Sample.query.order(by: \.nick, descending: true)),
        ("rank down, score", Sample.query.order(by: \.rank, descending: true).order(by: \.score)),
        ("rank, nick down, born", Sample.query.order(by: \.rank).order(by: \.nick, descending: true).order(by: \.born)),
        ("sex, died down, age", Sample.query.order(by: \.sex).order(by: \.died, descending: true).order(by: \.age)),
        ("bytes, point", Sample.query.order(by: \.bytes).order(by: \.point, descending: true)),
        ("filtered", Sample.where(\.age > 0 || \.nick == nil).order(by: \.ratio, descending: true)),
    ]

    @Test func `Whole numbers in a column of reals do not end the pages`() async throws {
        struct Price: ActiveRecord {
            var objectId: Int64?
            var amount = 0.0
        }
        let table = "CREATE TABLE prices (objectId INTEGER PRIMARY KEY, amount NUMERIC NOT NULL)"
        try await withFile([table]) { database in
            var prices = [2, 0.5, 1, 1, 7].map { Price(amount: $0) }
            try await prices.saveAll(in: database)
            for isDescending in [false, true] {
                let query = Price.query.order(by: \.amount, descending: isDescending)
                var found: [Double] = []
                var position: Position<Price>?
                repeat {
                    let page = try await query.page(size: 1, after: position, in: database)
                    found += page.records.map(\.amount)
                    position = page.next
                } while position != nil
                let sorted = [0.5, 1, 1, 2, 7]
                #expect(found == (isDescending ? sorted.reversed() : sorted))
            }
        }
    }

    @Test(arguments: [1, 3, 7, 50, 1000]) func `The pages together contain all records in order`(size: Int) async throws
    {
        try await withDatabase { database in
            try await database.write { transaction in
                var random = SeededRandom(seed: UInt64(size))
                var samples = (0..<150).map { _ in Sample.random(&random) }
                try samples.saveAll(in: transaction)
                for (name, query) in Self.orders {
                    let all = try query.all(in: transaction).map(\.objectId)
                    var found: [Int64?] = []
                    var position: Position<Sample>?
                    repeat {
                        let page = try query.page(size: size, after: position, in: transaction)
                        #expect(page.records.count == size || page.next == nil)
                        found += page.records.map(\.objectId)
                        // As another process would receive it.
                        position = try page.next.map { try Position(text: $0.text) }
                        #expect(position == page.next)
                    } while position != nil
                    #expect(found == all, "\(name)")
                }
            }
        }
    }

    @Test func `Adding and removing rows between pages neither repeats nor skips a row`() async throws {
        try await withDatabase { database in
            var random = SeededRandom(seed: 99)
            // Each record has a token, because SQLite reuses the key of a removed row.
            func new(_ count: Int) -> [Sample] {
                (0..<count).map { _ in
                    var sample = Sample.random(&random)
                    sample.token = UUID()
                    return sample
                }
            }
            var samples = new(200)
            try await samples.saveAll(in: database)
            for (name, query) in Self.orders {
                var stay = Set(try await query.all(in: database).map(\.token))
                var found: [UUID] = []
                var position: Position<Sample>?
                repeat {
                    let page = try await query.page(size: 9, after: position, in: database)
                    found += page.records.map(\.token)
                    position = page.next
                    guard found.count < 100 else { continue }
                    // A record before the position, the record of the position and a record after it are removed; two
                    // are added.
                    let unseen = stay.subtracting(found).sorted { $0.uuidString < $1.uuidString }
                    let gone = [found.last, unseen.randomElement(using: &random)].compactMap(\.self)
                    try await Sample.remove(where: .isIn(\.token, values: gone), in: database)
                    stay.subtract(gone)
                    var two = new(2)
                    try await two.saveAll(in: database)
                } while position != nil
                #expect(Set(found).count == found.count, "\(name)")
                #expect(stay.subtracting(found).isEmpty, "\(name)")
            }
        }
    }

    @Test(arguments: [
        (Sample.query, ["USING INTEGER PRIMARY KEY (rowid>?)"]),
        (Sample.query.order(by: \.name), ["samples_name_index (name=? AND rowid>?)", "samples_name_index (name>?)"]),
        (
            Sample.query.order(by: \.name, descending: true),
            ["samples_name_index (name=? AND rowid<?)", "samples_name_index (name<?)"]
        ),
        (Sample.query.order(by: \.nick), ["samples_nick_index (nick=? AND rowid>?)", "samples_nick_index (nick>?)"]),
        (
            Sample.query.order(by: \.nick, descending: true),
            ["samples_nick_index (nick=? AND rowid<?)", "samples_nick_index (nick<?)", "samples_nick_index (nick=?)"]
        ),
    ]) func `A page after a position uses a range of the index without sorting`(
        query: Query<Sample>, searches: [String]
    ) async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                var samples = [Sample(name: "b", nick: "b"), Sample(name: "c", nick: "c")]
                try samples.saveAll(in: transaction)
                let table = try transaction.table(of: Sample.self)
                let position = try #require(try query.page(size: 1, in: transaction).next)
                let orders = try query.orders(in: table)
                let plans = try position.steps(for: orders, signature: position.signature, in: table).map {
                    try transaction.plan(query.select($0, orderedBy: orders, in: table, limit: 10))
                }
                #expect(plans.count == searches.count)
                for (plan, search) in zip(plans, searches) {
                    #expect(plan.count == 1 && plan[0].hasSuffix(search), "\(plan)")
                }
            }
        }
    }

    @Test func `Pages follow the order of a column that ignores case`() async throws {
        struct Key: ActiveRecord, Equatable {
            var objectId: Int64?
            var name = ""

            static var columns: [Column<Key>] { [Column(\.name, ignoresCase: true)] }
        }
        try await withDatabase { database in
            var keys = ["b", "a", "B", "A", "a", "C", "_", "É", "é", "B"].map { Key(name: $0) }
            try await keys.saveAll(in: database)
            for isDescending in [false, true] {
                let query = Key.query.order(by: \.name, descending: isDescending)
                var found: [Key] = []
                for try await key in query.stream(pageSize: 1, in: database) { found.append(key) }
                let all = try await query.all(in: database)
                #expect(found == all && Set(all.map(\.objectId)).count == 10)
            }
        }
    }

    @Test func `A page needs a positive size and a query without a limit`() async throws {
        try await withDatabase { database in
            for (query, size) in [
                (Sample.query, 0), (Sample.query, -1), (Sample.query, .max), (Sample.query.limit(3), 1),
            ] {
                let error = await #expect(throws: ActiveObjectError.self) {
                    try await query.page(size: size, in: database)
                }
                #expect(error?.code == .outOfRange)
            }
        }
    }

    @Test func `A position of another order is rejected`() async throws {
        try await withDatabase { database in
            var samples = (0..<5).map { Sample(name: "\($0)", nick: nil) }
            try await samples.saveAll(in: database)
            let position = try await Sample.query.order(by: \.name).page(size: 2, in: database).next
            for query in [
                Sample.query, Sample.query.order(by: \.name, descending: true), Sample.query.order(by: \.nick),
            ] {
                let error = await #expect(throws: ActiveObjectError.self) {
                    try await query.page(size: 2, after: position, in: database)
                }
                #expect(error?.code == .badPosition && error?.table == "samples")
            }
            let signature = try #require(position).signature
            let forged: [[SQLValue]] = [
                [], ["1"], [1, 1], [nil, 1], ["1", nil], ["1", "1"], ["1", 1.5], ["1", 1, 1],
            ]
            for values in forged {
                let error = await #expect(throws: ActiveObjectError.self) {
                    let position = Position<Sample>(signature: signature, values: values)
                    _ = try await Sample.query.order(by: \.name).page(size: 2, after: position, in: database)
                }
                #expect(error?.code == .badPosition, "\(values)")
            }
        }
    }

    @Test func `A position survives conversion to text and JSON`() throws {
        let values: [SQLValue] = [nil, .integer(.min), .real(-0.5), "ä\u{0}+/", .blob(Data([0, 255])), .text("")]
        let position = Position<Sample>(signature: 0xfedc_ba98_7654_3210, values: values)
        #expect(try Position<Sample>(text: position.text) == position)
        let json = try JSONEncoder().encode([position])
        #expect(try JSONDecoder().decode([Position<Sample>].self, from: json) == [position])
        #expect(
            position.text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "z") ~= $0 || $0 == UInt8(ascii: "-") })
        #expect("\(position)" == "a position in the order of 6 columns")
        let long = Position<Sample>(signature: 1, values: [.text(String(repeating: "ä", count: 1 << 20))])
        #expect(try Position<Sample>(text: long.text) == long)
        // A golden text: other versions of a program must be able to continue from it.
        let golden = Position<Sample>(signature: 1, values: ["a", 7])
        #expect(golden.text == "AQAAAAAAAAABAwAAAAAAAAABYQEAAAAAAAAABw")
    }

    @Test func `Invalid texts of positions are rejected`() throws {
        var random = SeededRandom(seed: 11)
        let text = Position<Sample>(signature: 5, values: ["name", 1, nil, 2.5, .blob(Data([1]))]).text
        let wide = Position<Sample>(signature: 5, values: Array(repeating: .null, count: 3000)).text
        for text in ["", "A", "AQ", "!", text + "=", text + "A", "é", String(repeating: "A", count: 2_000_000), wide] {
            let error = #expect(throws: ActiveObjectError.self) { try Position<Sample>(text: text) }
            #expect(error?.code == .badPosition)
        }
        for count in 0..<text.utf8.count {
            // A text that ends between two values is a position with fewer values, which every query rejects.
            if let short = try? Position<Sample>(text: String(text.prefix(count))) { #expect(short.values.count < 5) }
        }
        for _ in 0..<5000 {
            let hostile = String(decoding: random.mutate(Array(text.utf8), chance: 1), as: UTF8.self)
            if let position = try? Position<Sample>(text: hostile) { #expect(position.text == hostile) }
        }
        for _ in 0..<5000 {
            let bytes = [1] + random.bytes(Int.random(in: 0..<60, using: &random))
            _ = try? Position<Sample>(text: Data(bytes).base64EncodedString().replacing("=", with: ""))
        }
    }
}
