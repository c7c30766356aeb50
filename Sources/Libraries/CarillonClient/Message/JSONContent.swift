import PushWire

/// A JSON value: the app's own data in a notification, or a member of an event.
///
/// Literals make most values: `["order": 4711, "items": ["tea", "cups"]]`.
public indirect enum JSONContent: Sendable, Hashable {
    /// The value `null`.
    case null
    /// A boolean.
    case bool(Bool)
    /// A whole number.
    case integer(Int64)
    /// A floating-point number. Infinities and NaN become `null`, because JSON cannot express them.
    case number(Double)
    /// A text.
    case string(String)
    /// A list.
    case array([JSONContent])
    /// An object. Its members are written in the order of the bytes of their keys, so that equal values give equal
    /// bytes: a message that is sent again must not differ from the first one.
    case object([String: JSONContent])

    func write(to json: inout JSONWriter) {
        switch self {
        case .null: json.null()
        case .bool(let flag): json.bool(flag)
        case .integer(let number): json.integer(number)
        case .number(let number): json.number(number)
        case .string(let text): json.string(text)
        case .array(let elements):
            json.beginArray()
            for element in elements { element.write(to: &json) }
            json.endArray()
        case .object(let members):
            json.beginObject()
            Self.write(members, to: &json)
            json.endObject()
        }
    }

    /// Writes the members of an object without its braces.
    static func write(_ members: [String: JSONContent], to json: inout JSONWriter) {
        if members.count == 1, let (key, value) = members.first {
            json.key(key)
            return value.write(to: &json)
        }
        for (key, value) in members.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            json.key(key)
            value.write(to: &json)
        }
    }
}

extension JSONContent: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    /// Creates a text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates a whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a floating-point number.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// Creates a boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates a list.
    public init(arrayLiteral elements: JSONContent...) { self = .array(elements) }
    /// Creates `null`.
    public init(nilLiteral: ()) { self = .null }
    /// Creates an object. The last of equal keys counts.
    public init(dictionaryLiteral elements: (String, JSONContent)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
    }
}
