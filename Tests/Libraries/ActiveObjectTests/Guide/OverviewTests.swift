import ActiveObject
import Foundation
import Testing

// The example of Sources/Libraries/ActiveObject/ActiveObject.docc/ActiveObject.md. `GuideTextTests` compares the page with it.

@Suite struct OverviewTests {
    struct Reader: ActiveRecord {
        var objectId: Int64?
        var name: String
        var visits = 0
        var lastVisit: Date?

        static var indexes: [Index<Reader>] { [.unique(\.name)] }
    }

    @Test func `The example of the reference documentation works`() async throws {
        try await withFolder { folder in
            let path = folder + "/readers.db"
            let database = try await Database.open(path, name: nil)

            var ann = Reader(name: "Ann")
            try await ann.save(in: database)

            let count = try await database.write { transaction in
                guard var reader = try Reader.first(where: \.name == "Ann", in: transaction) else { return 0 }
                reader.visits += 1
                reader.lastVisit = transaction.now
                try reader.save(in: transaction)
                return reader.visits
            }

            let regulars =
                try await Reader
                .where(\.visits >= count && .hasPrefix(\.name, prefix: "A"))
                .order(by: \.visits, descending: true)
                .all(in: database)

            await database.close()
            #expect(regulars.map(\.name) == ["Ann"] && regulars.map(\.visits) == [1])
        }
    }
}
