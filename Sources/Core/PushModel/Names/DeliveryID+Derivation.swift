extension DeliveryID {
    /// Returns the id of one message for one device. Anyone can compute it: it is the UUIDv5, in the URL namespace, of
    /// `carillon:/APP/MESSAGE-ID/TOKEN-HEX-LOWERCASE`.
    package static func derived(app: AppID, message: MessageID, token: Address) -> DeliveryID {
        var app = app.name
        var message = message.text
        let (start, slash): (StaticString, UInt8) = ("carillon:/", UInt8(ascii: "/"))
        let length =
            namespace.count + start.utf8CodeUnitCount + app.utf8.count + message.utf8.count + 2 + token.hexLength
        // A token is written in runs of at least 64 digits; the padding of the last block takes 9 to 72 bytes.
        let room = length + 64 + 72
        let words = unsafe withUnsafeTemporaryAllocation(byteCount: room, alignment: 8) { text in
            var end = unsafe namespace.withUnsafeBytes { unsafe copy($0, to: text, at: 0) }
            end = unsafe copy(
                UnsafeRawBufferPointer(start: start.utf8Start, count: start.utf8CodeUnitCount), to: text, at: end)
            end = app.withUTF8 { unsafe copy(UnsafeRawBufferPointer($0), to: text, at: end) }
            unsafe text[end] = slash
            end = message.withUTF8 { unsafe copy(UnsafeRawBufferPointer($0), to: text, at: end + 1) }
            unsafe text[end] = slash
            end += 1
            end += unsafe token.writeHex(into: text.baseAddress! + end)
            return unsafe SHA1.hash(text, count: end)
        }
        let high = (UInt64(words.0) << 32 | UInt64(words.1)) & 0xffff_ffff_ffff_0fff | 0x5000
        let low = (UInt64(words.2) << 32 | UInt64(words.3)) & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
        return DeliveryID(high: high, low: low)
    }

    /// Copies bytes to an offset of a text. Returns the offset after them.
    private static func copy(
        _ bytes: UnsafeRawBufferPointer, to text: UnsafeMutableRawBufferPointer, at offset: Int
    ) -> Int {
        unsafe UnsafeMutableRawBufferPointer(rebasing: text[offset...]).copyMemory(from: bytes)
        return offset + bytes.count
    }

    /// The URL namespace of RFC 4122, appendix C.
    private static let namespace: [UInt8] = [
        0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8,
    ]
}

/// SHA-1 (RFC 3174), on which UUIDv5 is defined. It creates names here and protects nothing.
enum SHA1 {
    typealias State = (UInt32, UInt32, UInt32, UInt32, UInt32)

    /// Returns the hash of the first `count` bytes.
    ///
    /// - Important: The buffer must have room for 72 more bytes, which are overwritten.
    static func hash(_ bytes: UnsafeMutableRawBufferPointer, count: Int) -> State {
        let padded = (count + 9 + 63) / 64 * 64
        unsafe bytes[count] = 0x80
        for offset in count + 1..<padded { unsafe bytes[offset] = 0 }
        unsafe bytes.storeBytes(of: UInt64(count * 8).bigEndian, toByteOffset: padded - 8, as: UInt64.self)
        var state: State = (0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0)
        unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 80) { words in
            for start in stride(from: 0, to: padded, by: 64) {
                for index in 0..<16 {
                    unsafe words[index] = UInt32(
                        bigEndian: bytes.loadUnaligned(fromByteOffset: start + 4 * index, as: UInt32.self))
                }
                unsafe hashBlock(words, into: &state)
            }
        }
        return state
    }

    /// Hashes the block in the first 16 of the 80 words.
    private static func hashBlock(_ words: UnsafeMutableBufferPointer<UInt32>, into state: inout State) {
        for index in 16..<80 {
            let older = unsafe words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]
            unsafe words[index] = older << 1 | older >> 31
        }
        var (a, b, c, d, e) = state
        func addWords(_ range: Range<Int>, constant: UInt32, mix: (UInt32, UInt32, UInt32) -> UInt32) {
            func addWord(_ index: Int, _ a: UInt32, _ b: inout UInt32, _ c: UInt32, _ d: UInt32, to e: inout UInt32) {
                unsafe e = e &+ (a << 5 | a >> 27) &+ mix(b, c, d) &+ constant &+ words[index]
                b = b << 30 | b >> 2
            }
            // After five words, each value has been in each place: none of them is moved.
            for index in stride(from: range.lowerBound, to: range.upperBound, by: 5) {
                addWord(index, a, &b, c, d, to: &e)
                addWord(index + 1, e, &a, b, c, to: &d)
                addWord(index + 2, d, &e, a, b, to: &c)
                addWord(index + 3, c, &d, e, a, to: &b)
                addWord(index + 4, b, &c, d, e, to: &a)
            }
        }
        addWords(0..<20, constant: 0x5a82_7999) { $0 & $1 | ~$0 & $2 }
        addWords(20..<40, constant: 0x6ed9_eba1) { $0 ^ $1 ^ $2 }
        addWords(40..<60, constant: 0x8f1b_bcdc) { $0 & $1 | $0 & $2 | $1 & $2 }
        addWords(60..<80, constant: 0xca62_c1d6) { $0 ^ $1 ^ $2 }
        state = (state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d, state.4 &+ e)
    }
}
