package import PushModel

/// How feedback tuples lie in a spool file: `length u8 | time u32 | token | CRC-32 of the bytes before it u32`.
package enum FeedbackRecord {
    /// Of one record.
    package static let longest = 1 + 4 + DeviceToken.maximumLength + 4

    package static func append(_ tuple: FeedbackTuple, into bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(UInt8(tuple.token.byteCount))
        append(tuple.time, to: &bytes)
        tuple.token.append(to: &bytes)
        append(CRC32.of(bytes[start...]), to: &bytes)
    }

    /// What a piece of a spool file holds.
    package struct Reading: Equatable, Sendable {
        package var tuples: [FeedbackTuple] = []
        /// Bytes of the piece that whole records take.
        package var used = 0
        /// The next record is wrong, and not only cut short: nothing after it can be told apart.
        package var isDamaged = false
    }

    /// Reads up to `limit` records from the front. It stops at one that is cut short (which is how a crash leaves the
    /// last one) and at one that is damaged.
    package static func read(_ bytes: some RandomAccessCollection<UInt8>, limit: Int = .max) -> Reading {
        let bytes = Array(bytes)
        var reading = Reading()
        while reading.tuples.count < limit, reading.used < bytes.count {
            let start = reading.used
            let length = Int(bytes[start])
            guard (1...DeviceToken.maximumLength).contains(length) else {
                reading.isDamaged = true
                break
            }
            let end = start + 1 + 4 + length
            guard end + 4 <= bytes.count else { break }
            guard number(bytes, at: end) == CRC32.of(bytes[start..<end]),
                let token = DeviceToken(bytes: bytes[start + 5..<end])
            else {
                reading.isDamaged = true
                break
            }
            reading.tuples.append(FeedbackTuple(time: number(bytes, at: start + 1), token: token))
            reading.used = end + 4
        }
        return reading
    }

    private static func number(_ bytes: [UInt8], at place: Int) -> UInt32 {
        bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func append(_ value: UInt32, to bytes: inout [UInt8]) {
        for shift in stride(from: UInt32(24), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}

/// CRC-32 as Ethernet and gzip have it (RFC 1952, section 8): it tells a torn record from a whole one.
private enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xedb8_8320 }
    }

    static func of(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        ~bytes.reduce(0xffff_ffff) { sum, byte in
            sum >> 8 ^ table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)]
        }
    }
}
