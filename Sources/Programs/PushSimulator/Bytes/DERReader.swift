/// Steps through elements of DER (ITU-T X.690) with definite lengths and one-byte tags, as certificates use them.
struct DERReader {
    struct Element {
        let tag: UInt8
        let content: ByteView
    }

    private var rest: ByteView

    init(_ bytes: ByteView) {
        rest = bytes
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// Returns the next element; nil at the end or if the element is malformed.
    mutating func next() -> Element? {
        guard rest.count >= 2 else { return nil }
        var length = Int(rest[1])
        var start = 2
        if length >= 0x80 {
            let size = length & 0x7f
            guard size >= 1, size <= 3, rest.count >= 2 + size else { return nil }
            length = 0
            for index in 0..<size { length = length << 8 | Int(rest[2 + index]) }
            start += size
        }
        guard length <= rest.count - start else { return nil }
        let element = Element(tag: rest[0], content: rest.slice(from: start, to: start + length))
        rest = rest.dropFirst(start + length)
        return element
    }
}
