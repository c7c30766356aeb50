import PushText

/// A closed set of words of at most 16 bytes each. Look-ups compare two registers per word and create no `String`.
struct WordTable: Sendable {
    let words: [String]
    private let packed: [(low: UInt64, high: UInt64, count: Int)]

    init(_ words: [String]) {
        self.words = words
        packed = words.map { word in
            precondition((1...16).contains(word.utf8.count), "\(word) does not fit into a table of words")
            let (low, high) = ByteView.lending(Array(word.utf8)) { Self.pack($0) }
            return (low, high, word.utf8.count)
        }
    }

    /// Returns the number of a word, or nil. Words that come in the order of the table are found at once if `hint` is
    /// the number after the previous one.
    @inline(__always)
    func number(of word: ByteView, hint: Int = 0) -> Int? {
        guard word.count <= 16, !word.isEmpty else { return nil }
        let (low, high) = Self.pack(word)
        return unsafe packed.withUnsafeBufferPointer { packed in
            var index = hint < packed.count ? hint : 0
            for _ in 0..<packed.count {
                let known = unsafe packed[index]
                if known.low == low, known.high == high, known.count == word.count { return index }
                index += 1
                if index == packed.count { index = 0 }
            }
            return nil
        }
    }

    /// Returns the bytes of a word, at most 16, in two numbers, padded with zeros.
    @inline(__always)
    private static func pack(_ word: ByteView) -> (low: UInt64, high: UInt64) {
        let bytes = unsafe word.bytes
        var low: UInt64 = 0
        var high: UInt64 = 0
        let count = bytes.count
        if count >= 8 {
            low = unsafe bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
            // The shift removes the bytes that overlap the first eight.
            if count > 8 {
                high = unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self))
                high >>= UInt64(8 * (16 - count))
            }
        } else {
            var index = count
            while index > 0 {
                index -= 1
                low = unsafe low << 8 | UInt64(bytes[index])
            }
        }
        return (low, high)
    }

    /// Returns the word of the set that is most similar to an unknown one, if any is.
    func nearest(to word: String) -> String? { NearestWord.to(word, in: words) }
}
