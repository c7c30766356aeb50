import Foundation
import TestSupport
import Testing

@testable import ActiveObject

@Suite struct DateTests {
    private struct Event: ActiveRecord, Equatable {
        static var columns: [Column<Event>] {
            [Column(\.unix, dates: .unixMilliseconds), Column(\.iso, dates: .iso8601)]
        }
        var objectId: Int64?
        var exact: Date?
        var unix: Date?
        var iso: Date?
    }

    private static let dates: [Date] = {
        var random = SeededRandom(seed: 11)
        var dates: [Date] = [
            .distantPast, .distantFuture, Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: -0.001),
            Date(timeIntervalSince1970: -62_135_596_800), Date(timeIntervalSince1970: 253_402_300_799.999),
            Date(timeIntervalSince1970: 951_782_399.9994), Date(timeIntervalSince1970: 951_782_400),
            Date(timeIntervalSinceReferenceDate: 0.123),
        ]
        for _ in 0..<1000 {
            dates.append(Date(timeIntervalSinceReferenceDate: Double.random(in: -6e10...2e11, using: &random)))
            dates.append(Date(timeIntervalSinceReferenceDate: Double.random(in: -1e9...1e9, using: &random)))
        }
        return dates
    }()

    @Test func `Each date form stores dates with its precision`() async throws {
        try await withDatabase { database in
            let saved = try await database.write { transaction in
                var events = Self.dates.map { Event(exact: $0, unix: $0, iso: $0) }
                try events.saveAll(in: transaction)
                return try Event.findAll(in: transaction)
            }
            #expect(saved.count == Self.dates.count)
            for (date, event) in zip(Self.dates, saved) {
                #expect(event.exact == date)
                for read in [event.unix, event.iso] {
                    let off = abs(try #require(read).timeIntervalSince(date))
                    #expect(off <= 0.000_54, "\(date.timeIntervalSince1970) came back \(off) s off")
                }
            }
            // A date that is read and saved again stays the same.
            let before = try look(into: database.path, "SELECT unix, iso FROM events ORDER BY objectId")
            try await database.write { transaction in
                var again = saved
                try again.saveAll(in: transaction)
            }
            #expect(try look(into: database.path, "SELECT unix, iso FROM events ORDER BY objectId") == before)
            // SQLite computes the same days. It rounds fractions differently.
            let other = try look(
                into: database.path,
                """
                SELECT count(*) FROM events WHERE substr(iso, 1, 19) <> strftime('%Y-%m-%dT%H:%M:%S', iso)
                OR abs((julianday(iso) - 2440587.5) * 86400000 - unix) > 1
                """)
            #expect(other == [["0"]])
            let order = try look(
                into: database.path,
                "SELECT (SELECT group_concat(objectId) FROM (SELECT objectId FROM events ORDER BY iso, unix))"
                    + " = (SELECT group_concat(objectId) FROM (SELECT objectId FROM events ORDER BY unix, iso))")
            #expect(order == [["1"]])
        }
    }

    @Test(arguments: [
        (-62_167_219_200.0, "0000-01-01T00:00:00.000Z"), (-62_135_596_800, "0001-01-01T00:00:00.000Z"),
        (253_402_300_799.999, "9999-12-31T23:59:59.999Z"),
        (0, "1970-01-01T00:00:00.000Z"), (951_782_400, "2000-02-29T00:00:00.000Z"),
        (-2_203_891_200.25, "1900-02-28T23:59:59.750Z"), (978_307_200.0004, "2001-01-01T00:00:00.000Z"),
        (978_307_199.9996, "2001-01-01T00:00:00.000Z"), (1_709_210_096.789, "2024-02-29T12:34:56.789Z"),
    ])
    func `ISO 8601 texts are rounded to the millisecond`(seconds: Double, text: String) throws {
        #expect(try ISO8601.text(Date(timeIntervalSince1970: seconds)) == text)
    }

    @Test(arguments: [-62_167_219_200.001, 253_402_300_800, 1e300, -Double.infinity, .infinity])
    func `A date outside of the range of its form is not written`(seconds: Double) async throws {
        let date = Date(timeIntervalSince1970: seconds)
        try await withDatabase { database in
            let error = await thrownError {
                var event = Event(iso: date)
                try await event.save(in: database)
            }
            #expect(error?.code == .outOfRange && error?.column == "iso")
            if abs(seconds) > 1e16 {
                let error = await thrownError {
                    var event = Event(unix: date)
                    try await event.save(in: database)
                }
                #expect(error?.code == .outOfRange && error?.column == "unix")
            }
            var event = Event(exact: date)
            try await event.save(in: database)
            let found = try await Event.find(1, in: database)
            #expect(found?.exact == date)
        }
    }

    @Test(arguments: [
        ("2024-02-29", 1_709_164_800.0), ("2024-02-29 12:34:56", 1_709_210_096), ("2024-02-29T12:34:56", 1_709_210_096),
        ("2024-02-29T12:34:56Z", 1_709_210_096), ("2024-02-29 12:34:56.789", 1_709_210_096.789),
        ("2024-02-29T12:34:56+02:00", 1_709_202_896), ("2024-02-29T12:34:56.500Z", 1_709_210_096.5),
        ("2024-02-29T12:34:56.7891234567-0130", 1_709_215_496.789_123_4), ("2024-02-29 12:34:56.5+01", 1_709_206_496.5),
        ("0000-01-01", -62_167_219_200),
    ])
    func `ISO 8601 texts of other programs are read`(text: String, seconds: Double) async throws {
        try await withFile([
            "CREATE TABLE events (objectId INTEGER PRIMARY KEY, exact REAL, unix INTEGER, iso TEXT)",
            "INSERT INTO events (iso) VALUES ('\(text)')",
        ]) { database in
            let found = try await Event.find(1, in: database)
            let date = try #require(found?.iso)
            #expect(abs(date.timeIntervalSince1970 - seconds) < 0.000_01)
            // Custom SQL reads the same texts.
            let row = try await database.rows("SELECT iso FROM events").first
            #expect(try row?["iso", as: Date.self] == date)
        }
    }

    @Test(arguments: [
        "", "2023-02-29", "2024-13-01", "2024-00-10", "2024-02-30T00:00:00Z", "2024-02-29T24:00:00Z", "now",
        "2024-02-29T12:34:56Zzz", "2024-2-9", "2024-02-29T12:34:56.7Q", "29.02.2024", "2024-02-29T12:34:56.",
        "2024-02-29T12:34:56+2", "10000-01-01", "2024-02-29T12:34",
    ])
    func `An invalid date causes an error`(text: String) async throws {
        try await withFile([
            "CREATE TABLE events (objectId INTEGER PRIMARY KEY, exact REAL, unix INTEGER, iso TEXT)",
            "INSERT INTO events (iso) VALUES ('\(text)')",
        ]) { database in
            let error = await thrownError { _ = try await Event.find(1, in: database) }
            #expect(error?.code == .typeMismatch && error?.column == "iso")
            let row = try #require(try await database.rows("SELECT iso FROM events").first)
            let rowError = #expect(throws: ActiveObjectError.self) { try row["iso", as: Date.self] }
            #expect(rowError?.code == .typeMismatch && rowError?.column == "iso")
        }
    }
}
