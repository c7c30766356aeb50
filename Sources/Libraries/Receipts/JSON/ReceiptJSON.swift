/// A JSON value. Keys are unique, and the order of an object's members is that of the text.
public indirect enum ReceiptJSON: Hashable, Sendable {
    /// A member of an object.
    public struct Member: Hashable, Sendable {
        /// The key.
        public let key: String
        /// The value.
        public let value: ReceiptJSON
    }

    /// The value `null`.
    case null
    /// `true` or `false`.
    case boolean(Bool)
    /// A number without fraction and exponent that fits into 64 bits.
    case integer(Int64)
    /// Any other number.
    case number(Double)
    /// A text.
    case string(String)
    /// An array.
    case array([ReceiptJSON])
    /// An object.
    case object([Member])

    /// The value of a key; nil if the value is not an object, or does not have the key.
    public subscript(key: String) -> ReceiptJSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }

    /// The members; nil if the value is not an object.
    public var members: [Member]? { if case .object(let members) = self { members } else { nil } }

    /// The elements; nil if the value is not an array.
    public var elements: [ReceiptJSON]? { if case .array(let elements) = self { elements } else { nil } }

    /// The text; nil if the value is not a string.
    public var string: String? { if case .string(let text) = self { text } else { nil } }

    /// The integer; nil if the value is not one.
    public var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

    /// The truth value; nil if the value is not one.
    public var boolean: Bool? { if case .boolean(let flag) = self { flag } else { nil } }

    /// The kind of the value for messages: "a string".
    var kind: String {
        switch self {
        case .null: "null"
        case .boolean: "true or false"
        case .integer, .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
