import CNGHTTP2

/// The delegate of an HTTP/2 server. Its functions run on the loop, after nghttp2 has returned, so each of them may
/// answer.
package protocol HTTP2ServerDelegate: AnyObject {
    /// Called with a complete request, which is borrowed and valid during the call. Answer it now or later by its
    /// stream id.
    func http2(_ engine: HTTP2ServerEngine, request: HTTP2ServerRequest)

    /// Called when the client or the end of the connection cancelled a complete request before it was answered.
    func http2(_ engine: HTTP2ServerEngine, withdrew stream: Int32, code: HTTP2ErrorCode)

    /// Called when the stream or the connection ended before the whole answer was written.
    func http2(_ engine: HTTP2ServerEngine, lostAnswerOn stream: Int32, tag: UInt64)
}

extension HTTP2ServerDelegate {
    package func http2(_ engine: HTTP2ServerEngine, lostAnswerOn stream: Int32, tag: UInt64) {}
}

/// A complete request, borrowed from the engine.
@safe
package struct HTTP2ServerRequest {
    package let stream: Int32
    private let pointer: UnsafeMutablePointer<HTTP2ServerStream>

    init(_ pointer: UnsafeMutablePointer<HTTP2ServerStream>) {
        unsafe self.pointer = unsafe pointer
        unsafe stream = pointer.pointee.id
    }

    /// The fields in order, pseudo-fields first.
    package var fields: HTTP2FieldCursor { unsafe pointer.pointee.message.fields }
    /// The body, truncated to the limit of this side.
    package var body: UnsafeRawBufferPointer { unsafe pointer.pointee.message.body }
    /// The length of the whole body.
    package var bodyCount: Int { unsafe pointer.pointee.bodyCount }
    /// Whether the fields exceeded the limit of this side, so that some are missing.
    package var hasTruncatedFields: Bool { unsafe pointer.pointee.isTruncated }
}

/// A field of an answer. The value is copied.
@safe
package struct HTTP2AnswerField {
    let name: StaticString
    let value: UnsafeRawBufferPointer
    let indexing: HTTP2Indexing

    package init(_ name: StaticString, value: UnsafeRawBufferPointer, indexed indexing: HTTP2Indexing) {
        self.name = name
        unsafe self.value = unsafe value
        self.indexing = indexing
    }
}

