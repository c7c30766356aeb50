package import PushModel

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

    /// Returns the end of an answer to a request for all parts: both numbers are objects by part.
    package static func end(next: LogPosition, oldest: LogPosition) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { members in
            members.key(plain: "next")
            members.place(next)
            members.key(plain: "oldest")
            members.place(oldest)
        }
        return writer.bytes
    }

    /// - Parameters:
    ///   - retryAfter: Milliseconds after which a retry makes sense; nil if it does not.
    ///   - next: The `since` that skips the damaged events.
    ///   - nextPlace: The same in the answer to a request for all parts.
    package static func error(
        _ error: String, detail: String? = nil, retryAfter: Int64? = nil, next: UInt64? = nil,
        nextPlace: LogPosition? = nil
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { members in
            members.member("error", value: error)
            members.member("detail", value: detail)
            members.member("retry_after_ms", value: retryAfter)
            members.member("next", value: next.map { Int64(clamping: $0) })
            if let nextPlace {
                members.key(plain: "next")
                members.place(nextPlace)
            }
        }
        return writer.bytes
    }
}

extension JSONWriter {
    /// Writes `{"3":17,"5":90}`.
    package mutating func place(_ place: LogPosition) {
        object { members in
            for (part, number) in place.parts {
                members.key("\(part)")
                members.integer(Int64(clamping: number))
            }
        }
    }
}
