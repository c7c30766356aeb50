/// The delegate of an HTTP/2 client. Its functions run on the loop. Each of them may submit and abandon requests, and
/// end the connection.
package protocol HTTP2ClientDelegate: AnyObject {
    /// Called when the peer's SETTINGS arrive. After the first ones the connection may be used. `limit` is the number
    /// of requests that may be in flight from now on: the peer's limit, but at most that of this side.
    func http2Settings(streamLimit limit: Int)

    /// Called with a complete response. Its fields and body are valid during the call.
    func http2Answered(tag: UInt64, with response: HTTP2Response)

    /// Called when a request ends without a response.
    func http2Unanswered(tag: UInt64, because failure: HTTP2StreamFailure)

    /// Called when the peer ends the connection. Requests that it does not process are then reported as unanswered; the
    /// others may still be answered.
    func http2GoAway(_ goAway: HTTP2GoAway)
}

/// A complete response, borrowed from the engine.
@safe
package struct HTTP2Response {
    package let status: Int
    /// Whether the fields or the body exceeded the limits of this side and were truncated.
    package let isTruncated: Bool
    private let stream: UnsafeMutablePointer<HTTP2ClientStream>

    init(_ stream: UnsafeMutablePointer<HTTP2ClientStream>) {
        unsafe self.stream = unsafe stream
        unsafe status = Int(stream.pointee.answer.status)
        unsafe isTruncated = stream.pointee.isTruncated
    }

    package var fields: HTTP2FieldCursor { unsafe stream.pointee.message.fields }
    package var body: UnsafeRawBufferPointer { unsafe stream.pointee.message.body }

    /// Returns a copy of the first field with that name.
    package func field(_ name: StaticString) -> String? {
        guard let value = unsafe fields.first(name) else { return nil }
        return unsafe String(decoding: value, as: UTF8.self)
    }
}

/// The result of submitting a request.
package enum HTTP2Submission: Sendable {
    case taken
    /// The maximum number of streams is open. There is room again when one of them has ended.
    case full
    /// A GOAWAY, the last stream id, or the end of the connection prevents further requests. Use another connection.
    case over
}

/// The way an unanswered request ended. It decides whether the request may be sent again.
package enum HTTP2StreamFailure: Error, Hashable, Sendable {
    /// The peer did not process the request: GOAWAY with a lower id, REFUSED_STREAM, or the request was never sent.
    case notProcessed
    /// The request was sent and its stream was reset. The peer may have processed it.
    case reset(HTTP2ErrorCode)
    /// The request was sent and the connection ended. The peer may have processed it.
    case connectionLost
}

