import Testing

@testable import ActiveObject

@Suite struct ListOrderTests {
    private struct Ticket: ActiveRecord {
        var objectId: Int64?
        var app = "a"
        var code: String
        static var indexes: [Index<Ticket>] { [.unique(\.app, \.code), Index(\.app)] }
    }

    /// The index of the app alone would return the order of the keys, but SQLite would read all its rows for a few of
    /// them.
    @Test func `A list uses its own index rather than one that gives the order`() async throws {
        try await withDatabase { database in
            let plans = try await database.write { transaction in
                let table = try transaction.table(of: Ticket.self)
                return try [
                    Ticket.where(\.app == "a" && .isIn(\.code, values: ["x", "y"])),
                    Ticket.where(.isIn(\.code, values: ["x", "y"]) && \.app == "a" && \.code != "z"),
                    Ticket.where(\.app == "a"),
                ].map { query in
                    let text = try query.select(table.columnList, in: table, ordered: true)
                    let arguments = SQLArguments.list(text.parameters.map(\.value))
                    let rows = try transaction.rows("EXPLAIN QUERY PLAN " + text.sql, arguments: arguments)
                    return try rows[0]["detail", as: String.self]
                }
            }
            #expect(plans[0].contains("tickets_app_code_key (app=? AND code=?)"))
            #expect(plans[1].contains("tickets_app_code_key (app=? AND code=?)"))
            #expect(plans[2].contains("tickets_app_index"))
        }
    }

    @Test func `A list is still returned in the order of the keys`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                var tickets = ["c", "b", "a", "d"].map { Ticket(code: $0) }
                try tickets.saveAll(in: transaction)
                let some = Ticket.where(\.app == "a" && .isIn(\.code, values: ["a", "b", "c"]))
                #expect(try some.all(in: transaction).map(\.code) == ["c", "b", "a"])
                #expect(try some.offset(1).first(in: transaction)?.code == "b")
                let page = try some.page(size: 2, in: transaction)
                #expect(try some.page(size: 2, after: page.next, in: transaction).records.map(\.code) == ["a"])
                #expect(try some.order(by: \.code).all(in: transaction).map(\.code) == ["a", "b", "c"])
            }
        }
    }
}
