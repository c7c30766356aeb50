import Foundation
import Testing

@testable import ActiveObject

@Suite struct UpdateTests {
    struct Tally: ActiveRecord, Equatable {
        var objectId: Int64?
        var count: Int64 = 0
        var small: UInt8 = 0
        var share: Double?
        var changed: Date?

        static var timestamps: Timestamps<Tally>? { Timestamps(updated: \.changed) }
    }

    @Test(
        arguments: [
            (.max, 1), (.max - 1, 2), (1, .max), (.min, -1), (.min + 5, -10), (-1, .min), (-3, .min), (.min, .min),
        ] as [(Int64, Int64)]) func `An increment beyond 64 bits is rejected`(value: Int64, amount: Int64)
        async throws
    {
        try await withDatabase { database in
            var tally = Tally(count: value)
            try await tally.save(in: database)
            let error = await thrownError {
                try await Tally.query.update(.increment(\.count, by: amount), in: database)
            }
            let (sum, isTooLarge) = value.addingReportingOverflow(amount)
            let after = try await Tally.first(where: .all, in: database)
            #expect(error?.code == (isTooLarge ? .outOfRange : nil) && error?.column == (isTooLarge ? "count" : nil))
            #expect(after?.count == (isTooLarge ? value : sum))
        }
    }

    @Test(
        arguments: [(250, 5, 255), (250, 6, nil), (3, -3, 0), (3, -4, nil), (0, .min, nil), (9, .max, nil)]
            as [(UInt8, Int64, UInt8?)])
    func `An increment beyond the property's range is rejected`(value: UInt8, amount: Int64, sum: UInt8?) async throws {
        try await withDatabase { database in
            var tally = Tally(small: value)
            try await tally.save(in: database)
            let error = await thrownError {
                try await Tally.query.update(.increment(\.small, by: amount), in: database)
            }
            let after = try await Tally.first(where: .all, in: database)
            #expect(error?.code == (sum == nil ? .outOfRange : nil))
            #expect(after?.small == (sum ?? value))
        }
    }

    /// A table that is not STRICT accepts any value for a number.
    @Test func `An overflowing increment is rejected in a table that is not STRICT`() async throws {
        let table =
            """
            CREATE TABLE tallies (objectId INTEGER PRIMARY KEY, count INTEGER NOT NULL, small INTEGER NOT NULL, \
            share REAL, changed REAL)
            """
        try await withFile([table, "INSERT INTO tallies VALUES (1, 0, 255, NULL, NULL)"]) { database in
            let error = await thrownError { try await Tally.query.update(.increment(\.small), in: database) }
            #expect(error?.code == .outOfRange && error?.column == "small")
            let after = try await Tally.findAll(in: database)
            #expect(after == [Tally(objectId: 1, small: 255)])
        }
    }

    @Test func `Assigning a column twice is rejected`() async throws {
        try await withDatabase { database in
            var tally = Tally()
            try await tally.save(in: database)
            let twice: [[Assignment<Tally>]] = [
                [.increment(\.count), .increment(\.count)], [.set(\.count, to: 1), .increment(\.count)],
                [.set(\.changed, to: nil), .set(\.changed, to: nil)],
            ]
            for changes in twice {
                let error = await thrownError { try await Tally.query.update(changes, in: database) }
                #expect(error?.code == .badSQL && error?.table == "tallies" && error?.column != nil)
            }
            let count = try await Tally.query.update([.increment(\.count), .increment(\.small)], in: database)
            let after = try await Tally.first(where: .all, in: database)
            #expect(count == 1 && after?.count == 1 && after?.small == 1)
        }
    }

    @Test func `An update sets the timestamp of the last save`() async throws {
        try await withDatabase { database in
            let date = Date(timeIntervalSinceReferenceDate: 1000)
            let found = try await database.write { transaction in
                transaction.now = date
                var tally = Tally()
                try tally.save(in: transaction)
                try Tally.query.update(.set(\.count, to: 1), in: transaction)
                return try Tally.findAll(in: transaction)
            }
            #expect(found.map(\.changed) == [date])
        }
    }

    @Test func `An increment of a real skips nil`() async throws {
        try await withDatabase { database in
            var tallies = [Tally(share: 0.5), Tally()]
            try await tallies.saveAll(in: database)
            try await Tally.query.update(.increment(\.share, by: 0.25), in: database)
            let after = try await Tally.findAll(in: database)
            #expect(after.map(\.share) == [0.75, nil])
        }
    }
}
