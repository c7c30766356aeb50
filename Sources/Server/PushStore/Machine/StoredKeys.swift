import PushLogic
import PushModel
import PushWire

/// The layout of a key in the column `accepted`: fingerprint, content and audience, 8 bytes each. The lowest bit of the
/// content is `isSingle`.
extension AcceptedKey {
    static let size = 24

    /// Creates a key from its stored words.
    init(fingerprint: UInt64, storedContent: UInt64, audience: UInt64) {
        self.init(
            fingerprint: fingerprint, content: storedContent, audience: audience, isSingle: storedContent & 1 == 1)
    }

    init(_ bytes: UnsafeRawBufferPointer, at index: Int) {
        self.init(
            fingerprint: unsafe bytes.word(at: index * Self.size),
            storedContent: unsafe bytes.word(at: index * Self.size + 8),
            audience: unsafe bytes.word(at: index * Self.size + 16))
    }

    var storedContent: UInt64 { content | (isSingle ? 1 : 0) }

    func append(to words: inout [UInt64]) {
        words.append(fingerprint)
        words.append(storedContent)
        words.append(audience)
    }
}

/// The layout of a key in the column `ended`: the fingerprint, and a word with the number of the message (56 bits),
/// `isClaimed` and `isOnly` (a bit each) and the outcome (6 bits).
extension EndedKey {
    static let size = 16
    private static let claimed: UInt64 = 0x80
    private static let only: UInt64 = 0x40

    init(_ bytes: UnsafeRawBufferPointer, at index: Int) {
        let word = unsafe bytes.word(at: index * Self.size + 8)
        self.init(
            fingerprint: unsafe bytes.word(at: index * Self.size), seq: word >> 8,
            outcome: FinalOutcome(rawValue: UInt8(word & 0x3f)), isClaimed: word & Self.claimed != 0,
            isOnly: word & Self.only != 0)
    }

    func append(to words: inout [UInt64]) {
        words.append(fingerprint)
        words.append(
            seq << 8 | UInt64(outcome?.rawValue ?? 0) & 0x3f | (isClaimed ? Self.claimed : 0) | (isOnly ? Self.only : 0)
        )
    }
}
