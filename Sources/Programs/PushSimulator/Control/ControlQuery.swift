import PushText

/// The parameters of a request's query.
struct ControlQuery {
    private var values: [(key: String, value: String)] = []

    init(_ text: String, keys: [String]) throws(ControlError) {
        for part in text.utf8.split(separator: UInt8(ascii: "&")) {
            let pieces = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let key = try Self.decode(pieces[0])
            let value = try pieces.count > 1 ? Self.decode(pieces[1]) : ""
            guard keys.contains(key) else {
                let nearest = NearestWord.to(key, in: keys)
                throw ControlError(
                    "unknown parameter \"\(key)\"",
                    advice: nearest.map { "did you mean \"\($0)\"?" }
                        ?? (keys.isEmpty ? "remove the query" : "known parameters: \(keys.joined(separator: ", "))"))
            }
            values.append((key, value))
        }
    }

    subscript(key: String) -> String? { values.last { $0.key == key }?.value }

    func integer(_ key: String, in range: ClosedRange<UInt64>) throws(ControlError) -> UInt64? {
        guard let text = self[key] else { return nil }
        guard let number = UInt64(text), range.contains(number) else {
            throw ControlError(
                "\"\(text)\" is not a valid \(key)",
                advice: "use a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func flag(_ key: String) throws(ControlError) -> Bool {
        guard let text = self[key] else { return false }
        if text.isEmpty || text == "true" { return true }
        if text == "false" { return false }
        throw ControlError("\"\(text)\" is not a valid \(key)", advice: "write \(key)=true or remove it")
    }

    /// Percent-decodes a text, with + for a space.
    private static func decode(_ text: Substring.UTF8View) throws(ControlError) -> String {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst().flatMap(Hex.value), let low = rest.popFirst().flatMap(Hex.value) else {
                    throw ControlError(
                        "the query contains a % that is not followed by two hexadecimal digits",
                        advice: "write %25 for a percent sign")
                }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
