/// One notification of the legacy binary interface. It borrows its bytes.
struct BinaryFrame {
    var command: UInt8
    /// The identifier; nil for command 0, which has none.
    var identifier: UInt32?
    var expiration: UInt32?
    var priority: UInt8 = 10
    var token: ByteView
    var payload: ByteView
}

/// The reason why a frame ends the connection: the status codes of the error packet.
package enum BinaryStatus: UInt8, CaseIterable, Sendable {
    case noError = 0
    case processingError = 1
    case missingToken = 2
    case missingTopic = 3
    case missingPayload = 4
    case invalidTokenSize = 5
    case invalidTopicSize = 6
    case invalidPayloadSize = 7
    case invalidToken = 8
    case shutdown = 10
    case protocolError = 128
    case unknown = 255
}

struct BinaryFault: Error, Equatable {
    var status: BinaryStatus
    /// The identifier of the frame; 0 if it has none or if it was not read.
    var identifier: UInt32
}

/// Parses a stream of frames, whose bytes may be split at any position.
///
/// The parser holds at most one incomplete frame, whose size is bounded by the limits of its parts.
struct BinaryParser {
    static let maxTokenLength = 100
    static let maxPayloadLength = 2048
    /// The maximum length of a frame with command 2. It has room for every item at its maximum, and it is large enough
    /// that an oversized payload is reported as such and not as a protocol error.
    static let maxFrameLength = 16_384

    private var pending: [UInt8] = []

    var pendingCount: Int { pending.count }

    private enum Step {
        case frame(BinaryFrame, length: Int)
        case incomplete
    }

    /// Calls `body` for each complete frame. If it returns false, the remaining bytes are discarded. Throws at the first
    /// invalid frame; the bytes after it are not parsed.
    mutating func parse(_ bytes: ByteView, forEachFrame body: (BinaryFrame) -> Bool) throws(BinaryFault) {
        if pending.isEmpty {
            let used = try Self.parseFrames(in: bytes, forEach: body)
            pending = bytes.dropFirst(used).copied()
            return
        }
        var joined: [UInt8] = []
        swap(&joined, &pending)
        joined.append(contentsOf: bytes.copied())
        let used = try ByteView.lending(joined) { (view) throws(BinaryFault) in
            try Self.parseFrames(in: view, forEach: body)
        }
        joined.removeFirst(used)
        pending = joined
    }

    /// Returns the number of bytes that belong to complete frames.
    private static func parseFrames(
        in bytes: ByteView, forEach body: (BinaryFrame) -> Bool
    ) throws(BinaryFault) -> Int {
        var used = 0
        while used < bytes.count {
            switch try frame(bytes.dropFirst(used)) {
            case .incomplete: return used
            case .frame(let frame, let length):
                used += length
                if !body(frame) { return bytes.count }
            }
        }
        return used
    }

    private static func frame(_ bytes: ByteView) throws(BinaryFault) -> Step {
        switch bytes[0] {
        case 0: return try simple(bytes, command: 0, start: 1, identifier: nil, expiration: nil)
        case 1:
            guard bytes.count >= 9 else { return .incomplete }
            return try simple(
                bytes, command: 1, start: 9, identifier: number(bytes, at: 1), expiration: number(bytes, at: 5))
        case 2: return try items(bytes)
        default: throw BinaryFault(status: .protocolError, identifier: 0)
        }
    }

    private static func number(_ bytes: ByteView, at offset: Int) -> UInt32 {
        UInt32(bigEndian: bytes.halfWord(at: offset).littleEndian)
    }

    private static func length(_ bytes: ByteView, at offset: Int) -> Int {
        Int(bytes[offset]) << 8 | Int(bytes[offset + 1])
    }

    /// Parses commands 0 and 1: token and payload, each after its length. An invalid length is reported before its
    /// bytes arrive.
    private static func simple(
        _ bytes: ByteView, command: UInt8, start: Int, identifier: UInt32?, expiration: UInt32?
    ) throws(BinaryFault) -> Step {
        guard bytes.count >= start + 2 else { return .incomplete }
        let tokenLength = length(bytes, at: start)
        try check(token: tokenLength, identifier: identifier)
        let payloadStart = start + 2 + tokenLength
        guard bytes.count >= payloadStart + 2 else { return .incomplete }
        let payloadLength = length(bytes, at: payloadStart)
        try check(payload: payloadLength, identifier: identifier)
        let end = payloadStart + 2 + payloadLength
        guard bytes.count >= end else { return .incomplete }
        let frame = BinaryFrame(
            command: command, identifier: identifier, expiration: expiration,
            token: bytes.slice(from: start + 2, to: payloadStart), payload: bytes.slice(from: payloadStart + 2, to: end)
        )
        return .frame(frame, length: end)
    }

    private static func check(token length: Int, identifier: UInt32?) throws(BinaryFault) {
        if length == 0 { throw BinaryFault(status: .missingToken, identifier: identifier ?? 0) }
        if length > maxTokenLength { throw BinaryFault(status: .invalidTokenSize, identifier: identifier ?? 0) }
    }

    private static func check(payload length: Int, identifier: UInt32?) throws(BinaryFault) {
        if length == 0 { throw BinaryFault(status: .missingPayload, identifier: identifier ?? 0) }
        if length > maxPayloadLength { throw BinaryFault(status: .invalidPayloadSize, identifier: identifier ?? 0) }
    }

    /// Parses command 2: items in any order.
    private static func items(_ bytes: ByteView) throws(BinaryFault) -> Step {
        guard bytes.count >= 5 else { return .incomplete }
        let frameLength = Int(number(bytes, at: 1))
        guard frameLength <= maxFrameLength else { throw BinaryFault(status: .protocolError, identifier: 0) }
        guard bytes.count >= 5 + frameLength else { return .incomplete }

        let content = bytes.slice(from: 5, to: 5 + frameLength)
        var token: ByteView?
        var payload: ByteView?
        var frame = BinaryFrame(command: 2, token: content.prefix(0), payload: content.prefix(0))
        var hasPriority = false
        var isMalformed = false
        var offset = 0
        // Read the whole frame even if it is malformed, because the identifier may be at its end.
        while offset < content.count {
            guard content.count - offset >= 3 else { isMalformed = true; break }
            let size = length(content, at: offset + 1)
            guard content.count - offset - 3 >= size else { isMalformed = true; break }
            let item = content.slice(from: offset + 3, to: offset + 3 + size)
            switch content[offset] {
            case 1 where token == nil: token = item
            case 2 where payload == nil: payload = item
            case 3 where frame.identifier == nil && size == 4: frame.identifier = number(item, at: 0)
            case 4 where frame.expiration == nil && size == 4: frame.expiration = number(item, at: 0)
            case 5 where !hasPriority && size == 1:
                frame.priority = item[0]
                hasPriority = true
            default: isMalformed = true
            }
            offset += 3 + size
        }
        if isMalformed || (frame.priority != 10 && frame.priority != 5) {
            throw BinaryFault(status: .protocolError, identifier: frame.identifier ?? 0)
        }
        try check(token: token?.count ?? 0, identifier: frame.identifier)
        try check(payload: payload?.count ?? 0, identifier: frame.identifier)
        if let token { frame.token = token }
        if let payload { frame.payload = payload }
        return .frame(frame, length: 5 + frameLength)
    }
}
