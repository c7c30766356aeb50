enum CSVWriter {
    /// Returns one record with its line end. Fields are quoted where necessary.
    static func line(_ fields: [String]) -> String {
        fields.map(quoted).joined(separator: ",") + "\r\n"
    }

    private static func quoted(_ field: String) -> String {
        let needsMarks = field.utf8.contains { $0 == 0x22 || $0 == 0x2c || $0 == 0x0a || $0 == 0x0d }
        return needsMarks ? "\"\(field.with("\"", before: ["\""]))\"" : field
    }
}

extension String {
    /// Returns the text with a mark before each of these scalars. They may be parts of characters, which scalars combine.
    fileprivate func with(_ mark: Unicode.Scalar, before scalars: Set<Unicode.Scalar>) -> String {
        var marked = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            if scalars.contains(scalar) { marked.append(mark) }
            marked.append(scalar)
        }
        return String(marked)
    }
}

/// Tags in one CSV column: `a;b`. A semicolon or backslash within a tag has a backslash before it.
enum TagColumn {
    static func text(_ tags: [String]) -> String {
        tags.map { $0.with("\\", before: ["\\", ";"]) }.joined(separator: ";")
    }

    static func tags(_ text: String) -> [String] {
        var tags: [String] = []
        var tag = ""
        var isEscaped = false
        for character in text.unicodeScalars {
            if isEscaped {
                tag.unicodeScalars.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == ";" {
                tags.append(tag)
                tag = ""
            } else {
                tag.unicodeScalars.append(character)
            }
        }
        if isEscaped { tag += "\\" }
        tags.append(tag)
        return tags.filter { !$0.isEmpty }
    }
}
