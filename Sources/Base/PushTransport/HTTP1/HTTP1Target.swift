/// The parsed target of a request (RFC 9112, section 3.2, and RFC 3986). Only the origin form is supported, and `*` for
/// OPTIONS.
struct HTTP1Target {
    let path: [String]
    let query: [HTTP1QueryItem]

    init(_ target: String, method: HTTP1Method) throws(HTTP1Refusal) {
        if target == "*", method == .options {
            (path, query) = ([], [])
            return
        }
        guard target.utf8.first == UInt8(ascii: "/") else {
            throw HTTP1Refusal(400, because: "the target must begin with a slash; this server is not a proxy")
        }
        let parts = target.utf8.dropFirst().split(
            separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        var segments: [String] = []
        if parts[0].count > 0 {
            for part in parts[0].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
                segments.append(try Self.segment(part))
            }
        }
        path = segments
        query = parts.count == 2 ? try Self.items(parts[1]) : []
    }

    private static func segment(_ encoded: Substring.UTF8View) throws(HTTP1Refusal) -> String {
        guard let segment = decoded(encoded, plusIsSpace: false) else {
            throw HTTP1Refusal(400, because: "the path is not valid percent-encoded UTF-8")
        }
        guard segment.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw HTTP1Refusal(400, because: "the path contains a control character")
        }
        // Check also within a segment: an encoded slash must not hide a ".." from code that joins segments to a file
        // name.
        for step in segment.utf8.split(whereSeparator: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") })
        where step.count <= 2 && step.allSatisfy({ $0 == UInt8(ascii: ".") }) {
            throw HTTP1Refusal(400, because: "the path must not contain . or ..")
        }
        return segment
    }

    private static func items(_ query: Substring.UTF8View) throws(HTTP1Refusal) -> [HTTP1QueryItem] {
        var items: [HTTP1QueryItem] = []
        for part in query.split(separator: UInt8(ascii: "&")) {
            let pair = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let value = pair.count == 2 ? decoded(pair[1], plusIsSpace: true) : ""
            guard let name = decoded(pair[0], plusIsSpace: true), let value else {
                throw HTTP1Refusal(400, because: "the query is not valid percent-encoded UTF-8")
            }
            guard !name.utf8.contains(0), !value.utf8.contains(0) else {
                throw HTTP1Refusal(400, because: "the query contains a NUL byte")
            }
            items.append(HTTP1QueryItem(name: name, value: value))
        }
        return items
    }

    /// Decodes percent-encoded text. Returns nil for a percent sign without two hexadecimal digits, and for invalid
    /// UTF-8.
    private static func decoded(_ encoded: Substring.UTF8View, plusIsSpace: Bool) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(encoded.count)
        var rest = encoded[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst().flatMap(hexDigit), let low = rest.popFirst().flatMap(hexDigit) else {
                    return nil
                }
                bytes.append(UInt8(high << 4 | low))
            } else {
                bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

func hexDigit(_ byte: UInt8) -> Int? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(byte - UInt8(ascii: "a")) + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(byte - UInt8(ascii: "A")) + 10
    default: nil
    }
}
