/// Makes text from untrusted sources safe to show on a terminal, in a log line or in an error.
package enum PlainText {
    /// Returns `text` on one line of at most `limit` characters, with `?` for each control character.
    package static func line(_ text: String, limit: Int = 500) -> String {
        let scalars = text.unicodeScalars.prefix(limit).map { scalar -> Unicode.Scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: "?"
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(scalars)) + (text.unicodeScalars.count > limit ? "…" : "")
    }

    /// Returns a name that anyone can choose, such as a key of JSON, cut to a length that fits into a message.
    package static func name(_ name: String) -> String {
        name.utf8.count <= 48 ? name : "\(name.prefix(40))…"
    }

    /// Returns `text` with its lines kept, each of any length, and `?` for each control character.
    package static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line(String($0), limit: .max) }
            .joined(separator: "\n")
    }
}
