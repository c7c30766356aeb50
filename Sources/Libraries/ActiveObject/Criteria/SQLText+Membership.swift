extension SQLText {
    /// The maximum number of parameters of one `isIn`. The number is rounded up to a power of two, so lists of all
    /// lengths use 15 different statements.
    static let listLimit = 16_384

    /// Appends `column IN (…)`. It is NULL if the column is NULL, unless nil is one of the values.
    mutating func appendMembership<Record>(
        of field: Table<Record>.Field, in values: [SQLValue], table: String
    ) throws(ActiveObjectError) {
        let column = field.column.quotedName
        let (json, several, hasNull) = split(values)
        var (others, scaled) = (several, [ScaledReals]())
        if others.count > Self.listLimit { (scaled, others) = ScaledReals.taken(from: several) }
        guard others.count <= Self.listLimit else {
            throw ActiveObjectError(
                .outOfRange,
                message: """
                    \(table).\(field.column) was compared with a list of \(others.count) blobs or texts with a NUL, \
                    which must be bound one by one; at most \(Self.listLimit) are allowed; split the list
                    """, table: table, column: field.column)
        }
        let padded = others.paddedToPowerOfTwo
        switch (json, scaled.isEmpty, padded.isEmpty) {
        case (nil, true, true): append("0")
        case (nil, true, false):
            append("\(column) IN (")
            bind(padded, for: field, between: ", ")
            append(")")
        default:
            append("\(column) IN (")
            if let json {
                append("SELECT value FROM json_each(")
                bind(.text(json), for: field)
                append(")")
            }
            for (index, reals) in scaled.paddedToPowerOfTwo.enumerated() {
                append(index > 0 || json != nil ? " UNION ALL SELECT value * " : "SELECT value * ")
                bind(.real(reals.scale), for: field)
                append(" FROM json_each(")
                bind(.text(reals.json), for: field)
                append(")")
            }
            if !padded.isEmpty {
                append(" UNION ALL VALUES (")
                bind(padded, for: field, between: "), (")
                append(")")
            }
            append(")")
        }
        if hasNull { append(" OR \(column) IS NULL") }
    }

    private mutating func bind<Record>(
        _ values: [SQLValue], for field: Table<Record>.Field, between joint: String
    ) {
        for (index, value) in values.enumerated() {
            if index > 0 { append(joint) }
            bind(value, for: field)
        }
    }
}

extension Array {
    /// The array with its first element repeated, so that lists of similar length share a statement.
    fileprivate var paddedToPowerOfTwo: [Element] {
        guard let first, count > 1 else { return self }
        return self + repeatElement(first, count: (1 << (Int.bitWidth - (count - 1).leadingZeroBitCount)) - count)
    }
}

/// Splits values into one JSON array of whole numbers and texts, if there are any, and the values that SQLite's JSON
/// would change: it rounds reals, has no blobs, and ends a text at its first NUL.
private func split(_ values: [SQLValue]) -> (json: String?, others: [SQLValue], hasNull: Bool) {
    var json: [UInt8] = []
    var others: [SQLValue] = []
    var hasNull = false
    for value in values {
        switch value {
        case .null: hasNull = true
        case .integer(let number):
            json.append(json.isEmpty ? UInt8(ascii: "[") : UInt8(ascii: ","))
            json.append(contentsOf: "\(number)".utf8)
        case .text(let text) where !text.utf8.contains(0):
            json.append(json.isEmpty ? UInt8(ascii: "[") : UInt8(ascii: ","))
            json.append(quoted: text)
        case .text, .real, .blob: others.append(value)
        }
    }
    guard !json.isEmpty else { return (nil, others, hasNull) }
    json.append(UInt8(ascii: "]"))
    return (String(decoding: json, as: UTF8.self), others, hasNull)
}

extension [UInt8] {
    fileprivate mutating func append(quoted text: String) {
        append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(byte)
            case 0..<0x20: append(contentsOf: "\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))".utf8)
            default: append(byte)
            }
        }
        append(UInt8(ascii: "\""))
    }
}
