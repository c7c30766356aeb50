/// A JSON value taken apart, for what is read rarely: provider tokens, scripts, requests to the control port.
package indirect enum JSONTree: Equatable, Sendable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSONTree])
    case object([Member])

    package struct Member: Equatable, Sendable {
        package var key: String
        package var value: JSONTree
        /// Where the key stands, for messages.
        package var line: Int
    }

    /// The value of a key; of a repeated key, the last.
    package subscript(key: String) -> JSONTree? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.key == key }?.value
    }

    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    package var number: Double? {
        if case .number(let number) = self { number } else { nil }
    }

    package var boolean: Bool? {
        if case .boolean(let value) = self { value } else { nil }
    }

    /// A number without a fraction that a Double holds exactly.
    package var integer: Int64? {
        guard let number, number.rounded() == number, abs(number) <= 9_007_199_254_740_992 else { return nil }
        return Int64(number)
    }

    /// What it is, for messages: "a string", "an object".
    package var kind: String {
        switch self {
        case .null: "null"
        case .boolean: "true or false"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// Reads strict JSON; nil if it is not valid.
    package static func strict(_ bytes: ByteView) -> JSONTree? {
        guard JSONScanner.scan(bytes) != nil else { return nil }
        return try? JSON5Reader.read(bytes)
    }
}
