import FoundationEssentials
import PushLoop
import PushText
import PushTime

/// Parses a point in time from the command line: `10m` (ten minutes ago), or a date.
enum Moment {
    static let about = "10m, 2h, 7d ago, or a date such as 2026-03-01T12:00:00Z"

    /// Returns the time, or nil if the text is not one. A number of 13 digits is milliseconds since 1970.
    static func read(_ text: String, now: WallTime) -> WallTime? {
        if let duration = DurationText.read(text) { return now - duration }
        if text.utf8.count == 13, let milliseconds = Int64(text), milliseconds > 0 {
            return WallTime(milliseconds: milliseconds)
        }
        let whole = text.contains("T") ? text : text + "T00:00:00Z"
        guard let date = try? Date(whole, strategy: .iso8601) else { return nil }
        let milliseconds = date.timeIntervalSince1970 * 1000
        return abs(milliseconds) < 1e15 ? WallTime(milliseconds: Int64(milliseconds)) : nil
    }

    /// Returns the time given for an option, or nil if the option is not given.
    static func read(_ option: String, of arguments: Arguments, now: WallTime = .current()) throws(Failure) -> WallTime?
    {
        guard let text = arguments.text(option) else { return nil }
        guard let moment = read(text, now: now) else {
            throw Failure(.usage, "'--\(option)' must be a time: \(about); not '\(PlainText.line(text, limit: 60))'")
        }
        return moment
    }
}
