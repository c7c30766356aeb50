import FoundationEssentials

/// The position after a record, from which another request or another process can continue to read.
///
/// Its text is opaque but not secret: it contains the values of the last record in the columns of the order. A text
/// from outside is checked completely; a forged one can only start at another position.
public struct Position<Record: ActiveRecord>: Hashable, Sendable {
    /// A hash of the table and the order, so that the position of another query is rejected.
    let signature: UInt64
    /// The values of the order's columns.
    let values: [SQLValue]

    init(signature: UInt64, values: [SQLValue]) {
        self.signature = signature
        self.values = values
    }

    /// Creates a position from its ``text``.
    ///
    /// - Throws: ``ActiveObjectError/Code-swift.struct/badPosition`` if the text is not a position.
    public init(text: String) throws(ActiveObjectError) {
        let standard = String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 == "+" || $0 == "/" ? "!" : $0 }))
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: standard + padding) else { throw Self.error("is not valid", in: nil) }
        var bytes = PositionReader(bytes: Array(data)[...])
        guard bytes.next() == Self.version, let signature = bytes.number(), let values = bytes.values() else {
            throw Self.error("is damaged", in: nil)
        }
        self.init(signature: signature, values: values)
        // Each position has exactly one text. This rejects stray bits at the end.
        guard self.text == text else { throw Self.error("is damaged", in: nil) }
    }

    /// The position as text, in characters that need no escaping in a URL.
    public var text: String {
        var bytes = [Self.version]
        bytes.append(number: signature)
        for value in values { bytes.append(value) }
        let characters = Data(bytes).base64EncodedString().utf8.compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: characters, as: UTF8.self)
    }

    private static var version: UInt8 { 1 }

    static func error(_ problem: String, in table: String?) -> ActiveObjectError {
        ActiveObjectError(
            .badPosition,
            message:
                "the position of a page\(table.map { " of \($0)" } ?? "") \(problem); start again without a position",
            table: table)
    }

    /// Returns the FNV-1a hash of the names and directions.
    static func signature(of table: String, orderedBy orders: [ResolvedOrder]) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        let parts = [table] + orders.flatMap { [$0.column, $0.isDescending ? "-" : "+"] }
        for part in parts {
            for byte in Array(part.utf8) + [0] { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        }
        return hash
    }
}

/// The description does not show the values, which may be private.
extension Position: CustomStringConvertible {
    /// A text without the values of the position.
    public var description: String { "a position in the order of \(values.count) columns" }
}

/// A position is coded as its text.
extension Position: Codable {
    /// Decodes a position from its text.
    public init(from decoder: any Decoder) throws {
        try self.init(text: decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the position as its text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

// MARK: - Encoding

private enum Tag {
    static let null: UInt8 = 0
    static let integer: UInt8 = 1
    static let real: UInt8 = 2
    static let text: UInt8 = 3
    static let blob: UInt8 = 4
}

extension [UInt8] {
    fileprivate mutating func append(number: UInt64) {
        for shift in stride(from: 56, through: 0, by: -8) { append(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
    }

    fileprivate mutating func append(_ value: SQLValue) {
        switch value {
        case .null: append(Tag.null)
        case .integer(let number):
            append(Tag.integer)
            append(number: UInt64(bitPattern: number))
        case .real(let number):
            append(Tag.real)
            append(number: number.bitPattern)
        case .text(let text):
            append(Tag.text)
            append(number: UInt64(text.utf8.count))
            append(contentsOf: text.utf8)
        case .blob(let data):
            append(Tag.blob)
            append(number: UInt64(data.count))
            append(contentsOf: data)
        }
    }
}

private struct PositionReader {
    var bytes: ArraySlice<UInt8>

    mutating func next() -> UInt8? { bytes.popFirst() }

    mutating func number() -> UInt64? {
        guard bytes.count >= 8 else { return nil }
        defer { bytes = bytes.dropFirst(8) }
        return bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func counted() -> ArraySlice<UInt8>? {
        guard let count = number(), count <= UInt64(bytes.count) else { return nil }
        defer { bytes = bytes.dropFirst(Int(count)) }
        return bytes.prefix(Int(count))
    }

    /// Reads all values up to the end. Returns nil if the bytes are damaged, or are more values than a table of SQLite
    /// has columns.
    mutating func values() -> [SQLValue]? {
        var values: [SQLValue] = []
        while let tag = next() {
            guard values.count < 2000 else { return nil }
            switch tag {
            case Tag.null: values.append(.null)
            case Tag.integer:
                guard let number = number() else { return nil }
                values.append(.integer(Int64(bitPattern: number)))
            case Tag.real:
                guard let number = number().map(Double.init(bitPattern:)), !number.isNaN else { return nil }
                values.append(.real(number))
            case Tag.text:
                guard let bytes = counted(), let text = String(validating: bytes, as: UTF8.self) else { return nil }
                values.append(.text(text))
            case Tag.blob:
                guard let bytes = counted() else { return nil }
                values.append(.blob(Data(bytes)))
            default: return nil
            }
        }
        return values
    }
}
