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
            var end = 0
            func append(_ bytes: UnsafeRawBufferPointer) {
                unsafe UnsafeMutableRawBufferPointer(rebasing: text[end...]).copyMemory(from: bytes)
                end += bytes.count
            }
            unsafe namespace.withUnsafeBytes { unsafe append($0) }
            unsafe append(UnsafeRawBufferPointer(start: start.utf8Start, count: start.utf8CodeUnitCount))
            app.withUTF8 { unsafe append(UnsafeRawBufferPointer($0)) }
            unsafe text[end] = slash
            end += 1
            message.withUTF8 { unsafe append(UnsafeRawBufferPointer($0)) }
            unsafe text[end] = slash
            end += 1
            end += unsafe token.writeHex(into: text.baseAddress! + end)
            return unsafe SHA1.hash(text, count: end)
        }
        let high = (UInt64(words.0) << 32 | UInt64(words.1)) & 0xffff_ffff_ffff_0fff | 0x5000
        let low = (UInt64(words.2) << 32 | UInt64(words.3)) & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
        return DeliveryID(high: high, low: low)
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
        unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 16) { schedule in
            for start in stride(from: 0, to: padded, by: 64) {
                for index in 0..<16 {
                    unsafe schedule[index] = UInt32(
                        bigEndian: bytes.loadUnaligned(fromByteOffset: start + 4 * index, as: UInt32.self))
                }
                unsafe hashBlock(schedule, into: &state)
            }
        }
        return state
    }

    /// Hashes one block. The 80 words of the schedule share 16 slots.
    private static func hashBlock(_ schedule: UnsafeMutableBufferPointer<UInt32>, into state: inout State) {
        var (a, b, c, d, e) = state
        func addWords(_ range: Range<Int>, constant: UInt32, mix: (UInt32, UInt32, UInt32) -> UInt32) {
            for index in range {
                if index >= 16 {
                    let older = unsafe schedule[(index + 13) & 15] ^ schedule[(index + 8) & 15]
                    let word = unsafe older ^ schedule[(index + 2) & 15] ^ schedule[index & 15]
                    unsafe schedule[index & 15] = word << 1 | word >> 31
                }
                let next = unsafe (a << 5 | a >> 27) &+ mix(b, c, d) &+ e &+ constant &+ schedule[index & 15]
                (a, b, c, d, e) = (next, a, b << 30 | b >> 2, c, d)
            }
        }
        addWords(0..<20, constant: 0x5a82_7999) { $0 & $1 | ~$0 & $2 }
        addWords(20..<40, constant: 0x6ed9_eba1) { $0 ^ $1 ^ $2 }
        addWords(40..<60, constant: 0x8f1b_bcdc) { $0 & $1 | $0 & $2 | $1 & $2 }
        addWords(60..<80, constant: 0xca62_c1d6) { $0 ^ $1 ^ $2 }
        state = (state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d, state.4 &+ e)
    }
}
