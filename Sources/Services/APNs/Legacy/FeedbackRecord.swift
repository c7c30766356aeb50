package import PushModel
import PushWire

/// The format of feedback tuples in a spool file: `length u8 | time u32 | token | CRC-32 of the preceding bytes u32`.
package enum FeedbackRecord {
    package static func append(_ tuple: FeedbackTuple, to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(UInt8(tuple.token.byteCount))
        append(tuple.time, to: &bytes)
        tuple.token.append(to: &bytes)
        append(CRC32.of(bytes[start...]), to: &bytes)
    }

    /// The content of a piece of a spool file.
    package struct Reading: Equatable, Sendable {
        package var tuples: [FeedbackTuple] = []
        /// The number of bytes that complete records occupy.
        package var used = 0
        /// Whether the next record is damaged rather than truncated. Nothing after it can be decoded.
        package var isDamaged = false
    }

    /// Reads up to `limit` records from the start. Reading stops at a truncated record, which a crash leaves at the
    /// end, and at a damaged one.
    package static func read(_ bytes: some RandomAccessCollection<UInt8>, limit: Int = .max) -> Reading {
        let bytes = Array(bytes)
        var reading = Reading()
        while reading.tuples.count < limit, reading.used < bytes.count {
            let start = reading.used
            let length = Int(bytes[start])
            guard (1...Address.maxTokenLength).contains(length) else {
                reading.isDamaged = true
                break
            }
            let end = start + 1 + 4 + length
            guard end + 4 <= bytes.count else { break }
            guard number(at: end, in: bytes) == CRC32.of(bytes[start..<end]),
                let token = Address(bytes: bytes[start + 5..<end])
            else {
                reading.isDamaged = true
                break
            }
            reading.tuples.append(FeedbackTuple(time: number(at: start + 1, in: bytes), token: token))
            reading.used = end + 4
        }
        return reading
    }

    private static func number(at offset: Int, in bytes: [UInt8]) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func append(_ value: UInt32, to bytes: inout [UInt8]) {
        for shift in stride(from: UInt32(24), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}
