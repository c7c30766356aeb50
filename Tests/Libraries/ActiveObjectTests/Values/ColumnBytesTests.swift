import Foundation
import Testing

@testable import ActiveObject

@Suite struct ColumnBytesTests {
    /// A value of four bytes, or of none.
    private struct Short: ColumnBytes, Hashable {
        let number: UInt32?

        init(_ number: UInt32?) { self.number = number }

        init?(columnBytes bytes: UnsafeRawBufferPointer) {
            switch bytes.count {
            case 0: number = nil
            case 4: number = bytes.loadUnaligned(as: UInt32.self)
            default: return nil
            }
        }

        func withColumnBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
            guard let number else { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
            return withUnsafeBytes(of: number, body)
        }
    }

    private struct Kept: ActiveRecord, Equatable {
        static var tableName: String { "kept" }
        static var columns: [Column<Kept>] { [Column(\.key, isPrivate: true)] }
        static var indexes: [Index<Kept>] { [.unique(\.key)] }

        var objectId: Int64?
        var key: Short
        var other: Short?
    }

    @Test func `Bytes are stored as blobs, and empty bytes differ from nil`() async throws {
        try await withDatabase { database in
            var records = [
                Kept(key: Short(1), other: nil), Kept(key: Short(.max), other: Short(nil)),
                Kept(key: Short(nil), other: Short(0)),
            ]
            try await records.saveAll(in: database)
            let found = try await Kept.findAll(in: database)
            #expect(found == records)
            let classes = try look(into: database.path, "SELECT typeof(key), typeof(other) FROM kept ORDER BY rowid")
            #expect(classes == [["blob", "null"], ["blob", "blob"], ["blob", "blob"]])
        }
    }

    @Test func `ColumnBytes work in criteria, in lists and as the key of an upsert`() async throws {
        try await withDatabase { database in
            var records = (0..<10).map { Kept(key: Short($0), other: nil) }
            try await records.saveAll(in: database)
            let third = try await Kept.first(where: \.key == Short(3), in: database)
            #expect(third == records[3])
            let some = try await Kept.where(.isIn(\.key, values: [Short(2), Short(7), Short(99)])).all(in: database)
            #expect(some == [records[2], records[7]])
            let changed = try await Kept.upsertAll(
                [Kept(key: Short(3), other: Short(5))], on: \.key, updating: .only(\.other), in: database)
            #expect(changed == 1)
            let again = try await Kept.first(where: \.key == Short(3), in: database)
            #expect(again?.other == Short(5) && again?.objectId == records[3].objectId)
        }
    }

    @Test func `Invalid bytes cause an error with the column, and private ones are not shown`() async throws {
        try await withDatabase { database in
            _ = try await Kept.findAll(in: database)
            _ = try await database.write { try $0.run("INSERT INTO kept (key) VALUES (x'aabbcc')") }
            let error = await thrownError { _ = try await Kept.findAll(in: database) }
            #expect(error?.table == "kept" && error?.column == "key")
            #expect(error?.message.contains("aabbcc") == false, "\(error?.message ?? "no error")")
        }
    }
}
