import PushText
package import PushTime
package import PushTransport

/// The query of a request: the parameters that the route accepts, each at most once and of limited length.
///
/// Other parameters are rejected with an error, because a misspelled filter must not return everything.
package struct AdminQuery: Sendable, Equatable {
    package static let maxValueLength = 1024

    private var values: [String: String] = [:]

    package init() {}

    package init(_ items: [HTTP1QueryItem], allowed: [String]) throws(AdminFault) {
        for item in items {
            let name = PlainText.line(item.name, limit: 60)
            guard allowed.contains(item.name) else {
                let nearest = NearestWord.to(name, in: allowed)
                throw .badRequest(
                    "there is no query parameter \"\(name)\" here" + (nearest.map { "; did you mean \"\($0)\"?" } ?? "")
                )
            }
            guard values[item.name] == nil else { throw .badRequest("\"\(name)\" is given twice") }
            guard item.value.utf8.count <= Self.maxValueLength else {
                throw .badRequest("\"\(name)\" is longer than \(Self.maxValueLength) bytes")
            }
            values[item.name] = item.value
        }
    }

    /// Returns the value of a parameter, or nil if it is absent or empty.
    package func text(_ name: String) -> String? {
        values[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    package func number<Number: FixedWidthInteger>(_ name: String, in range: ClosedRange<Number>) throws(AdminFault)
        -> Number?
    {
        guard let text = text(name) else { return nil }
        guard text.utf8.allSatisfy({ (48...57).contains($0) }), let number = Number(text), range.contains(number) else {
            throw .badRequest(
                "\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound), not "
                    + "\"\(PlainText.line(text, limit: 60))\"")
        }
        return number
    }

    /// Returns the value of a parameter that is a time in milliseconds since 1970.
    package func time(_ name: String) throws(AdminFault) -> WallTime? {
        try number(name, in: 0...Int64.max).map { WallTime(milliseconds: $0) }
    }

    package func flag(_ name: String) throws(AdminFault) -> Bool? {
        switch text(name) {
        case nil: nil
        case "true": true
        case "false": false
        case let other?:
            throw .badRequest("\(name) must be true or false, not \"\(PlainText.line(other, limit: 60))\"")
        }
    }

    /// Returns the query for a client's request, such as `?a=1&b=x%20y`, without the items whose value is nil. It is
    /// empty if no item has a value.
    package static func encoded(_ items: [(name: String, value: String?)]) -> String {
        let given = items.compactMap { item in item.value.map { "\(item.name)=\(escaped($0))" } }
        return given.isEmpty ? "" : "?" + given.joined(separator: "&")
    }

    /// Returns the text escaped for a path or a query: letters, digits and `-._~` stay, all other bytes become `%XX`.
    package static func escaped(_ text: String) -> String {
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
