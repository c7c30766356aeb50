import FoundationEssentials

/// The codec for dates as ISO 8601 text in UTC, rounded to the millisecond. It always uses the Gregorian calendar, as
/// SQLite's date functions do; Foundation's formats switch to the Julian calendar. A date that is read and saved again
/// has the same text.
enum ISO8601: ColumnCodec {
    static var valueClass: ValueClass { .text }
    static var neverLooksNumeric: Bool { true }
    static var isDate: Bool { true }
    /// The range that a year of four digits can represent, in milliseconds since 1970: from 0000-01-01 to the end of
    /// 9999.
    private static let range = Int64(-62_167_219_200_000)..<253_402_300_800_000
    private static let fromReferenceDate: Int64 = 978_307_200_000

    static func bind(_ value: Date, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try statement.bind(try text(value), at: index)
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Date {
        try date(try statement.text(index))
    }

    /// Returns the date that a text represents, whether it is that of a column or of a custom SQL statement.
    static func date(_ text: String) throws(ColumnFault) -> Date {
        guard let (milliseconds, rest) = parts(text) else { throw .unreadable(type: "ISO 8601 date") }
        let date = Date(timeIntervalSinceReferenceDate: Double(milliseconds - fromReferenceDate) / 1000)
        return rest == 0 ? date : date + Double(rest) / 1e9
    }

    static func stored(_ value: Date) throws(ColumnFault) -> SQLValue { .text(try text(value)) }

    // MARK: Writing

    static func text(_ date: Date) throws(ColumnFault) -> String {
        guard let rounded = Int64(exactly: (date.timeIntervalSinceReferenceDate * 1000).rounded()),
            case let (milliseconds, overflow) = rounded.addingReportingOverflow(fromReferenceDate), !overflow,
            range.contains(milliseconds)
        else { throw .outOfRange(type: "ISO 8601 date") }
        let (day, time) = floored(milliseconds, by: 86_400_000)
        let (year, month, dayOfMonth) = civil(day)
        var text: [UInt8] = []
        text.reserveCapacity(24)
        func append(_ number: Int64, digits: Int, then mark: Character) {
            var divisor: Int64 = digits == 4 ? 1000 : digits == 3 ? 100 : 10
            while divisor > 0 {
                text.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
                divisor /= 10
            }
            text.append(mark.asciiValue ?? 0)
        }
        append(year, digits: 4, then: "-")
        append(month, digits: 2, then: "-")
        append(dayOfMonth, digits: 2, then: "T")
        append(time / 3_600_000, digits: 2, then: ":")
        append(time / 60_000 % 60, digits: 2, then: ":")
        append(time / 1000 % 60, digits: 2, then: ".")
        append(time % 1000, digits: 3, then: "Z")
        return String(decoding: text, as: UTF8.self)
    }

    // MARK: Reading

    /// Parses our own form and those of others: only a date ("2024-02-29"), a space instead of the T, any number of
    /// decimals, an offset, or no zone, which means UTC. Returns nil for any other text. The rest is in nanoseconds.
    private static func parts(_ text: String) -> (milliseconds: Int64, rest: Int64)? {
        var rest = text.utf8[...]
        func skip(_ mark: Character) -> Bool {
            guard let first = rest.first, first == mark.asciiValue else { return false }
            rest = rest.dropFirst()
            return true
        }
        func number(_ digits: Int, below limit: Int64) -> Int64? {
            guard rest.count >= digits else { return nil }
            var number: Int64 = 0
            for digit in rest.prefix(digits) {
                guard let value = decimal(digit) else { return nil }
                number = number * 10 + value
            }
            rest = rest.dropFirst(digits)
            return number < limit ? number : nil
        }
        guard let year = number(4, below: 10_000), skip("-"), let month = number(2, below: 13), skip("-"),
            let day = number(2, below: 32), month > 0, day > 0
        else { return nil }
        let days = dayNumber(year: year, month: month, day: day)
        // An impossible date, such as the 30th of February, would be another day.
        guard civil(days) == (year, month, day) else { return nil }
        guard !rest.isEmpty else { return (days * 86_400_000, 0) }
        guard skip("T") || skip(" "), let hour = number(2, below: 24), skip(":"), let minute = number(2, below: 60),
            skip(":"), let second = number(2, below: 60)
        else { return nil }
        var seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
        var nanoseconds: Int64 = 0
        if skip(".") {
            guard rest.first.flatMap(decimal) != nil else { return nil }
            var unit: Int64 = 100_000_000
            while let value = rest.first.flatMap(decimal) {
                nanoseconds += value * unit
                unit /= 10
                rest = rest.dropFirst()
            }
        }
        if !skip("Z"), let sign = rest.first {
            guard skip("+") || skip("-"), let hours = number(2, below: 24) else { return nil }
            _ = skip(":")
            guard let minutes = rest.isEmpty ? 0 : number(2, below: 60) else { return nil }
            let offset = (hours * 60 + minutes) * 60
            seconds -= sign == UInt8(ascii: "-") ? -offset : offset
        }
        return rest.isEmpty ? (seconds * 1000 + nanoseconds / 1_000_000, nanoseconds % 1_000_000) : nil
    }

    private static func decimal(_ byte: UInt8) -> Int64? {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) ? Int64(byte - UInt8(ascii: "0")) : nil
    }

    // MARK: Calendar

    private static func floored(_ number: Int64, by divisor: Int64) -> (quotient: Int64, rest: Int64) {
        let (quotient, rest) = number.quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
    }

    /// Returns the days since 1970-01-01. The year begins in March here, so that the leap day is its last.
    private static func dayNumber(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month > 2 ? year : year - 1
        let (era, yearOfEra) = floored(year, by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(_ number: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, day) = floored(number + 719_468, by: 146_097)
        let yearOfEra = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month < 3 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }
}