/// The server side of HTTP/2, based on nghttp2. It consumes and produces bytes and uses no sockets and no clock.
/// Confined to its loop.
@safe
package final class HTTP2ServerEngine {
    package struct Limits: Sendable {
        package var maxFieldBytes = 16 * 1024
        /// The maximum size of a kept body. Further bytes are counted and dropped.
        package var maxBodyBytes = 64 * 1024

        package init() {}
    }

    private static let maxAnswerFields = 16

    package weak var delegate: (any HTTP2ServerDelegate)?
    private let handle: HTTP2SessionHandle
    private let notes: UnsafeMutablePointer<HTTP2ServerNotes>
    private let vector: UnsafeMutablePointer<nghttp2_nv>
    private var hasAnswered = false
    private var isDispatching = false
    /// Whether one of the sides has sent GOAWAY.
    private var isEnding = false
    private var hasEnded = false

    /// The number of complete requests that are not answered yet.
    package private(set) var unanswered = 0
    /// The number of requests reported so far.
    package private(set) var requestCount: UInt64 = 0
    /// The highest reported stream id. A correct GOAWAY contains it.
    package private(set) var lastStream: Int32 = 0

    package init(settings: HTTP2Settings, limits: Limits = Limits(), delegate: (any HTTP2ServerDelegate)?) {
        self.delegate = delegate
        unsafe notes = .allocate(capacity: 1)
        unsafe notes.initialize(
            to: HTTP2ServerNotes(
                maxFieldBytes: limits.maxFieldBytes, maxBodyBytes: limits.maxBodyBytes))
        unsafe vector = .allocate(capacity: Self.maxAnswerFields)
        unsafe handle = HTTP2SessionHandle(
            callbacks: HTTP2ServerCallbacks.shared, userData: notes, settings: settings)
    }

    deinit {
        unsafe notes.pointee.destroyAll()
        unsafe notes.deinitialize(count: 1)
        unsafe notes.deallocate()
        unsafe vector.deallocate()
    }

    package var isDone: Bool { handle.isDone }

    /// Answers a request. Returns false if its stream has ended or was answered before. Fields and body are copied.
    /// `tag` identifies the answer if it is lost.
    @discardableResult
    package func answer(
        _ id: Int32, status: HTTP2Status, fields: UnsafeBufferPointer<HTTP2AnswerField>,
        body: UnsafeRawBufferPointer?, tag: UInt64 = 0
    ) -> Bool {
        guard !hasEnded, let stream = unsafe HTTP2ServerCallbacks.stream(id, of: handle.session),
            unsafe stream.pointee.isComplete, unsafe !stream.pointee.isAnswered
        else { return false }
        precondition(fields.count < Self.maxAnswerFields, "an answer has too many fields")
        unsafe stream.pointee.isAnswered = true
        unsafe stream.pointee.tag = tag
        unanswered -= 1
        unsafe vector[0] = status.field
        for index in 0..<fields.count {
            let field = unsafe fields[index]
            var flags = UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)
            if hasAnswered, case .once = field.indexing { flags |= UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) }
            unsafe vector[index + 1] = nghttp2_nv(
                name: UnsafeMutablePointer(mutating: field.name.utf8Start),
                value: UnsafeMutablePointer(mutating: field.value.baseAddress?.assumingMemoryBound(to: UInt8.self)),
                namelen: field.name.utf8CodeUnitCount, valuelen: field.value.count, flags: flags)
        }
        hasAnswered = true
        let count = fields.count + 1
        let result: CInt
        if let body = unsafe body, body.count > 0 {
            _ = unsafe stream.pointee.answer.appendBody(body, limit: .max)
            var provider = unsafe nghttp2_data_provider()
            unsafe provider.source.ptr = UnsafeMutableRawPointer(stream)
            unsafe provider.read_callback = unsafe HTTP2ServerCallbacks.readAnswer
            result = unsafe nghttp2_submit_response(handle.session, id, vector, count, &provider)
        } else {
            result = unsafe nghttp2_submit_response(handle.session, id, vector, count, nil)
        }
        return result == 0
    }

    /// Answers a request with fields as strings. Do not use it on the hot path.
    @discardableResult
    package func answer(_ id: Int32, status: HTTP2Status, fields: [(StaticString, String)], body: [UInt8]) -> Bool {
        let values = SharedBytes(fields.flatMap { Array($0.1.utf8) })
        var start = 0
        let all = fields.map { field in
            let count = field.1.utf8.count
            defer { start += count }
            return unsafe HTTP2AnswerField(
                field.0, value: UnsafeRawBufferPointer(rebasing: values.unsafeBytes[start..<start + count]),
                indexed: .once)
        }
        return withExtendedLifetime(values) {
            unsafe all.withUnsafeBufferPointer { fields in
                unsafe body.withUnsafeBytes { unsafe answer(id, status: status, fields: fields, body: $0) }
            }
        }
    }

    package func reset(_ stream: Int32, code: HTTP2ErrorCode) {
        handle.reset(stream, code: code)
    }

    /// Changes the announced settings of this side, for example its stream limit.
    package func update(_ settings: HTTP2Settings) {
        handle.submit(settings)
    }

    package func ping(_ payload: UInt64) {
        handle.ping(payload)
    }

    /// Sends GOAWAY. Streams above `lastStream` are ignored; open ones may still be answered.
    package func goAway(lastStream: Int32, code: HTTP2ErrorCode, debugData: [UInt8] = []) {
        isEnding = true
        unsafe notes.pointee.lastStreamTaken = lastStream
        handle.goAway(lastStream: lastStream, code: code, debugData: debugData)
    }

    package func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        guard !hasEnded else { return }
        do throws(HTTP2Error) {
            unsafe try handle.receive(bytes)
        } catch {
            dispatch()
            throw error
        }
        dispatch()
    }

    /// Passes frames to `write` until about `limit` bytes are written. Returns false if there may be more.
    @discardableResult
    package func pull(upTo limit: Int, _ write: (UnsafeRawBufferPointer) -> Void) throws(HTTP2Error) -> Bool {
        guard !hasEnded else { return true }
        let isAll = unsafe try handle.pull(upTo: limit, write)
        dispatch()
        if !isEnding, !handle.wantsInput { throw .gaveUp }
        return isAll
    }

    /// Handles the end of the connection: unanswered requests are reported as withdrawn, and unsent answers as lost.
    package func connectionEnded() {
        dispatch()
        hasEnded = true
        while let stream = unsafe notes.pointee.open {
            unsafe closed(stream, code: .cancel)
        }
    }

    private func dispatch() {
        guard !isDispatching, unsafe !notes.pointee.events.isEmpty else { return }
        isDispatching = true
        var index = 0
        while unsafe index < notes.pointee.events.count {
            let event = unsafe notes.pointee.events[index]
            index += 1
            if case .goAway = event.kind { isEnding = true }
            guard let stream = unsafe event.stream else { continue }
            switch event.kind {
            case .request:
                requestCount += 1
                unanswered += 1
                unsafe lastStream = max(lastStream, stream.pointee.id)
                unsafe delegate?.http2(self, request: HTTP2ServerRequest(stream))
            case .closed:
                unsafe closed(stream, code: HTTP2ErrorCode(rawValue: event.code))
            case .goAway:
                break
            }
        }
        unsafe notes.pointee.events.removeAll(keepingCapacity: true)
        isDispatching = false
    }

    private func closed(_ stream: UnsafeMutablePointer<HTTP2ServerStream>, code: HTTP2ErrorCode) {
        if unsafe stream.pointee.isComplete && !stream.pointee.isAnswered {
            unanswered -= 1
            unsafe delegate?.http2(self, withdrew: stream.pointee.id, code: code)
        } else if unsafe stream.pointee.isAnswered && code != .noError {
            // A stream whose answer was sent completely ends without an error.
            unsafe delegate?.http2(self, lostAnswerOn: stream.pointee.id, tag: stream.pointee.tag)
        }
        unsafe notes.pointee.recycle(stream)
    }
}