/// The client side of HTTP/2 (RFC 9113). It consumes and produces bytes and uses no sockets and no clock. Confined to its
/// loop.
///
/// nghttp2 decodes the header fields of answers; everything else is here, so that a request costs little more than the
/// copies of its bytes.
@safe
package final class HTTP2ClientEngine {
    package struct Limits: Sendable {
        /// The maximum sizes of a response's fields and of its body. Larger ones are truncated and marked as such.
        package var maxFieldBytes = 16 * 1024
        package var maxBodyBytes = 64 * 1024
        /// The maximum number of requests in flight, even if the peer allows more.
        package var maxStreams = 1000

        package init() {}
    }

    package weak var delegate: (any HTTP2ClientDelegate)?
    /// Called with the payload when one of our PINGs is answered.
    var pingAnswered: ((UInt64) -> Void)?

    let limits: Limits
    let decoder: HPACKDecoder
    private let parts: UnsafeMutablePointer<Parts>
    /// The id of the next stream. Client streams have odd ids up to 2^31 - 1.
    var nextStream: Int64 = 1
    /// Whether no more requests are accepted: after our GOAWAY, after the last stream id, or after the end.
    private var isOver = false
    private var hasSentGoAway = false
    private var hasEnded = false
    /// Whether the peer's frames are being processed.
    private var isBusy = false
    /// Whether the delegate reported the end of the connection from within a call. It takes effect after the frames that
    /// have arrived.
    private var endsWhenIdle = false
    /// The violation that ends the connection.
    private var failure: HTTP2Violation?
    /// The delegate while the engine reports to it. Loading a weak reference costs more than the calls themselves.
    private(set) var reporter: (any HTTP2ClientDelegate)?

    /// The number of requests that may be in flight: the peer's limit, but at most `Limits.maxStreams`. It is nil
    /// until the peer's first SETTINGS arrive, and nothing may be submitted before: a server with a low limit would
    /// refuse the rest.
    package internal(set) var streamLimit: Int?
    package internal(set) var goAway: HTTP2GoAway?

    package init(settings: HTTP2Settings, limits: Limits = Limits(), delegate: (any HTTP2ClientDelegate)?) {
        self.limits = limits
        self.delegate = delegate
        decoder = HPACKDecoder(tableSize: settings.headerTableSize)
        unsafe parts = .allocate(capacity: 1)
        unsafe parts.initialize(to: Parts(settings: settings, maxFieldBytes: limits.maxFieldBytes))
    }

    deinit {
        unsafe parts.deinitialize(count: 1)
        unsafe parts.deallocate()
    }

    // MARK: Parts

    /// What is used several times for each request. It is in memory of its own, because Swift checks each access to a
    /// property of a class at run time, which would cost a fifth of the work.
    private struct Parts: ~Copyable {
        var output: HTTP2ClientOutput
        var input: HTTP2ClientInput
        var streams = HTTP2ClientStreams()

        init(settings: HTTP2Settings, maxFieldBytes: Int) {
            output = HTTP2ClientOutput(settings: settings)
            input = HTTP2ClientInput(settings: settings, maxFieldBytes: maxFieldBytes)
        }
    }

    var output: HTTP2ClientOutput {
        _read { yield unsafe parts.pointee.output }
        _modify { yield unsafe &parts.pointee.output }
    }

    var input: HTTP2ClientInput {
        _read { yield unsafe parts.pointee.input }
        _modify { yield unsafe &parts.pointee.input }
    }

    var streams: HTTP2ClientStreams {
        _read { yield unsafe parts.pointee.streams }
        _modify { yield unsafe &parts.pointee.streams }
    }

    // MARK: Requests

    package var inFlight: Int { streams.count }

    /// The number of requests that may be submitted now.
    package var available: Int {
        guard let streamLimit, goAway == nil, !isOver else { return 0 }
        return max(0, streamLimit - inFlight)
    }

    /// Whether both sides are finished and the connection can be closed.
    package var isDone: Bool {
        let isEnding = failure != nil || ((hasSentGoAway || goAway != nil) && inFlight == 0)
        return isEnding && output.isEmpty
    }

    /// Submits a request with values for its per-request fields, in their order. The values are copied.
    package func submit(
        _ request: HTTP2PreparedRequest, values: UnsafeBufferPointer<UnsafeRawBufferPointer>, body: [UInt8]?,
        tag: UInt64
    ) -> HTTP2Submission {
        guard available > 0 else { return goAway != nil || isOver ? .over : .full }
        precondition(values.count == request.perRequestCount, "one value for each per-request field")
        guard let id = Int32(exactly: nextStream) else {
            // The stream ids are used up.
            isOver = true
            return .over
        }
        nextStream += 2
        let stream = unsafe streams.open(id)
        unsafe stream.pointee.tag = tag
        unsafe stream.pointee.isHead = request.isHead
        unsafe output.submit(request, values: values, body: body ?? [], on: stream)
        return .taken
    }

    package func submit(
        _ request: HTTP2PreparedRequest, values: [[UInt8]], body: [UInt8]?, tag: UInt64
    ) -> HTTP2Submission {
        let all = SharedBytes(values.flatMap(\.self))
        var start = 0
        let pieces = unsafe values.map { value in
            defer { start += value.count }
            return unsafe UnsafeRawBufferPointer(rebasing: all.unsafeBytes[start..<start + value.count])
        }
        return withExtendedLifetime(all) {
            unsafe pieces.withUnsafeBufferPointer { unsafe submit(request, values: $0, body: body, tag: tag) }
        }
    }

    /// Resets the request with that tag if it is still open. Its end is not reported. Costs O(requests in flight).
    package func abandon(tag: UInt64) {
        var next = unsafe streams.first
        while let stream = unsafe next {
            if unsafe stream.pointee.tag == tag {
                unsafe output.reset(stream.pointee.id, code: .cancel)
                unsafe close(stream)
                unsafe streams.recycle(stream)
                return
            }
            unsafe next = stream.pointee.next
        }
    }

    package func ping(_ payload: UInt64) {
        guard failure == nil else { return }
        input.credit.allowOne()
        // It is not counted as an answer, so it cannot be one too many.
        try? output.ping(payload, isAnswer: false)
    }

    /// Sends GOAWAY. No further request is accepted; requests in flight may still be answered.
    package func terminate() {
        isOver = true
        guard failure == nil else { return }
        hasSentGoAway = true
        output.goAway(.noError)
    }

    /// Processes bytes from the peer and reports the resulting events. After a violation it ignores them; the next pull
    /// throws. Throws at once if the peer floods this side.
    package func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        guard !hasEnded, failure == nil else { return }
        begin()
        do throws(HTTP2Violation) {
            var rest = unsafe bytes
            while let frame = try unsafe input.reader.next(&rest) { try unsafe process(frame) }
        } catch {
            failure = error
            isOver = true
            output.end(because: error)
        }
        finish()
        if let failure, failure.error.code != .protocolViolation { throw failure.error }
    }

    /// Passes frames to `write` until about `limit` bytes are written. Throws if this side ends the connection because
    /// of a violation. The GOAWAY with the reason was written before and must be sent before the connection is closed.
    package func pull(upTo limit: Int, _ write: (UnsafeRawBufferPointer) -> Void) throws(HTTP2Error) {
        guard !hasEnded else { return }
        var written = 0
        while written < limit {
            if output.isWaiting { writeWaiting() }
            guard !output.isEmpty else { break }
            unsafe written += output.take(write)
        }
        if let failure { throw failure.error }
    }

    /// Ends all open requests after the connection is lost. Requests that were never sent are reported as not
    /// processed. The delegate may call it, too: then the frames that were received are processed first.
    package func connectionEnded() {
        isOver = true
        guard !isBusy else {
            endsWhenIdle = true
            return
        }
        hasEnded = true
        reporter = delegate
        while let stream = unsafe streams.first {
            if unsafe stream.pointee.answer.isComplete {
                unsafe report(stream)
            } else {
                unsafe fail(stream, because: mayBeProcessed(stream) ? .connectionLost : .notProcessed)
            }
        }
        reporter = nil
    }

    private func begin() {
        isBusy = true
        reporter = delegate
    }

    private func finish() {
        isBusy = false
        reporter = nil
        if endsWhenIdle, !hasEnded { connectionEnded() }
    }

    private func writeWaiting() {
        begin()
        while let stream = unsafe output.writeWaiting() {
            if unsafe stream.pointee.requestEnd != nil, unsafe stream.pointee.answer.isComplete {
                unsafe report(stream)
            }
        }
        finish()
    }

    // MARK: Ends of requests

    /// Ends a request whose stream has ended.
    func end(_ stream: UnsafeMutablePointer<HTTP2ClientStream>, code: HTTP2ErrorCode) {
        if unsafe stream.pointee.answer.isComplete {
            unsafe report(stream)
        } else if unsafe code == .refusedStream || !mayBeProcessed(stream) {
            unsafe fail(stream, because: .notProcessed)
        } else {
            unsafe fail(stream, because: .reset(code))
        }
    }

    /// Whether the peer may have processed a request: it has all of it, or has begun to answer.
    private func mayBeProcessed(_ stream: UnsafeMutablePointer<HTTP2ClientStream>) -> Bool {
        unsafe output.isSent(stream) || stream.pointee.answer.hasHead
    }

    /// Ends a request with its complete answer.
    func report(_ stream: UnsafeMutablePointer<HTTP2ClientStream>) {
        input.credit.answered()
        unsafe close(stream)
        unsafe reporter?.http2Answered(tag: stream.pointee.tag, with: HTTP2Response(stream))
        unsafe streams.recycle(stream)
    }

    private func fail(_ stream: UnsafeMutablePointer<HTTP2ClientStream>, because failure: HTTP2StreamFailure) {
        unsafe close(stream)
        unsafe reporter?.http2Unanswered(tag: stream.pointee.tag, because: failure)
        unsafe streams.recycle(stream)
    }

    private func close(_ stream: UnsafeMutablePointer<HTTP2ClientStream>) {
        unsafe output.withdraw(stream)
        unsafe streams.close(stream)
    }
}
