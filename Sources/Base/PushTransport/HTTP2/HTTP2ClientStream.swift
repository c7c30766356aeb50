import CNGHTTP2

/// One request in progress, in memory to which nghttp2 points as the stream's user data. Streams are reused.
@safe
struct HTTP2ClientStream {
    var tag: UInt64 = 0
    var id: Int32 = 0
    var status: Int32 = 0
    /// Whether the last frame of the response has arrived.
    var isAnswered = false
    /// Whether the response exceeded the limits of this side.
    var isTruncated = false
    /// Whether the whole request, including its last byte, was passed to the connection, so that the peer may have
    /// processed it. The peer cannot have processed a request that the end of the connection truncated.
    var isSent = false
    /// Whether the request timed out or was abandoned. Its end is not reported.
    var isAbandoned = false
    var bodySent = 0
    /// The bytes of header fields that were dropped because they exceeded the limit.
    var droppedFieldBytes = 0
    /// The request, retained because nghttp2 reads its header fields until they are packed.
    var request: Unmanaged<HTTP2PreparedRequest>?
    /// The body, shared with all other requests that send it. Empty for a request without a body.
    var body: [UInt8] = []
    var message = HTTP2MessageBuffer()
    // Open streams form a doubly linked list, so that the end of a connection finds all of them. Free streams use only
    // `next`.
    var previous: UnsafeMutablePointer<HTTP2ClientStream>?
    var next: UnsafeMutablePointer<HTTP2ClientStream>?
}

/// The events that the C callbacks record. They are handled after the call into nghttp2 has returned. Each engine has
/// one, at a fixed address.
@safe
struct HTTP2ClientNotes {
    @safe
    struct Event {
        enum Kind: UInt8 {
            case settings, goAway, pingAnswered, finished
        }

        var kind: Kind
        var code: UInt32 = 0
        var payload: UInt64 = 0
        var stream: UnsafeMutablePointer<HTTP2ClientStream>?
    }

    var events: [Event] = []
    var goAways: [HTTP2GoAway] = []
    let maxFieldBytes: Int
    let maxBodyBytes: Int
    var frameCredit = HTTP2FrameCredit()
    /// The limit that the peer has exceeded, which ends the connection.
    var violation: HTTP2Error?
}

/// The frames that a peer may send. An answer has a few, and each answer gives credit for more. A peer that sends frames
/// without answers, of whatever kind, runs out of it. nghttp2 itself limits PING and SETTINGS, which need no answer.
struct HTTP2FrameCredit {
    /// Enough for an answer of some megabytes in small frames.
    static let most = 20_000
    private static let ofAnswer = 100

    private(set) var left = HTTP2FrameCredit.most

    /// Takes the credit of a frame. Returns false if there was none.
    mutating func take() -> Bool {
        left -= 1
        return left >= 0
    }

    /// A PING of this side has an answer, too.
    mutating func pinged() { left = min(left + 1, Self.most) }

    mutating func answered() { left = min(left + Self.ofAnswer, Self.most) }
}

