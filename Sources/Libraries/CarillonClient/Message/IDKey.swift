/// A 64-bit hash of the bytes of an id or of the name of an app. It differs from process to process, so that ids which a
/// stranger chooses cannot be made to collide. Ids with the same key are sent one after the other, so that a collision
/// costs time and nothing else.
struct IDKey: Hashable, Sendable {
    let hash: UInt64

    init(_ id: String) {
        var id = id
        hash = id.withUTF8 { unsafe Self.hash(UnsafeRawBufferPointer($0)) }
    }

    init(hash: UInt64) {
        self.hash = hash
    }

    init(_ bytes: UnsafeRawBufferPointer) {
        hash = unsafe Self.hash(bytes)
    }

    private static let seed = UInt64.random(in: .min ... .max)

    private static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash = UInt64(truncatingIfNeeded: bytes.count) ^ seed
        var offset = 0
        while bytes.count - offset >= 8 {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            hash = mix(hash ^ UInt64(littleEndian: word))
            offset += 8
        }
        var tail: UInt64 = 0
        while offset < bytes.count {
            tail = unsafe tail << 8 | UInt64(bytes[offset])
            offset += 1
        }
        return mix(hash ^ tail)
    }

    private static func mix(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0xe703_7ed1_a0b4_28db)
        return product.high ^ product.low
    }
}
