/// Takes decisions and bytes from the front of an input. At its end every number is 0 and all bytes are none, so that
/// each input is a whole script.
struct FuzzInput {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position >= bytes.count }

    mutating func byte() -> UInt8 {
        guard !isAtEnd else { return 0 }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func flag() -> Bool { byte() & 1 == 1 }

    /// Two bytes, the high one first.
    mutating func word() -> Int { Int(byte()) << 8 | Int(byte()) }

    mutating func number() -> UInt32 { UInt32(word()) << 16 | UInt32(word()) }

    /// At most `count` bytes.
    mutating func take(_ count: Int) -> [UInt8] {
        let end = min(bytes.count, position + count)
        defer { position = end }
        return Array(bytes[position..<end])
    }

    /// All that is left.
    mutating func rest() -> [UInt8] {
        take(bytes.count)
    }
}

extension [UInt8] {
    /// Lends the bytes piece by piece.
    func inPieces(of size: Int, _ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        unsafe try withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let end = Swift.min(bytes.count, start + size)
                unsafe try body(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                start = end
            }
        }
    }
}
