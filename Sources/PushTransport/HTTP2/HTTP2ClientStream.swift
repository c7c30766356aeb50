import CNGHTTP2

/// One request under way: memory that nghttp2 points to as the stream's user data. Streams are used again.
@safe
struct HTTP2ClientStream {
    var tag: UInt64 = 0
    var id: Int32 = 0
    var status: Int32 = 0
    /// The last frame of the answer has come.
    var isAnswered = false
    /// The answer was larger than this side takes.
    var isTruncated = false
    /// The whole request was handed over, its last byte included: from here on the peer may have carried it out. Cut
    /// short by the end of a connection it cannot have.
    var isSent = false
    /// Its timeout or its owner gave it up; nobody is to hear of it any more.
    var isAbandoned = false
    var bodySent = 0
    /// Holds what the vector of the header fields points to until nghttp2 has packed it.
    var request: Unmanaged<HTTP2PreparedRequest>?
    /// Shared with everything else that sends it; empty for a request without one.
    var body: [UInt8] = []
    var message = HTTP2MessageBuffer()
    // Open streams form a list, so that the end of a connection finds them all; free ones use `next` alone.
    var previous: UnsafeMutablePointer<HTTP2ClientStream>?
    var next: UnsafeMutablePointer<HTTP2ClientStream>?
}

/// What C's callbacks write down, to be acted on after the call into nghttp2 has returned. One an engine, at a fixed
/// place in memory.
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
    let maximumFieldBytes: Int
    let maximumBodyBytes: Int
}

/// The callbacks of all client sessions, made once.
@safe
enum HTTP2ClientCallbacks {
    nonisolated(unsafe) static let shared: OpaquePointer = {
        var callbacks: OpaquePointer?
        let result = unsafe nghttp2_session_callbacks_new(&callbacks)
        guard result == 0, let callbacks = unsafe callbacks else { fatalError("out of memory for HTTP/2") }
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onData)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onClose)
        return unsafe callbacks
    }()

    private static func stream(_ session: OpaquePointer?, _ id: Int32) -> UnsafeMutablePointer<HTTP2ClientStream>? {
        unsafe nghttp2_session_get_stream_user_data(session, id)?.assumingMemoryBound(to: HTTP2ClientStream.self)
    }

    private static func notes(_ userData: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<HTTP2ClientNotes> {
        unsafe userData!.assumingMemoryBound(to: HTTP2ClientNotes.self)
    }

    private static let onHeader: nghttp2_on_header_callback = {
        session, frame, name, nameLength, value, valueLength, _, userData in
        guard let stream = unsafe stream(session, frame!.pointee.hd.stream_id) else { return 0 }
        if unsafe nameLength == 7 && name![0] == UInt8(ascii: ":") {
            // A final answer after an interim one (1xx) begins anew.
            unsafe stream.pointee.message.reset()
            unsafe stream.pointee.status = decimal(value!, valueLength)
            return 0
        }
        let kept = unsafe stream.pointee.message.appendField(
            name: name!, nameLength: nameLength, value: value!, valueLength: valueLength,
            limit: notes(userData).pointee.maximumFieldBytes)
        if !kept { unsafe stream.pointee.isTruncated = true }
        return 0
    }

    private static let onData: nghttp2_on_data_chunk_recv_callback = { session, _, id, bytes, count, userData in
        guard let stream = unsafe stream(session, id) else { return 0 }
        let kept = unsafe stream.pointee.message.appendBody(
            bytes!, count: count, limit: notes(userData).pointee.maximumBodyBytes)
        if !kept { unsafe stream.pointee.isTruncated = true }
        return 0
    }

    private static let onFrame: nghttp2_on_frame_recv_callback = { session, frame, userData in
        let header = unsafe frame!.pointee.hd
        switch nghttp2_frame_type(rawValue: UInt32(header.type)) {
        case NGHTTP2_HEADERS, NGHTTP2_DATA:
            guard header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 else { return 0 }
            unsafe stream(session, header.stream_id)?.pointee.isAnswered = true
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
        guard let stream = unsafe stream(session, id) else { return 0 }
        unsafe notes(userData).pointee.events.append(.init(kind: .finished, code: code, stream: stream))
        return 0
    }

    /// Reads the request's shared body; a pointer to the stream is the source.
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

    private static func decimal(_ digits: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
        var value: Int32 = 0
        for index in 0..<min(count, 3) {
            unsafe value = value * 10 + Int32(digits[index]) - 48
        }
        return value
    }
}