/// The callbacks of all client sessions, created once.
@safe
enum HTTP2ClientCallbacks {
    nonisolated(unsafe) static let shared: OpaquePointer = {
        var callbacks: OpaquePointer?
        let result = unsafe nghttp2_session_callbacks_new(&callbacks)
        guard result == 0, let callbacks = unsafe callbacks else { fatalError("out of memory for HTTP/2") }
        unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, onFrameBegin)
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onData)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onClose)
        return unsafe callbacks
    }()

    private static let onFrameBegin: nghttp2_on_begin_frame_callback = { _, header, userData in
        let header = unsafe header!.pointee
        let isAck = header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
        switch nghttp2_frame_type(rawValue: UInt32(header.type)) {
        case NGHTTP2_PING where !isAck, NGHTTP2_SETTINGS where !isAck: return 0
        default:
            if unsafe notes(userData).pointee.frameCredit.take() { return 0 }
            unsafe notes(userData).pointee.violation = .idleFrames
            return CInt(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
        }
    }

    private static func stream(_ id: Int32, of session: OpaquePointer?) -> UnsafeMutablePointer<HTTP2ClientStream>? {
        unsafe nghttp2_session_get_stream_user_data(session, id)?.assumingMemoryBound(to: HTTP2ClientStream.self)
    }

    private static func notes(_ userData: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<HTTP2ClientNotes> {
        unsafe userData!.assumingMemoryBound(to: HTTP2ClientNotes.self)
    }

    private static let onHeader: nghttp2_on_header_callback = {
        session, frame, name, nameLength, value, valueLength, _, userData in
        guard let stream = unsafe stream(frame!.pointee.hd.stream_id, of: session) else { return 0 }
        if unsafe nameLength == 7 && name![0] == UInt8(ascii: ":") {
            // A final response after an interim one (1xx) starts again.
            unsafe stream.pointee.message.reset()
            unsafe stream.pointee.status = decimal(value!, count: valueLength)
            return 0
        }
        let kept = unsafe stream.pointee.message.appendField(
            name: name!, nameLength: nameLength, value: value!, valueLength: valueLength,
            limit: notes(userData).pointee.maxFieldBytes)
        if kept { return 0 }
        unsafe stream.pointee.isTruncated = true
        unsafe stream.pointee.droppedFieldBytes += nameLength + valueLength
        // A few bytes of packed fields may stand for any number of these, and each costs time.
        guard unsafe stream.pointee.droppedFieldBytes > 4 * notes(userData).pointee.maxFieldBytes else { return 0 }
        unsafe notes(userData).pointee.violation = .excessiveFields
        return CInt(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
    }

    private static let onData: nghttp2_on_data_chunk_recv_callback = { session, _, id, bytes, count, userData in
        guard let stream = unsafe stream(id, of: session) else { return 0 }
        let kept = unsafe stream.pointee.message.appendBody(
            bytes!, count: count, limit: notes(userData).pointee.maxBodyBytes)
        if !kept { unsafe stream.pointee.isTruncated = true }
        return 0
    }

    private static let onFrame: nghttp2_on_frame_recv_callback = { session, frame, userData in
        let header = unsafe frame!.pointee.hd
        switch nghttp2_frame_type(rawValue: UInt32(header.type)) {
        case NGHTTP2_HEADERS, NGHTTP2_DATA:
            guard header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 else { return 0 }
            unsafe stream(header.stream_id, of: session)?.pointee.isAnswered = true
        case NGHTTP2_SETTINGS:
            guard header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 else { return 0 }
            unsafe notes(userData).pointee.events.append(.init(kind: .settings))
        case NGHTTP2_PING:
            guard header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 else { return 0 }
            let payload = unsafe withUnsafeBytes(of: frame!.pointee.ping.opaque_data) {
                unsafe UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self))
            }
            unsafe notes(userData).pointee.events.append(.init(kind: .pingAnswered, payload: payload))
        case NGHTTP2_GOAWAY:
            let goAway = unsafe frame!.pointee.goaway
            let data = unsafe UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
            unsafe notes(userData).pointee.goAways.append(
                HTTP2GoAway(
                    lastStream: goAway.last_stream_id, code: HTTP2ErrorCode(rawValue: goAway.error_code),
                    debugData: Array(data.prefix(1024))))
            unsafe notes(userData).pointee.events.append(.init(kind: .goAway))
        default:
            break
        }
        return 0
    }

    private static let onClose: nghttp2_on_stream_close_callback = { session, id, code, userData in
        guard let stream = unsafe stream(id, of: session) else { return 0 }
        unsafe notes(userData).pointee.events.append(.init(kind: .finished, code: code, stream: stream))
        return 0
    }

    /// Reads the shared body of the request. The source is a pointer to the stream.
    static let readBody: nghttp2_data_source_read_callback = { _, _, buffer, capacity, flags, source, _ in
        let stream = unsafe source!.pointee.ptr!.assumingMemoryBound(to: HTTP2ClientStream.self)
        let sent = unsafe stream.pointee.bodySent
        let count = unsafe stream.pointee.body.withUnsafeBytes {
            unsafe copyBody($0, from: sent, into: buffer!, capacity: capacity, flags: flags!)
        }
        unsafe stream.pointee.bodySent = sent + count
        unsafe stream.pointee.isSent = sent + count == stream.pointee.body.count
        return count
    }

    private static func decimal(_ digits: UnsafePointer<UInt8>, count: Int) -> Int32 {
        var value: Int32 = 0
        for index in 0..<min(count, 3) {
            unsafe value = value * 10 + Int32(digits[index]) - 48
        }
        return value
    }
}
