/// The SHA-256 digest that a `Content-Digest` field gives (RFC 9530).
package struct ContentDigest: Sendable {
    /// The digest; always 32 bytes.
    package let sha256: [UInt8]
    /// The value of the field as the signature covers it.
    package let text: String

    /// Parses the values of the fields. Returns nil if there is no field.
    ///
    /// - Throws: `malformedDigest` if a field is not a dictionary of byte sequences, or if there is not exactly one
    ///   digest `sha-256`.
    package static func read(_ fields: [String]) throws(SignatureFault) -> ContentDigest? {
        guard !fields.isEmpty else { return nil }
        var found: [UInt8]?
        for field in fields {
            let isRead = ByteView.lending(field) { bytes -> Bool in
                guard bytes.count <= RequestSignature.maxFieldLength else { return false }
                var reader = StructuredFieldReader(bytes)
                var isFirst = true
                while let hasMember = reader.beginMember(isFirst: isFirst) {
                    guard hasMember else { return true }
                    isFirst = false
                    guard let key = reader.key(), reader.take(UInt8(ascii: "=")), let text = reader.byteSequence(),
                        reader.skipParameters()
                    else { return false }
                    guard key.equals("sha-256") else { continue }
                    guard found == nil, let digest = Base64Text.decode(text), digest.count == 32 else { return false }
                    found = digest
                }
                return false
            }
            guard isRead else { throw .malformedDigest }
        }
        guard let found else { throw .malformedDigest }
        return ContentDigest(
            sha256: found, text: fields.count == 1 ? trimmed(fields[0]) : fields.map(trimmed).joined(separator: ", "))
    }

    private init(sha256: [UInt8], text: String) {
        self.sha256 = sha256
        self.text = text
    }

    private static func trimmed(_ field: String) -> String {
        guard let first = field.utf8.first, let last = field.utf8.last, isSpace(first) || isSpace(last) else {
            return field
        }
        let front = field.utf8.drop(while: isSpace)
        let end = front.lastIndex { !isSpace($0) }.map { front.index(after: $0) } ?? front.startIndex
        return String(decoding: front[..<end], as: UTF8.self)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
