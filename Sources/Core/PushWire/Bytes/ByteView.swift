/// A view of bytes that another object owns, valid for the duration of a call.
///
/// Single reads are checked against the bounds. Loops over the bytes are functions of this type, which need no check for
/// each byte.
///
/// It is `public` with ``IndexedJSON`` and ``JSONKind``, because the compiler inlines no `package` function in another
/// module, and push services read each message with these.
@safe
public struct ByteView {
    /// The bytes, for functions that take them as memory.
    public let bytes: UnsafeRawBufferPointer

    /// - Important: The view must not outlive `bytes`.
    @inlinable
    @inline(__always)
    public init(borrowing bytes: UnsafeRawBufferPointer) {
        unsafe self.bytes = bytes
    }

    /// Calls `body` with a view of the bytes of an array.
    @inlinable
    @inline(__always)
    public static func lending<Result>(_ bytes: [UInt8], to body: (ByteView) -> Result) -> Result {
        unsafe bytes.withUnsafeBytes { unsafe body(ByteView(borrowing: $0)) }
    }

    /// Calls `body` with a view of the UTF-8 of a text.
    @inlinable
    @inline(__always)
    public static func lending<Result>(_ text: String, to body: (ByteView) -> Result) -> Result {
        var text = text
        return text.withUTF8 { unsafe body(ByteView(borrowing: UnsafeRawBufferPointer($0))) }
    }

    @inlinable
    @inline(__always)
    public var count: Int { unsafe bytes.count }

    @inlinable
    @inline(__always)
    public var isEmpty: Bool { count == 0 }

    @inlinable
    @inline(__always)
    public subscript(offset: Int) -> UInt8 {
        precondition(UInt(bitPattern: offset) < UInt(bitPattern: count), "byte outside of its view")
        return unsafe bytes[offset]
    }

    package subscript(range: Range<Int>) -> ByteView {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "range outside of its view")
        return unsafe ByteView(borrowing: UnsafeRawBufferPointer(rebasing: bytes[range]))
    }

    package func prefix(_ length: Int) -> ByteView { self[0..<min(length, count)] }

    /// Whether the bytes are those of a word.
    @inlinable
    @inline(__always)
    public func equals(_ word: StaticString) -> Bool {
        let length = word.utf8CodeUnitCount
        guard count == length else { return false }
        for index in 0..<length where unsafe bytes[index] != word.utf8Start[index] { return false }
        return true
    }

    @inlinable
    @inline(__always)
    public func equals(_ other: [UInt8]) -> Bool {
        unsafe other.count == count && other.withUnsafeBytes { unsafe $0.elementsEqual(bytes) }
    }

    /// Returns the FNV-1a hash of the bytes. Peers can choose bytes with equal hashes.
    func hash() -> Int {
        var hash: UInt32 = 2_166_136_261
        for offset in 0..<count { hash = unsafe (hash ^ UInt32(bytes[offset])) &* 16_777_619 }
        return Int(hash)
    }

    package func contains(_ byte: UInt8) -> Bool { unsafe bytes.contains(byte) }

    /// The bytes as text; invalid UTF-8 is replaced.
    package var text: String { unsafe String(decoding: bytes, as: UTF8.self) }

    package var copied: [UInt8] { unsafe Array(bytes) }
}

extension Array<UInt8> {
    package mutating func append(contentsOf view: ByteView) { unsafe append(contentsOf: view.bytes) }
}
