import CNGHTTP2

/// An owner of the nghttp2 session of a server. It must not be used within nghttp2's callbacks, because the library forbids it.
@safe
struct HTTP2SessionHandle: ~Copyable {
    let session: OpaquePointer
    private let memory = HTTP2Memory()

    /// Creates a session. The callbacks receive `userData`, which must outlive the session.
    init(callbacks: OpaquePointer, userData: UnsafeMutableRawPointer, settings: HTTP2Settings) {
        var option: OpaquePointer?
        unsafe nghttp2_option_new(&option)
        // Nothing depends on closed streams, and keeping them costs memory and time.
        unsafe nghttp2_option_set_no_closed_streams(option, 1)
        defer { unsafe nghttp2_option_del(option) }
        var session: OpaquePointer?
        let result = unsafe nghttp2_session_server_new3(&session, callbacks, userData, option, memory.functions)
        guard result == 0, let session = unsafe session else { fatalError("out of memory for HTTP/2") }
        unsafe self.session = unsafe session
        submit(settings)
    }

    deinit {
        unsafe nghttp2_session_del(session)
    }

    /// Processes bytes from the peer. The callbacks run during the call.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        guard bytes.count > 0, let base = bytes.baseAddress else { return }
        let taken = unsafe nghttp2_session_mem_recv(
            session, base.assumingMemoryBound(to: UInt8.self), bytes.count)
        if taken < 0 { throw HTTP2Error(nghttp2: taken) }
    }

    /// Passes frames to `write` until `limit` bytes are exceeded or none are left. Returns false if there may be more.
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

    /// Whether the session accepts input. False after its end, and after this side has ended it because of a violation.
    var wantsInput: Bool { unsafe nghttp2_session_want_read(session) != 0 }

    /// Whether neither side has anything left to send.
    var isDone: Bool {
        unsafe nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
    }

    func submit(_ settings: HTTP2Settings) {
        let entries = settings.entries.map { nghttp2_settings_entry(settings_id: Int32($0.id), value: $0.value) }
        let result = unsafe nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
        precondition(result == 0, "HTTP/2 settings out of range: \(settings)")
    }

    func ping(_ payload: UInt64) {
        unsafe withUnsafeBytes(of: payload.bigEndian) { bytes in
            let pointer = unsafe bytes.baseAddress!.assumingMemoryBound(to: UInt8.self)
            unsafe _ = nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), pointer)
        }
    }

    func reset(_ stream: Int32, code: HTTP2ErrorCode) {
        unsafe _ = nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code.rawValue)
    }

    func goAway(lastStream: Int32, code: HTTP2ErrorCode, debugData: [UInt8]) {
        unsafe _ = nghttp2_submit_goaway(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), lastStream, code.rawValue, debugData, debugData.count)
    }
}

/// Copies the part of a body that fits into a DATA frame, and sets the EOF flag with the last part.
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

/// The GOAWAY of the peer: why it ends the connection and which streams it processed.
package struct HTTP2GoAway: Hashable, Sendable {
    /// The last stream that the peer may have processed. Higher streams were not processed.
    package let lastStream: Int32
    package let code: HTTP2ErrorCode
    /// At most 1 KiB of the debug data, in which a push service may say why.
    package let debugData: [UInt8]
}
