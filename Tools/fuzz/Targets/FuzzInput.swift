/// An input from which decisions and bytes are taken, front to back. After its end all numbers are 0 and all byte
/// arrays are empty, so that every input is a complete script.
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

    /// Takes two bytes as a number, most significant byte first.
    mutating func word() -> Int { Int(byte()) << 8 | Int(byte()) }

    mutating func number() -> UInt32 { UInt32(word()) << 16 | UInt32(word()) }

    /// Takes at most `count` bytes.
    mutating func take(_ count: Int) -> [UInt8] {
        let end = min(bytes.count, position + count)
        defer { position = end }
        return Array(bytes[position..<end])
    }

    /// Takes all remaining bytes.
    mutating func rest() -> [UInt8] {
        take(bytes.count)
    }
}

extension [UInt8] {
    /// Calls `body` with the bytes, piece by piece.
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
