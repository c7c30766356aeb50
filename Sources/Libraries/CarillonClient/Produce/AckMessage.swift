import PushTransport

/// The statuses of one reply from intake.
struct AckMessage {
    private(set) var statuses: [AckStatus] = []
    /// The number of lines that are not a status of a message, or 1 if the reply is not an ack.
    private(set) var malformed = 0

    /// The largest number of lines that are read: more than any batch of this client has.
    private static let maxLines = 20_000

    init(_ message: borrowing ZMQMessage) {
        guard message.count == 2, Self.isAck(message) else {
            malformed = 1
            return
        }
        unsafe message.withBytes(ofFrame: 1) { unsafe read($0) }
    }

    /// Reads the second frame of an ack.
    init(lines bytes: UnsafeRawBufferPointer) { unsafe read(bytes) }

    private static func isAck(_ message: borrowing ZMQMessage) -> Bool {
        guard message.byteCount(ofFrame: 0) <= 16 else { return false }
        let kind = message.copied(0)
        return kind == Array("ack/1".utf8) || kind == Array("ack-batch/1".utf8)
    }

    private mutating func read(_ bytes: UnsafeRawBufferPointer) {
        var start = 0
        var lines = 0
        while start < bytes.count, lines < Self.maxLines {
            var end = start
            while end < bytes.count, unsafe bytes[end] != UInt8(ascii: "\n") { end += 1 }
            if end > start {
                lines += 1
                if let status = unsafe AckStatus(UnsafeRawBufferPointer(rebasing: bytes[start..<end])) {
                    statuses.append(status)
                } else {
                    malformed += 1
                }
            }
            start = end + 1
        }
    }
}
