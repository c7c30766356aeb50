/// A parsed JSON value, for input that is read rarely: configuration, scripts, provider tokens and control requests.
/// Each value knows its position.
package struct JSONTree: Sendable {
    package indirect enum Value: Equatable, Sendable {
        case null
        case boolean(Bool)
        case number(Double)
        case string(String)
        case array([JSONTree])
        case object([Member])
    }

    /// A position in the text, counted from 1. The column counts bytes, as compilers do.
    package struct Place: Hashable, Sendable {
        package let line: Int
        package let column: Int

        package init(line: Int, column: Int) {
            self.line = line
            self.column = column
        }
    }

    package struct Member: Equatable, Sendable {
        package let key: String
        /// The position of the key; the value has its own.
        package let place: Place
        package let value: JSONTree

        package var line: Int { place.line }

        package static func == (left: Member, right: Member) -> Bool {
            left.key == right.key && left.value == right.value
        }
    }

    package let value: Value
    package let place: Place

    package init(_ value: Value, at place: Place = Place(line: 1, column: 1)) {
        self.value = value
        self.place = place
    }

    /// The value of a key; of duplicate keys, the last.
    package subscript(key: String) -> JSONTree? {
        members?.last { $0.key == key }?.value
    }

    package var members: [Member]? {
        if case .object(let members) = value { members } else { nil }
    }

    package var elements: [JSONTree]? {
        if case .array(let elements) = value { elements } else { nil }
    }

    package var string: String? {
        if case .string(let text) = value { text } else { nil }
    }

    package var number: Double? {
        if case .number(let number) = value { number } else { nil }
    }

    package var boolean: Bool? {
        if case .boolean(let flag) = value { flag } else { nil }
    }

    /// The number, if it has no fraction and a `Double` represents it exactly; otherwise nil.
    package var integer: Int64? {
        guard let number, number.rounded() == number, abs(number) <= 9_007_199_254_740_992 else { return nil }
        return Int64(number)
    }

    /// The kind of the value, for messages: "a string", "an object".
    package var kind: String {
        switch value {
        case .null: "null"
        case .boolean: "true or false"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// Trees are equal if their values are equal, wherever these are in the text.
extension JSONTree: Equatable {
    package static func == (left: JSONTree, right: JSONTree) -> Bool { left.value == right.value }
}
