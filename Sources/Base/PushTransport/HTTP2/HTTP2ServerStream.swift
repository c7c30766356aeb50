import CNGHTTP2

/// A request at the server and its answer, in memory to which nghttp2 points as the stream's user data.
@safe
struct HTTP2ServerStream {
    var id: Int32 = 0
    /// Whether the request is complete and was reported.
    var isComplete = false
    var isAnswered = false
    var isTruncated = false
    /// The tag that identifies the answer if it is lost.
    var tag: UInt64 = 0
    var bodyCount = 0
    var message = HTTP2MessageBuffer()
    var answer = HTTP2MessageBuffer()
    var answerSent = 0
    var previous: UnsafeMutablePointer<HTTP2ServerStream>?
    var next: UnsafeMutablePointer<HTTP2ServerStream>?
}

/// The events that the C callbacks record, and the data that they need. Each engine has one, at a fixed address.
@safe
struct HTTP2ServerNotes {
    @safe
    struct Event {
        enum Kind: UInt8 {
            case request, closed, goAway
        }

        var kind: Kind
        var code: UInt32 = 0
        var stream: UnsafeMutablePointer<HTTP2ServerStream>?
    }

    var events: [Event] = []
    var open: UnsafeMutablePointer<HTTP2ServerStream>?
    var free: UnsafeMutablePointer<HTTP2ServerStream>?
    /// The last accepted stream id. Streams above it were opened after a GOAWAY that excludes them, and are ignored.
    var lastStreamTaken = Int32.max
    let maxFieldBytes: Int
    let maxBodyBytes: Int

    mutating func take(_ id: Int32) -> UnsafeMutablePointer<HTTP2ServerStream> {
        let stream: UnsafeMutablePointer<HTTP2ServerStream>
        if let used = unsafe free {
            unsafe free = used.pointee.next
            unsafe stream = unsafe used
        } else {
            unsafe stream = .allocate(capacity: 1)
            unsafe stream.initialize(to: HTTP2ServerStream())
        }
        unsafe stream.pointee.id = id
        unsafe stream.pointee.previous = nil
        unsafe stream.pointee.next = unsafe open
        unsafe open?.pointee.previous = unsafe stream
        unsafe open = unsafe stream
        return unsafe stream
    }

    mutating func recycle(_ stream: UnsafeMutablePointer<HTTP2ServerStream>) {
        let (previous, next) = unsafe (stream.pointee.previous, stream.pointee.next)
        if let previous = unsafe previous {
            unsafe previous.pointee.next = unsafe next
        } else {
            unsafe open = unsafe next
        }
        unsafe next?.pointee.previous = unsafe previous
        unsafe stream.pointee.message.reset()
        unsafe stream.pointee.answer.reset()
        unsafe stream.pointee.isComplete = false
        unsafe stream.pointee.isAnswered = false
        unsafe stream.pointee.isTruncated = false
        unsafe stream.pointee.bodyCount = 0
        unsafe stream.pointee.answerSent = 0
        unsafe stream.pointee.next = unsafe free
        unsafe free = unsafe stream
    }

    mutating func destroyAll() {
        unsafe destroyList(unsafe open)
        unsafe destroyList(unsafe free)
        unsafe open = nil
        unsafe free = nil
    }

    private func destroyList(_ first: UnsafeMutablePointer<HTTP2ServerStream>?) {
        var next = unsafe first
        while let stream = unsafe next {
            unsafe next = stream.pointee.next
            unsafe stream.pointee.message.free()
            unsafe stream.pointee.answer.free()
            unsafe stream.deinitialize(count: 1)
            unsafe stream.deallocate()
        }
    }
}

/// The callbacks of all server sessions, created once.
@safe
enum HTTP2ServerCallbacks {
    nonisolated(unsafe) static let shared: OpaquePointer = {
        var callbacks: OpaquePointer?
        let result = unsafe nghttp2_session_callbacks_new(&callbacks)
        guard result == 0, let callbacks = unsafe callbacks else { fatalError("out of memory for HTTP/2") }
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, onBeginHeaders)
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onData)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onClose)
        return unsafe callbacks
    }()

    static func stream(_ id: Int32, of session: OpaquePointer?) -> UnsafeMutablePointer<HTTP2ServerStream>? {
        unsafe nghttp2_session_get_stream_user_data(session, id)?.assumingMemoryBound(to: HTTP2ServerStream.self)
    }

    private static func notes(_ userData: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<HTTP2ServerNotes> {
        unsafe userData!.assumingMemoryBound(to: HTTP2ServerNotes.self)
    }

    private static let onBeginHeaders: nghttp2_on_begin_headers_callback = { session, frame, userData in
        let header = unsafe frame!.pointee.hd
        guard header.type == UInt8(NGHTTP2_HEADERS.rawValue), unsafe frame!.pointee.headers.cat == NGHTTP2_HCAT_REQUEST,
            unsafe header.stream_id <= notes(userData).pointee.lastStreamTaken
        else { return 0 }
        let stream = unsafe notes(userData).pointee.take(header.stream_id)
        unsafe nghttp2_session_set_stream_user_data(session, header.stream_id, stream)
        return 0
    }

    private static let onHeader: nghttp2_on_header_callback = {
        session, frame, name, nameLength, value, valueLength, _, userData in
        guard let stream = unsafe stream(frame!.pointee.hd.stream_id, of: session) else { return 0 }
        let kept = unsafe stream.pointee.message.appendField(
            name: UnsafeRawBufferPointer(start: name, count: nameLength),
            value: UnsafeRawBufferPointer(start: value, count: valueLength),
            limit: notes(userData).pointee.maxFieldBytes)
        if !kept { unsafe stream.pointee.isTruncated = true }
        return 0
    }

    private static let onData: nghttp2_on_data_chunk_recv_callback = { session, _, id, bytes, count, userData in
        guard let stream = unsafe stream(id, of: session) else { return 0 }
        unsafe stream.pointee.bodyCount += count
        _ = unsafe stream.pointee.message.appendBody(
            UnsafeRawBufferPointer(start: bytes, count: count), limit: notes(userData).pointee.maxBodyBytes)
        return 0
    }

    private static let onFrame: nghttp2_on_frame_recv_callback = { session, frame, userData in
        let header = unsafe frame!.pointee.hd
        switch nghttp2_frame_type(rawValue: UInt32(header.type)) {
        case NGHTTP2_HEADERS, NGHTTP2_DATA:
            guard header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0,
                let stream = unsafe stream(header.stream_id, of: session)
            else { return 0 }
            unsafe stream.pointee.isComplete = true
            unsafe notes(userData).pointee.events.append(.init(kind: .request, stream: stream))
        case NGHTTP2_GOAWAY:
            unsafe notes(userData).pointee.events.append(.init(kind: .goAway))
        default:
            break
        }
        return 0
    }

    private static let onClose: nghttp2_on_stream_close_callback = { session, id, code, userData in
        guard let stream = unsafe stream(id, of: session) else { return 0 }
        unsafe notes(userData).pointee.events.append(.init(kind: .closed, code: code, stream: stream))
        return 0
    }

    static let readAnswer: nghttp2_data_source_read_callback = { _, _, buffer, capacity, flags, source, _ in
        let stream = unsafe source!.pointee.ptr!.assumingMemoryBound(to: HTTP2ServerStream.self)
        let count = unsafe copyBody(
            stream.pointee.answer.body, from: stream.pointee.answerSent, into: buffer!, capacity: capacity,
            flags: flags!)
        unsafe stream.pointee.answerSent += count
        return count
    }
}
