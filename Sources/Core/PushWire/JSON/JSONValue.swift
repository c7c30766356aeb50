/// A JSON value as a tree, for writing and for reading small documents.
package indirect enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A floating-point number. Infinities and NaN are written as `null`, since JSON cannot express them.
    case number(Double)
    case string(String)
    case array([JSONValue])
    /// An object. It is written in the order of the bytes of its keys, so that equal values give equal bytes.
    case object([String: JSONValue])

    /// The value as compact UTF-8.
    package var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.bytes
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(floatLiteral value: Double) { self = .number(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(nilLiteral: ()) { self = .null }

    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
    }
}

extension JSONDocument {
    /// Returns the value with everything in it. The first of duplicate keys counts; integers that do not fit into 64
    /// bits become doubles, and numbers that do not fit into doubles `null`.
    package func value(at position: JSONDocument.Position) -> JSONValue {
        switch kind(position) {
        case .object:
            let pairs = members(position).map { (string($0.key) ?? "", value(at: $0.value)) }
            return .object(Dictionary(pairs, uniquingKeysWith: { first, _ in first }))
        case .array: return .array(elements(position).map { value(at: $0) })
        case .string, .escapedString: return .string(string(position) ?? "")
        case .integer, .fraction:
            if let integer = integer(position) { return .integer(integer) }
            return double(position).map { .number($0) } ?? .null
        case .true: return .bool(true)
        case .false: return .bool(false)
        case .null: return .null
        }
    }
}
