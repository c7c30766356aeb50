import FoundationEssentials

extension SQLText {
    /// SQLite's limit for the length of a pattern, because matching can take quadratic time.
    private static let patternLimit = 50_000

    static func like<Record>(
        _ pattern: String, escape: Unicode.Scalar?, for field: Table<Record>.Field, table: String
    ) throws(ActiveObjectError) -> SQLText {
        guard pattern.utf8.count <= patternLimit else {
            throw ActiveObjectError(
                .outOfRange,
                message: """
                    \(table).\(field.column) was compared with a pattern of more than \(patternLimit) bytes; \
                    shorten it
                    """, table: table, column: field.column)
        }
        var test = SQLText("\(field.column.quotedName) LIKE ")
        test.bind(.text(pattern), for: field)
        if let escape {
            test.append(" ESCAPE ")
            test.bind(.text(String(escape)), for: field)
        }
        return test
    }

    /// Returns a test for the range from the prefix to the smallest text that is greater than all texts with the
    /// prefix. An index can answer it.
    static func hasPrefix<Record>(_ prefix: String, for field: Table<Record>.Field) -> SQLText {
        let column = field.column.quotedName
        guard !prefix.isEmpty else { return SQLText("\(column) IS NOT NULL") }
        guard field.ignoresCase else {
            return range(from: prefix, to: successor(of: prefix.unicodeScalars), for: field)
        }
        // The index ignores case and ends at a NUL, so the range contains all texts with the prefix and others. The
        // comparison of the bytes removes the others.
        let folded = prefix.unicodeScalars.prefix { $0 != "\0" }.map { scalar in
            ("A"..."Z").contains(scalar) ? Unicode.Scalar(UInt8(scalar.value) + 0x20) : scalar
        }
        var test = SQLText()
        if !folded.isEmpty {
            test = range(from: String(String.UnicodeScalarView(folded)), to: successor(of: folded), for: field)
            test.append(" AND ")
        }
        test.append("substr(CAST(\(column) AS BLOB), 1, ")
        test.bind(.integer(Int64(prefix.utf8.count)), for: field)
        test.append(") = ")
        test.bind(.blob(Data(prefix.utf8)), for: field)
        return test
    }

    private static func range<Record>(from lower: String, to upper: String?, for field: Table<Record>.Field) -> SQLText
    {
        var test = SQLText("\(field.column.quotedName) >= ")
        test.bind(.text(lower), for: field)
        if let upper {
            test.append(" AND \(field.column.quotedName) < ")
            test.bind(.text(upper), for: field)
        }
        return test
    }

    /// Returns the smallest text that is greater than all texts that begin with these scalars. Nil if there is none
    /// because all scalars are U+10FFFF.
    private static func successor(of scalars: some BidirectionalCollection<Unicode.Scalar>) -> String? {
        var scalars = Array(scalars)
        while let last = scalars.popLast() {
            let next: UInt32? =
                switch last.value {
                case 0x10ffff: nil
                // Skip the surrogates, which UTF-8 does not have.
                case 0xd7ff: 0xe000
                default: last.value + 1
                }
            guard let next, let scalar = Unicode.Scalar(next) else { continue }
            scalars.append(scalar)
            return String(String.UnicodeScalarView(scalars))
        }
        return nil
    }
}
