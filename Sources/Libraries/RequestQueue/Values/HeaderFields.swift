/// The header fields of a request or a response, in order. Names are compared without regard to case.
public struct HeaderFields: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// One field.
    public struct Field: Sendable, Equatable {
        /// The name, as it was given.
        public var name: String
        /// The value.
        public var value: String
    }

    /// The fields, in the order in which they were added.
    public private(set) var all: [Field] = []

    /// Creates an empty list.
    public init() {}

    /// Creates a list of these names and values.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { add(value, to: name) }
    }

    /// The value of a field, with several values joined by commas; nil if there is none. Setting replaces all values.
    public subscript(name: String) -> String? {
        get {
            let values = all.lazy.filter { Self.isSame($0.name, name) }.map(\.value)
            return values.isEmpty ? nil : values.joined(separator: ", ")
        }
        set {
            all.removeAll { Self.isSame($0.name, name) }
            if let newValue { all.append(Field(name: name, value: newValue)) }
        }
    }

    /// Adds a value, and keeps those that the field has already.
    public mutating func add(_ value: String, to name: String) {
        all.append(Field(name: name, value: value))
    }

    /// Returns whether two names are the same field.
    public static func isSame(_ name: String, _ other: String) -> Bool {
        let (left, right) = (name.utf8, other.utf8)
        return left.count == right.count && zip(left, right).allSatisfy { lower($0) == lower($1) }
    }

    static func lower(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte | 0x20 : byte }

    /// The first field that cannot be sent: its name is not a token, or its value has a control character, with which a
    /// value could add fields of its own.
    var firstInvalid: Field? {
        all.first { field in
            field.name.isEmpty || !field.name.utf8.allSatisfy(Self.isTokenByte)
                || field.value.utf8.contains { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7f }
        }
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
