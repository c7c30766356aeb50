import Foundation
import TestSupport
import Testing

@testable import ActiveObject

/// A record with one column of any type. The table is named after the type, so that values can share a file or not.
private struct Held<Value: Sendable & Equatable>: ActiveRecord, Equatable {
    static var tableName: String { "held" }
    var objectId: Int64?
    var value: Value
}

@Suite struct ValueTests {
    /// Saves each value and reads it back. `class` is SQLite's class of the first one.
    private static func roundTrip<Value: Sendable & Equatable>(
        _ values: [Value], as valueClass: String, same: @escaping @Sendable (Value, Value) -> Bool = { $0 == $1 },
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await withDatabase { database in
            let records = try await database.write { transaction in
                var records = values.map { Held(value: $0) }
                try records.saveAll(in: transaction)
                return records
            }
            let found = try await Held<Value>.findAll(in: database)
            #expect(found.map(\.objectId) == records.map(\.objectId), sourceLocation: sourceLocation)
            for (value, record) in zip(values, found) {
                #expect(
                    same(value, record.value), "\(value) came back as \(record.value)", sourceLocation: sourceLocation)
            }
            let classes = try look(into: database.path, "SELECT DISTINCT typeof(value) FROM held")
            #expect(Set(classes.map { $0[0] }).subtracting(["null"]) == [valueClass], sourceLocation: sourceLocation)
        }
        try await optionals(values, same: same, sourceLocation: sourceLocation)
    }

    /// Does the same with optionals and nil.
    private static func optionals<Value: Sendable & Equatable>(
        _ values: [Value], same: @escaping @Sendable (Value, Value) -> Bool, sourceLocation: SourceLocation
    ) async throws {
        guard !(Value.self is any OptionalType.Type) else { return }
        try await withDatabase { database in
            try await database.write { transaction in
                var records = values.map { Held<Value?>(value: $0) } + [Held<Value?>(value: nil)]
                try records.saveAll(in: transaction)
            }
            let found = try await Held<Value?>.findAll(in: database)
            for (value, record) in zip(values, found) {
                #expect(record.value.map { same(value, $0) } == true, sourceLocation: sourceLocation)
            }
            #expect(found.count == values.count + 1 && found.last?.value == nil, sourceLocation: sourceLocation)
        }
    }

    /// Expects that saving fails and nothing is written.
    private static func refused<Value: Sendable & Equatable>(
        _ value: Value, with code: ActiveObjectError.Code, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await withDatabase { database in
            let error = await thrownError {
                try await database.write { transaction in
                    var record = Held(value: value)
                    try record.save(in: transaction)
                }
            }
            #expect(error?.code == code, "\(error?.message ?? "no error")", sourceLocation: sourceLocation)
            #expect(error?.table == "held" && error?.column == "value", sourceLocation: sourceLocation)
            let found = try await Held<Value>.findAll(in: database)
            #expect(found.isEmpty, sourceLocation: sourceLocation)
        }
    }

    private static func limits<Value: FixedWidthInteger & Sendable>(_ type: Value.Type) async throws {
        try await roundTrip([0, 1, Value.min, Value.max, Value(truncatingIfNeeded: -1)], as: "integer")
    }

    @Test func `Integers of all widths keep their minimum and maximum`() async throws {
        try await Self.limits(Int.self)
        try await Self.limits(Int8.self)
        try await Self.limits(Int16.self)
        try await Self.limits(Int32.self)
        try await Self.limits(Int64.self)
        try await Self.limits(UInt8.self)
        try await Self.limits(UInt16.self)
        try await Self.limits(UInt32.self)
        try await Self.roundTrip([0, UInt(Int64.max)], as: "integer")
        try await Self.roundTrip([0, UInt64(Int64.max)], as: "integer")
        try await Self.roundTrip([true, false], as: "integer")
    }

    @Test func `A value that SQLite cannot store is not written`() async throws {
        try await Self.refused(UInt64(Int64.max) + 1, with: .outOfRange)
        try await Self.refused(UInt.max, with: .outOfRange)
        try await Self.refused(Optional(UInt64.max), with: .outOfRange)
        try await Self.refused(Double.nan, with: .outOfRange)
        try await Self.refused(Float.nan, with: .outOfRange)
        try await Self.refused(Optional(-Double.nan), with: .outOfRange)
        try await Self.refused(Date(timeIntervalSinceReferenceDate: .nan), with: .outOfRange)
        try await Self.refused([Double.infinity], with: .typeMismatch)
    }

    @Test func `Reals are read back exactly`() async throws {
        var random = SeededRandom(seed: 7)
        var doubles: [Double] = [
            0, 1.5, .infinity, -.infinity, .leastNonzeroMagnitude, -.leastNormalMagnitude, .greatestFiniteMagnitude,
            .pi, 0.1, 9_007_199_254_740_992, -1e300,
        ]
        for _ in 0..<500 {
            let double = Double(bitPattern: random.next())
            if !double.isNaN { doubles.append(double) }
        }
        try await Self.roundTrip(doubles, as: "real") { $0.bitPattern == $1.bitPattern }
        try await Self.roundTrip(
            [0, 1.5, Float.infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 0.1, .pi], as: "real"
        ) { $0.bitPattern == $1.bitPattern }
        // SQLite stores whole numbers as integers, which have only one zero.
        try await Self.roundTrip([-0.0], as: "real")
    }

    @Test func `Texts and bytes are read back unchanged`() async throws {
        try await Self.roundTrip(
            [
                "", "Joe", "\u{0}", "a\u{0}b", "it's \"quoted\"", "🦉👩‍👩‍👧", "e\u{301}", "\u{e9}", "\n\r\t", "007", "NULL",
                " ",
                String(repeating: "x🦉", count: 200_000),
            ], as: "text"
        ) { Array($0.utf8) == Array($1.utf8) }
        try await Self.roundTrip([Data(), Data([0]), Data(0...255), Data(repeating: 7, count: 1 << 20)], as: "blob")
        try await Self.roundTrip([Character("a"), "🦉", "👩‍👩‍👧", "\u{0}", "e\u{301}"], as: "text")
        try await Self.roundTrip([UUID(), UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))], as: "text")
        let base = try #require(URL(string: "https://example.com/a?b=c#d"))
        try await Self.roundTrip(
            [base, try #require(URL(string: "../up")), URL(fileURLWithPath: "/tmp/ü x")], as: "text")
    }

    // MARK: Raw values and custom types

    enum Word: String, Codable { case one, two = "zwei \"2\"", empty = "" }
    enum Number: Int { case low = -1, high = 9 }
    enum Small: Int8 { case low = -128, high = 127 }
    enum Letter: Character { case a = "a", owl = "🦉" }
    struct Flags: OptionSet { let rawValue: UInt16 }
    struct Token: RawRepresentable, Equatable { let rawValue: UUID }
    struct Moment: RawRepresentable, Equatable { let rawValue: Date }
    enum Nested: RawRepresentable, Equatable {
        case word(Word)
        init(rawValue: Word) { self = .word(rawValue) }
        var rawValue: Word {
            switch self {
            case .word(let word): word
            }
        }
    }
    struct Color: ColumnValue, Equatable {
        var red: UInt8
        static var valueClass: ValueClass { .blob }
        var sqlValue: SQLValue { .blob(Data([red])) }
        init(red: UInt8) { self.red = red }
        init?(sqlValue: SQLValue) {
            guard case .blob(let data) = sqlValue, data.count == 1 else { return nil }
            red = data[data.startIndex]
        }
    }

    @Test func `Types with raw values are stored as raw values`() async throws {
        try await Self.roundTrip([Word.one, .two, .empty], as: "text")
        try await Self.roundTrip([Number.low, .high], as: "integer")
        try await Self.roundTrip([Small.low, .high], as: "integer")
        try await Self.roundTrip([Letter.a, .owl], as: "text")
        try await Self.roundTrip([Flags(), Flags(rawValue: 0xffff)], as: "integer")
        try await Self.roundTrip([Token(rawValue: UUID())], as: "text")
        try await Self.roundTrip([Moment(rawValue: .distantPast)], as: "real")
        try await Self.roundTrip([Nested.word(.two)], as: "text")
        try await Self.roundTrip([Color(red: 0), Color(red: 255)], as: "blob")
    }

    // MARK: JSON

    struct Place: Codable, Equatable, Sendable {
        var name: String
        var coordinates: [Double]
        var inner: [String: [Int?]]
        var at: Date?
    }
    enum Event: Codable, Equatable {
        case opened(by: String, at: Int), closed
    }

    @Test func `Nested values are stored as JSON`() async throws {
        let place = Place(
            name: "a/\"b\" 🦉", coordinates: [0.1, -5e-300], inner: ["x": [1, nil], "": []], at: .distantPast)
        try await Self.roundTrip([place], as: "text")
        try await Self.roundTrip([[1, 2], []], as: "text")
        try await Self.roundTrip([["a": 1, "b": 2], [:]], as: "text")
        try await Self.roundTrip([Event.opened(by: "Joe", at: 3), .closed], as: "text")
        try await Self.roundTrip([Set([1, 2, 3])], as: "text")
        try await Self.roundTrip([[Optional(1), nil]], as: "text")
        try await Self.roundTrip(
            [Decimal(0), Decimal(string: "12.345678901234567890123")!, Decimal(string: "-1e100")!], as: "text")
        try await withDatabase { database in
            try await database.write { transaction in
                var record = Held(value: ["b": Decimal(string: "0.1")!, "a": 2])
                try record.save(in: transaction)
            }
            #expect(try look(into: database.path, "SELECT value FROM held") == [[#"{"a":2,"b":0.1}"#]])
        }
    }
}
