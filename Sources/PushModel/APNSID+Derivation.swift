extension APNSID {
    /// The id of one message for one device, which anyone can compute: UUIDv5 in the URL namespace of
    /// `carillon:/APP/MESSAGE-ID/TOKEN-HEX-LOWERCASE`.
    package static func derived(app: AppID, message: MessageID, token: DeviceToken) -> APNSID {
        // RFC 4122, appendix C: the URL namespace.
        var hash = SHA1()
        hash.update([
            0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8,
        ])
        hash.update(Array("carillon:/\(app.name)/\(message.text)/\(token.hex)".utf8))
        let words = hash.finish()
        var high = UInt64(words.0) << 32 | UInt64(words.1)
        var low = UInt64(words.2) << 32 | UInt64(words.3)
        high = high & 0xffff_ffff_ffff_0fff | 0x5000
        low = low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
        return APNSID(high: high, low: low)
    }
}

/// SHA-1 (RFC 3174), which UUIDv5 is defined over. It names things here and protects nothing.
struct SHA1 {
    private var state: (UInt32, UInt32, UInt32, UInt32, UInt32) =
        (0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0)
    private var pending: [UInt8] = []
    private var length: UInt64 = 0

    mutating func update(_ bytes: [UInt8]) {
        length += UInt64(bytes.count)
        pending += bytes
        var start = 0
        while pending.count - start >= 64 {
            block(pending[start..<start + 64])
            start += 64
        }
        pending.removeFirst(start)
    }

    /// The first 128 of the 160 bits, and the rest.
    mutating func finish() -> (UInt32, UInt32, UInt32, UInt32, UInt32) {
        let bits = length * 8
        var end: [UInt8] = [0x80]
        end += [UInt8](repeating: 0, count: (119 - pending.count) % 64)
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            end.append(UInt8(truncatingIfNeeded: bits >> shift))
        }
        update(end)
        return state
    }

    private mutating func block(_ bytes: ArraySlice<UInt8>) {
        var schedule: [UInt32] = []
        schedule.reserveCapacity(80)
        for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: 4) {
            let high = UInt32(bytes[start]) << 24 | UInt32(bytes[start + 1]) << 16
            schedule.append(high | UInt32(bytes[start + 2]) << 8 | UInt32(bytes[start + 3]))
        }
        for index in 16..<80 {
            let word = schedule[index - 3] ^ schedule[index - 8] ^ schedule[index - 14] ^ schedule[index - 16]
            schedule.append(word << 1 | word >> 31)
        }
        var (a, b, c, d, e) = state
        for index in 0..<80 {
            let (mixed, constant): (UInt32, UInt32) =
                switch index {
                case ..<20: (b & c | ~b & d, 0x5a82_7999)
                case ..<40: (b ^ c ^ d, 0x6ed9_eba1)
                case ..<60: (b & c | b & d | c & d, 0x8f1b_bcdc)
                default: (b ^ c ^ d, 0xca62_c1d6)
                }
            let rotated = a << 5 | a >> 27
            let next = rotated &+ mixed &+ e &+ constant &+ schedule[index]
            (a, b, c, d, e) = (next, a, b << 30 | b >> 2, c, d)
        }
        state = (state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d, state.4 &+ e)
    }
}
