import PushTransport

/// What stands behind the question mark: names that a route takes, each once, and short. What does not fit is refused
/// by name: a misspelt filter must not show everything.
struct ControlQuery: Sendable, Equatable {
    static let longestValue = 1024

    private var values: [String: String] = [:]

    init() {}

    init(_ items: [HTTP1QueryItem], allowed: [String]) throws(ControlFault) {
        for item in items {
            let name = PlainText.line(item.name, limit: 60)
            guard allowed.contains(item.name) else {
                let nearest = Spelling.nearest(to: name, in: allowed)
                throw .badRequest(
                    "there is no query parameter \"\(name)\" here" + (nearest.map { "; did you mean \"\($0)\"?" } ?? "")
                )
            }
            guard values[item.name] == nil else { throw .badRequest("\"\(name)\" is given twice") }
            guard item.value.utf8.count <= Self.longestValue else {
                throw .badRequest("\"\(name)\" is longer than \(Self.longestValue) bytes")
            }
            values[item.name] = item.value
        }
    }

    /// Nil where it is not given, or empty.
    func text(_ name: String) -> String? {
        values[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    func number<Number: FixedWidthInteger>(_ name: String, in range: ClosedRange<Number>) throws(ControlFault)
        -> Number?
    {
        guard let text = text(name) else { return nil }
        guard text.utf8.allSatisfy({ (48...57).contains($0) }), let number = Number(text), range.contains(number) else {
            throw .badRequest(
                "\(name) is a whole number from \(range.lowerBound) to \(range.upperBound), not "
                    + "\"\(PlainText.line(text, limit: 60))\"")
        }
        return number
    }

    func flag(_ name: String) throws(ControlFault) -> Bool? {
        switch text(name) {
        case nil: nil
        case "true": true
        case "false": false
        case let other?: throw .badRequest("\(name) is true or false, not \"\(PlainText.line(other, limit: 60))\"")
        }
    }

    /// The rest of an address, for who asks: `?a=1&b=x%20y`, or nothing. What is nil is left out.
    static func encoded(_ items: [(name: String, value: String?)]) -> String {
        let given = items.compactMap { item in item.value.map { "\(item.name)=\(escaped($0))" } }
        return given.isEmpty ? "" : "?" + given.joined(separator: "&")
    }

    /// As it may stand in a path or a query: letters, digits and `-._~` are themselves, all else is `%XX`.
    static func escaped(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return result
    }
}
