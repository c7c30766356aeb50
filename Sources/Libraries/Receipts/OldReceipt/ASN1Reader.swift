/// A reader of the elements in BER, the superset of DER that receipts from Xcode use: lengths may be indefinite.
///
/// It copies nothing, and reads no deeper than ``maxDepth``. The caller bounds the length.
struct ASN1Reader {
    struct Element {
        let tag: UInt8
        let content: ArraySlice<UInt8>
    }

    struct Malformed: Error {}

    static let sequence: UInt8 = 0x30
    static let set: UInt8 = 0x31
    static let octets: UInt8 = 0x04
    private static let maxDepth = 16

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// Reads the next element.
    mutating func next() throws(Malformed) -> Element {
        try next(depth: 0)
    }

    /// Reads the next element, which must have this tag.
    mutating func next(_ tag: UInt8) throws(Malformed) -> ArraySlice<UInt8> {
        let element = try next()
        guard element.tag == tag else { throw Malformed() }
        return element.content
    }

    private mutating func next(depth: Int) throws(Malformed) -> Element {
        // Tags of several bytes do not occur in receipts.
        guard depth < Self.maxDepth, let tag = rest.popFirst(), tag & 0x1f != 0x1f, let first = rest.popFirst() else {
            throw Malformed()
        }
        if first == 0x80 { return Element(tag: tag, content: try indefinite(tag, depth: depth)) }
        let length = try length(first)
        guard length <= rest.count else { throw Malformed() }
        let content = rest.prefix(length)
        rest = rest.dropFirst(length)
        return Element(tag: tag, content: content)
    }

    private mutating func length(_ first: UInt8) throws(Malformed) -> Int {
        guard first > 0x80 else { return Int(first) }
        let count = Int(first & 0x7f)
        guard count <= 4, count <= rest.count else { throw Malformed() }
        var length = 0
        for byte in rest.prefix(count) { length = length << 8 | Int(byte) }
        rest = rest.dropFirst(count)
        return length
    }

    /// Reads the content of an element that ends with two zero bytes behind its last element.
    private mutating func indefinite(_ tag: UInt8, depth: Int) throws(Malformed) -> ArraySlice<UInt8> {
        guard tag & 0x20 != 0 else { throw Malformed() }
        let content = rest
        while !rest.prefix(2).elementsEqual([0, 0]) { _ = try next(depth: depth + 1) }
        let end = rest.startIndex
        rest = rest.dropFirst(2)
        return content[content.startIndex..<end]
    }
}
