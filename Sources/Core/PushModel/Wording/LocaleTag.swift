/// The name of a locale: a language tag such as `de-CH`.
package struct LocaleTag: Hashable, Sendable {
    /// The largest length in bytes. Subtags have at most eight.
    package static let maxLength = 35

    /// The tag in lower case, with hyphens.
    package let text: String

    /// Creates a tag; nil if the text is none. `_` is a hyphen, and case does not count.
    package init?(_ text: String) {
        let bytes = text.utf8.map { Self.folded($0) }
        guard (1...Self.maxLength).contains(bytes.count), bytes.allSatisfy(Self.isOfTag) else { return nil }
        let subtags = bytes.split(separator: Self.hyphen, omittingEmptySubsequences: false)
        guard subtags.allSatisfy({ (1...8).contains($0.count) }) else { return nil }
        self.text = String(decoding: bytes, as: UTF8.self)
    }

    private static let hyphen = UInt8(ascii: "-")

    /// Calls `body` with a locale as a device gave it, and then with each locale that includes it, until `body` returns
    /// a result: the look-up of RFC 4647, section 3.4.
    ///
    /// Devices append what is not part of a tag, as in `de_DE@calendar=buddhist`; that is left out.
    static func lookUp<Result>(_ given: String, by body: (String) -> Result?) -> Result? {
        var range: [UInt8] = []
        for byte in given.utf8.prefix(64) {
            let byte = folded(byte)
            guard isOfTag(byte) else { break }
            range.append(byte)
        }
        while !range.isEmpty {
            if let result = body(String(decoding: range, as: UTF8.self)) { return result }
            guard let end = range.lastIndex(of: hyphen) else { return nil }
            range.removeSubrange(end...)
            // A single character introduces the subtag that was removed.
            if range.count >= 2, range[range.count - 2] == hyphen { range.removeLast(2) }
        }
        return nil
    }

    private static func folded(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
        case UInt8(ascii: "_"): hyphen
        default: byte
        }
    }

    private static func isOfTag(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), hyphen: true
        default: false
        }
    }
}
