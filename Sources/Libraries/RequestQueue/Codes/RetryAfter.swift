/// The value of `Retry-After`.
package enum RetryAfter {
    /// Returns the pause that a server asks for, as seconds or as a date; nil if the value is malformed.
    package static func pause(_ value: String, now: Int64) -> Duration? {
        let text = value.filter { $0 != " " }
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // More digits than these are a pause that nobody waits for.
            return text.utf8.count > 9 ? .seconds(1_000_000_000) : Int64(text).map { .seconds($0) }
        }
        return HTTPDate.seconds(value).map { .seconds(max(0, $0 - now)) }
    }
}
