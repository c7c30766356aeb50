/// The JSON that ends the response to a request for past events.
package enum ReplayAnswer {
    package static func end(next: UInt64, oldest: UInt64) -> [UInt8] {
        var bytes = Array("{\"next\":".utf8)
        DecimalText.append(next, to: &bytes)
        bytes.append(contentsOf: ",\"oldest\":".utf8)
        DecimalText.append(oldest, to: &bytes)
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// - Parameters:
    ///   - retryAfter: Milliseconds after which a retry makes sense; nil if it does not.
    ///   - next: The `since` that skips the damaged events.
    package static func error(
        _ error: String, detail: String? = nil, retryAfter: Int64? = nil, next: UInt64? = nil
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { members in
            members.member("error", value: error)
            members.member("detail", value: detail)
            members.member("retry_after_ms", value: retryAfter)
            members.member("next", value: next.map { Int64(clamping: $0) })
        }
        return writer.bytes
    }
}
