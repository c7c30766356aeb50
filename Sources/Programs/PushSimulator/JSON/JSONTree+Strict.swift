package import JSON5

extension JSONTree {
    /// Reads strict JSON; nil if it is not valid.
    package static func strict(_ bytes: ByteView) -> JSONTree? {
        guard JSONScanner.scan(bytes) != nil else { return nil }
        return try? JSON5Reader.read(bytes.copied())
    }
}
