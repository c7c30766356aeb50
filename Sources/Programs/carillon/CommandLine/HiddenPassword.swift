/// Removes passwords from URLs in a text, such as an error that repeats an argument.
enum HiddenPassword {
    /// Returns one line without the passwords of URLs: `postgres://user:secret@host` becomes `postgres://user@host`.
    static func line(_ text: String) -> String {
        var shown = ""
        var rest = text[...]
        while let mark = rest.range(of: "://") {
            shown += rest[..<mark.upperBound]
            rest = rest[mark.upperBound...]
            // A password may contain "@" and "/" if it was not encoded, so that the last "@" of the word counts.
            let word = rest.prefix { !$0.isWhitespace && !"'\"<>".contains($0) }
            if let end = word.lastIndex(of: "@"), let colon = word[..<end].firstIndex(of: ":") {
                shown += word[..<colon]
                rest = rest[end...]
            }
        }
        return shown + rest
    }
}

extension Substring {
    /// Returns the range of the first occurrence of a text.
    fileprivate func range(of text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}
