extension SQLText {
    /// Parameters of one `isIn`. Their number is a power of two: 15 texts of statements for lists of all lengths.
    static let listLimit = 16_384

    /// `column IN (…)`. NULL where the column is, unless nil is one of the values.
    mutating func appendMembership<Record>(
        _ values: [SQLValue], _ field: Table<Record>.Field, table: String
    ) throws(ActiveObjectError) {
        let wanted = values.filter { $0 != .null }
        let column = field.column.quotedName
        if wanted.isEmpty {
            append("0")
        } else if let json = jsonArray(wanted) {
            append("\(column) IN (SELECT value FROM json_each(")
            bind(.text(json), for: field)
            append("))")
        } else {
            guard wanted.count <= Self.listLimit else {
                throw ActiveObjectError(
                    .outOfRange,
                    """
                    \(table).\(field.column) was compared with a list of \(wanted.count) values that have to be bound one \
                    by one; \(Self.listLimit) are the most: ask in parts
                    """, table: table, column: field.column)
            }
            append("\(column) IN (")
            let padding = wanted.count.nextPowerOfTwo - wanted.count
            for (index, value) in (wanted + Array(repeating: wanted[0], count: padding)).enumerated() {
                if index > 0 { append(", ") }
                bind(value, for: field)
            }
            append(")")
        }
        if wanted.count < values.count { append(" OR \(column) IS NULL") }
    }
}

extension Int {
    fileprivate var nextPowerOfTwo: Int {
        self <= 1 ? 1 : 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount)
    }
}

/// Whole numbers and texts as a JSON array. Nil if one of them would not come out of SQLite's JSON as it went in: a real
/// is rounded there, a blob has no form, and a text ends at its first NUL.
private func jsonArray(_ values: [SQLValue]) -> String? {
    var json: [UInt8] = [UInt8(ascii: "[")]
    for (index, value) in values.enumerated() {
        if index > 0 { json.append(UInt8(ascii: ",")) }
        switch value {
        case .integer(let number): json.append(contentsOf: "\(number)".utf8)
        case .text(let text):
            json.append(UInt8(ascii: "\""))
            for byte in text.utf8 {
                switch byte {
                case 0: return nil
                case UInt8(ascii: "\""), UInt8(ascii: "\\"): json += [UInt8(ascii: "\\"), byte]
                case 1..<0x20: json.append(contentsOf: "\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))".utf8)
                default: json.append(byte)
                }
            }
            json.append(UInt8(ascii: "\""))
        case .null, .real, .blob: return nil
        }
    }
    json.append(UInt8(ascii: "]"))
    return String(decoding: json, as: UTF8.self)
}
