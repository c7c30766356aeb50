import PushTime
import PushWire

/// One message in a file of the spool: the length of its body, a checksum, and the body.
struct SpoolRecord {
    /// The number of the record in the spool, from 1. It ascends and is never used again.
    let number: UInt64
    /// A time before the first attempt; nil if an earlier version wrote the record.
    let time: WallTime?
    let request: EncodedRequest

    static let headLength = 8
    /// The largest number. No spool comes near it, and numbers above it do not overflow.
    static let maxNumber: UInt64 = 1 << 62
    /// The largest body: an envelope, a payload and a few bytes more.
    static let maxBody = 2 * EncodedRequest.maxEnvelope + 4096

    private static let payloadMark: UInt8 = 1
    private static let timeMark: UInt8 = 2

    /// Appends the record to the bytes of a file.
    static func append(_ request: EncodedRequest, number: UInt64, time: WallTime, to bytes: inout [UInt8]) {
        var body: [UInt8] = []
        body.reserveCapacity(request.count + request.id.utf8.count + request.app.utf8.count + 40)
        body.appendWord(number)
        body.append(timeMark | (request.payload == nil ? 0 : payloadMark))
        body.appendWord(UInt64(bitPattern: time.milliseconds))
        body.appendText(request.id)
        body.appendText(request.app)
        body.appendBytes(request.envelope)
        if let payload = request.payload { body.appendBytes(payload) }
        bytes.append(little: UInt32(truncatingIfNeeded: body.count))
        bytes.append(little: checksum(of: body))
        bytes.append(contentsOf: body)
    }

    /// Returns the record at an offset with the offset after it; nil if there is no whole and undamaged one.
    static func read(_ bytes: [UInt8], at offset: Int) -> (record: SpoolRecord, end: Int)? {
        guard let length = bodyLength(bytes, at: offset), bytes.count - offset - headLength >= length else {
            return nil
        }
        let start = offset + headLength
        let body = Array(bytes[start..<(start + length)])
        guard checksum(of: body) == little(bytes, at: offset + 4), let record = SpoolRecord(body: body) else {
            return nil
        }
        return (record, start + length)
    }

    /// Returns the length of the body of the record at an offset; nil if it is not that of a record.
    static func bodyLength(_ bytes: [UInt8], at offset: Int) -> Int? {
        guard offset >= 0, bytes.count - offset >= headLength else { return nil }
        let length = Int(little(bytes, at: offset))
        return (1...maxBody).contains(length) ? length : nil
    }

    /// The bytes of a record up to its number.
    static let startLength = headLength + 8

    /// Returns the length of the body and the number of what may be a record at an offset, unchecked.
    static func start(_ bytes: [UInt8], at offset: Int) -> (length: Int, number: UInt64)? {
        // Most places are no record for this byte, the highest one of the length.
        guard bytes.count - offset >= startLength, bytes[offset + 3] <= UInt8(truncatingIfNeeded: maxBody >> 24),
            let length = bodyLength(bytes, at: offset), length > 8
        else { return nil }
        let number = unsafe bytes.withUnsafeBytes { bytes in
            var reader = unsafe ByteReader(bytes, at: offset + headLength)
            return reader.word()
        }
        return (length, number)
    }

    private init?(body: [UInt8]) {
        let parts: (UInt64, WallTime?, EncodedRequest)? = unsafe body.withUnsafeBytes { bytes in
            var reader = unsafe ByteReader(bytes)
            let number = reader.word()
            let marks = reader.byte()
            let time =
                marks & Self.timeMark == 0 ? nil : WallTime(milliseconds: Int64(bitPattern: reader.word()))
            let id = reader.text()
            let app = reader.text()
            let envelope = reader.blob()
            let payload = marks & Self.payloadMark == 0 ? nil : reader.blob()
            guard !reader.isBroken, reader.isAtEnd, marks <= Self.payloadMark | Self.timeMark,
                (1...Self.maxNumber).contains(number)
            else { return nil }
            return (number, time, EncodedRequest(.push, id: id, app: app, envelope: envelope, payload: payload))
        }
        guard let parts else { return nil }
        (number, time, request) = parts
    }

    private static func little(_ bytes: [UInt8], at offset: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << UInt32(8 * $1) }
    }

    static func checksum(of body: [UInt8]) -> UInt32 {
        unsafe body.withUnsafeBytes {
            unsafe LogChecksum.of($0, first: 0x7370_6f6f_6c31, count: 1, time: WallTime(milliseconds: 0))
        }
    }
}

extension Array<UInt8> {
    fileprivate mutating func append(little number: UInt32) {
        for shift in stride(from: UInt32(0), to: 32, by: 8) { append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
}
