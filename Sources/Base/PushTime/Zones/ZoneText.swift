/// Reads the rule of a zone as POSIX writes it: `CET-1CEST,M3.5.0,M10.5.0/3`.
struct ZoneText {
    private var rest: Substring.UTF8View.SubSequence

    /// Returns nil if the text is not such a rule.
    static func rule(_ text: String) -> YearlyRule? {
        guard text.utf8.count <= 256 else { return nil }
        var reading = ZoneText(rest: Substring(text).utf8)
        guard let rule = reading.rule(), reading.rest.isEmpty else { return nil }
        return rule
    }

    private mutating func rule() -> YearlyRule? {
        guard skipName(), let behind = clock(hours: 24) else { return nil }
        if rest.isEmpty { return YearlyRule(standard: -behind, summer: nil) }
        guard skipName() else { return nil }
        var offset = 3600 - behind
        if rest.first != UInt8(ascii: ",") {
            guard let stated = clock(hours: 24) else { return nil }
            offset = -stated
        }
        guard let begin = day(), let end = day() else { return nil }
        return YearlyRule(standard: -behind, summer: YearlyRule.Summer(offset: offset, begin: begin, end: end))
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// Skips the abbreviation, which nobody is shown.
    private mutating func skipName() -> Bool {
        if take(UInt8(ascii: "<")) {
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return false }
            rest = rest[rest.index(after: end)...]
            return true
        }
        let name = rest.prefix { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) }
        rest = rest.dropFirst(name.count)
        return name.count >= 3
    }

    private mutating func number(atMost limit: Int64) -> Int64? {
        var number: Int64 = 0
        var count = 0
        while let byte = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte), count < 3 {
            number = number * 10 + Int64(byte - UInt8(ascii: "0"))
            rest = rest.dropFirst()
            count += 1
        }
        return count > 0 && number <= limit ? number : nil
    }

    /// Reads hours, minutes and seconds with a sign.
    private mutating func clock(hours limit: Int64) -> Int64? {
        let isNegative = take(UInt8(ascii: "-"))
        if !isNegative { _ = take(UInt8(ascii: "+")) }
        guard var seconds = number(atMost: limit).map({ $0 * 3600 }) else { return nil }
        for unit: Int64 in [60, 1] {
            guard take(UInt8(ascii: ":")) else { break }
            guard let part = number(atMost: 59) else { return nil }
            seconds += part * unit
        }
        return isNegative ? -seconds : seconds
    }

    private mutating func day() -> YearlyRule.Day? {
        guard take(UInt8(ascii: ",")), let form = form() else { return nil }
        guard take(UInt8(ascii: "/")) else { return YearlyRule.Day(form: form, time: 2 * 3600) }
        return clock(hours: 167).map { YearlyRule.Day(form: form, time: $0) }
    }

    private mutating func form() -> YearlyRule.Day.Form? {
        if take(UInt8(ascii: "J")) {
            return number(atMost: 365).flatMap { $0 >= 1 ? .withoutLeapDay($0) : nil }
        }
        guard take(UInt8(ascii: "M")) else { return number(atMost: 365).map { .ofYear($0) } }
        guard let month = number(atMost: 12), month >= 1, take(UInt8(ascii: ".")), let week = number(atMost: 5),
            week >= 1, take(UInt8(ascii: ".")), let day = number(atMost: 6)
        else { return nil }
        return .weekday(month: month, week: week, day: day)
    }
}
