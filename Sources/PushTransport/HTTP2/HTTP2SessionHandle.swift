import CNGHTTP2

/// Owns an nghttp2 session. Never called from within nghttp2's callbacks: the library forbids it.
@safe
struct HTTP2SessionHandle: ~Copyable {
    let session: OpaquePointer
    private let memory = HTTP2Memory()

    enum Side {
        case client, server
    }

    /// The callbacks get `userData`, which must outlive the session.
    init(_ side: Side, callbacks: OpaquePointer, userData: UnsafeMutableRawPointer, settings: HTTP2Settings) {
        var option: OpaquePointer?
        unsafe nghttp2_option_new(&option)
        // Nothing here depends on streams that have ended; keeping them costs memory and time.
        unsafe nghttp2_option_set_no_closed_streams(option, 1)
        defer { unsafe nghttp2_option_del(option) }
        var session: OpaquePointer?
        let result =
            switch side {
            case .client: unsafe nghttp2_session_client_new3(&session, callbacks, userData, option, memory.functions)
            case .server: unsafe nghttp2_session_server_new3(&session, callbacks, userData, option, memory.functions)
            }
        guard result == 0, let session = unsafe session else { fatalError("out of memory for HTTP/2") }
        unsafe self.session = unsafe session
        submit(settings)
    }

    deinit {
        unsafe nghttp2_session_del(session)
    }

    /// Feeds what the peer sent; callbacks run meanwhile.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        guard bytes.count > 0, let base = bytes.baseAddress else { return }
        let taken = unsafe nghttp2_session_mem_recv(
            session, base.assumingMemoryBound(to: UInt8.self), bytes.count)
        if taken < 0 { throw HTTP2Error(nghttp2: taken) }
    }

    /// Hands frames to `write` until `limit` bytes are passed or there are no more. False: there may be more.
    func pull(upTo limit: Int, _ write: (UnsafeRawBufferPointer) -> Void) throws(HTTP2Error) -> Bool {
        var written = 0
        while written < limit {
            var frame: UnsafePointer<UInt8>?
            let length = unsafe nghttp2_session_mem_send(session, &frame)
            if length < 0 { throw HTTP2Error(nghttp2: length) }
            guard length > 0, let frame = unsafe frame else { return true }
            unsafe write(UnsafeRawBufferPointer(start: frame, count: length))
            written += length
        }
        return false
    }

    /// False once the session has ended or gave up on the peer.
    var wantsInput: Bool { unsafe nghttp2_session_want_read(session) != 0 }

    /// Neither side has anything left to say.
    var isDone: Bool {
        unsafe nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    /// The limit that the peer sets on streams of this side.
    var peerStreamLimit: Int {
        unsafe Int(nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
    }

    func submit(_ settings: HTTP2Settings) {
        var entries: [nghttp2_settings_entry] = []
        func add(_ id: nghttp2_settings_id, _ value: UInt32?) {
            if let value { entries.append(nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: value)) }
        }
        add(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, settings.headerTableSize)
        add(NGHTTP2_SETTINGS_ENABLE_PUSH, settings.enablePush.map { $0 ? 1 : 0 })
        add(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings.maxConcurrentStreams)
        add(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.initialWindowSize)
        add(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, settings.maxFrameSize)
        add(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, settings.maxHeaderListSize)
        let result = unsafe nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
        precondition(result == 0, "these HTTP/2 settings are out of range: \(settings)")
    }

    func ping(_ payload: UInt64) {
        unsafe withUnsafeBytes(of: payload.bigEndian) { bytes in
            let pointer = unsafe bytes.baseAddress!.assumingMemoryBound(to: UInt8.self)
            unsafe _ = nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), pointer)
        }
    }

    func reset(_ stream: Int32, _ code: HTTP2ErrorCode) {
        unsafe _ = nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code.rawValue)
    }

    func goAway(lastStream: Int32, _ code: HTTP2ErrorCode, debugData: [UInt8]) {
        unsafe _ = nghttp2_submit_goaway(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), lastStream, code.rawValue, debugData, debugData.count)
    }

    /// GOAWAY, then streams may finish, then `isDone`.
    func terminate(_ code: HTTP2ErrorCode) {
        unsafe _ = nghttp2_session_terminate_session(session, code.rawValue)
    }
}

/// Copies as much of a body as fits into a DATA frame, and says when it was the last of it.
func copyBody(
    _ body: UnsafeRawBufferPointer, from sent: Int, into buffer: UnsafeMutablePointer<UInt8>, capacity: Int,
    flags: UnsafeMutablePointer<UInt32>
) -> Int {
    let count = min(capacity, body.count - sent)
    if count > 0, let base = body.baseAddress {
        unsafe UnsafeMutableRawPointer(buffer).copyMemory(from: base + sent, byteCount: count)
    }
    if sent + count == body.count { unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return count
}

/// Why and how far the peer ends the connection.
package struct HTTP2GoAway: Hashable, Sendable {
    /// Streams above it were not processed.
    package let lastStream: Int32
    package let code: HTTP2ErrorCode
    /// At most 1 KiB of it; from Apple it may be JSON with a `reason`.
    package let debugData: [UInt8]
}
