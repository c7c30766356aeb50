package import PushTime
import PushTransport

/// The field `retry-after`: a number of seconds or a date (RFC 9110, section 10.2.3).
package enum RetryAfter {
    /// A longer time is cut to a day, so that the peer does not control the sender's schedule.
    package static let max = 86_400

    /// Returns the number of seconds to wait; nil if the field has another form.
    package static func seconds(_ field: String, now: WallTime) -> Int? {
        guard let first = field.utf8.first else { return nil }
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            guard let date = HTTP1Date.seconds(field) else { return nil }
            let (wait, isOutOfRange) = date.subtractingReportingOverflow(now.seconds)
            return isOutOfRange ? nil : Int(min(Int64(max), Swift.max(0, wait)))
        }
        var seconds = 0
        for byte in field.utf8 {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            seconds = min(max, seconds * 10 + Int(byte - UInt8(ascii: "0")))
        }
        return seconds
    }
}
