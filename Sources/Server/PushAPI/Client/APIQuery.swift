/// Writes queries and paths for the requests of a client.
package enum APIQuery {
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
