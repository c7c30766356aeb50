import CNGHTTP2
import Glibc

/// The delegate of an HTTP/2 client. Its functions run on the loop, after nghttp2 has returned, so each of them may
/// submit requests.
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
        unsafe status = Int(stream.pointee.status)
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

/// The client side of HTTP/2, based on nghttp2. It consumes and produces bytes and uses no sockets and no clock.
/// Confined to its loop.
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

    private let handle: HTTP2SessionHandle
    private let notes: UnsafeMutablePointer<HTTP2ClientNotes>
    private let vector: UnsafeMutablePointer<nghttp2_nv>
    private let limits: Limits
    private var open: UnsafeMutablePointer<HTTP2ClientStream>?
    private var free: UnsafeMutablePointer<HTTP2ClientStream>?
    private var hasSubmitted = false
    private var isDispatching = false
    /// Whether no more requests are accepted: after our GOAWAY, after the last stream id, or after the end.
    private var isOver = false
    private var hasEnded = false
    /// Whether the delegate reported the end of the connection from within a call. It takes effect after the recorded
    /// events, which name streams that must not be freed before.
    private var endsAfterDispatch = false

    package private(set) var inFlight = 0
    /// The number of requests that may be in flight: the peer's limit, but at most `Limits.maxStreams`. It is nil
    /// until the peer's first SETTINGS arrive, and nothing may be submitted before: nghttp2 would assume 100 streams,
    /// and a server with a lower limit would refuse the rest (see nghttp2 in Documentation/Protocols.md).
    package private(set) var streamLimit: Int?
    package private(set) var goAway: HTTP2GoAway?

    package init(settings: HTTP2Settings, limits: Limits = Limits(), delegate: (any HTTP2ClientDelegate)?) {
        self.limits = limits
        self.delegate = delegate
        unsafe notes = .allocate(capacity: 1)
        unsafe notes.initialize(
            to: HTTP2ClientNotes(
                maxFieldBytes: limits.maxFieldBytes, maxBodyBytes: limits.maxBodyBytes))
        unsafe vector = .allocate(capacity: HTTP2PreparedRequest.maxFields)
        unsafe handle = HTTP2SessionHandle(
            .client, callbacks: HTTP2ClientCallbacks.shared, userData: notes, settings: settings)
    }

    deinit {
        unsafe destroyList(unsafe open)
        unsafe destroyList(unsafe free)
        unsafe notes.deinitialize(count: 1)
        unsafe notes.deallocate()
        unsafe vector.deallocate()
    }

    /// The number of requests that may be submitted now.
    package var available: Int {
        guard let streamLimit, goAway == nil, !isOver else { return 0 }
        return max(0, streamLimit - inFlight)
    }

    /// Whether both sides are finished and the connection can be closed.
    package var isDone: Bool { handle.isDone }

    /// Submits a request with values for its per-request fields, in their order. The values are copied.
    package func submit(
        _ request: HTTP2PreparedRequest, values: UnsafeBufferPointer<UnsafeRawBufferPointer>, body: [UInt8]?,
        tag: UInt64
    ) -> HTTP2Submission {
        guard available > 0 else { return goAway != nil || isOver ? .over : .full }
        precondition(values.count == request.perRequestCount, "one value for each per-request field")
        let template = unsafe hasSubmitted ? request.laterVector : request.firstVector
        unsafe vector.update(from: template, count: request.fieldCount)
        for index in 0..<values.count {
            let value = unsafe values[index]
            let position = unsafe request.perRequestPositions[index]
            unsafe vector[position].value = UnsafeMutablePointer(
                mutating: value.baseAddress?.assumingMemoryBound(to: UInt8.self))
            unsafe vector[position].valuelen = value.count
        }

        let stream = unsafe takeFreeStream()
        unsafe stream.pointee.tag = tag
        unsafe stream.pointee.request = Unmanaged.passRetained(request)
        let id: Int32
        if let body {
            unsafe stream.pointee.body = body
            var provider = unsafe nghttp2_data_provider()
            unsafe provider.source.ptr = UnsafeMutableRawPointer(stream)
            unsafe provider.read_callback = unsafe HTTP2ClientCallbacks.readBody
            unsafe id = nghttp2_submit_request(handle.session, nil, vector, request.fieldCount, &provider, stream)
        } else {
            unsafe stream.pointee.isSent = true
            unsafe id = nghttp2_submit_request(handle.session, nil, vector, request.fieldCount, nil, stream)
        }
        guard id > 0 else {
            // The stream ids are used up, or memory is. This connection accepts no more requests.
            isOver = true
            unsafe recycle(stream)
            return .over
        }
        hasSubmitted = true
        unsafe stream.pointee.id = id
        unsafe link(stream)
        inFlight += 1
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
        var next = unsafe open
        while let stream = unsafe next {
            if unsafe stream.pointee.tag == tag, unsafe !stream.pointee.isAbandoned {
                unsafe stream.pointee.isAbandoned = true
                unsafe handle.reset(stream.pointee.id, code: .cancel)
                return
            }
            unsafe next = stream.pointee.next
        }
    }

    package func ping(_ payload: UInt64) {
        unsafe notes.pointee.frameCredit.pinged()
        handle.ping(payload)
    }

    /// Sends GOAWAY. No further request is accepted; requests in flight may still be answered.
    package func terminate() {
        isOver = true
        handle.goAway(lastStream: 0, code: .noError, debugData: [])
    }

    /// Processes bytes from the peer and reports the resulting events.
    package func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        guard !hasEnded else { return }
        do throws(HTTP2Error) {
            unsafe try handle.receive(bytes)
        } catch {
            dispatch()
            throw unsafe notes.pointee.violation ?? error
        }
        dispatch()
    }

    /// Passes frames to `write` until about `limit` bytes are written. Throws if this side ends the connection because
    /// of a violation. The GOAWAY with the reason was written before and must be sent before the connection is closed.
    package func pull(upTo limit: Int, _ write: (UnsafeRawBufferPointer) -> Void) throws(HTTP2Error) {
        guard !hasEnded else { return }
        _ = unsafe try handle.pull(upTo: limit, write)
        dispatch()
        if goAway == nil, !isOver, !handle.wantsInput { throw .gaveUp }
    }

    /// Ends all open requests after the connection is lost. Requests that were never sent are reported as not
    /// processed. The delegate may call it, too: then the events that were received are reported first.
    package func connectionEnded() {
        isOver = true
        if isDispatching {
            endsAfterDispatch = true
            return
        }
        dispatch()
        hasEnded = true
        while let stream = unsafe open {
            let failure: HTTP2StreamFailure = unsafe stream.pointee.isSent ? .connectionLost : .notProcessed
            unsafe fail(stream, because: failure)
        }
    }

    // MARK: Recorded events

    private func dispatch() {
        // The delegate may submit requests, but a nested call must not report the events twice.
        guard !isDispatching, unsafe !notes.pointee.events.isEmpty else { return }
        isDispatching = true
        // Load the weak reference only once, because this costs more than the calls themselves.
        let delegate = delegate
        var index = 0
        while unsafe index < notes.pointee.events.count {
            let event = unsafe notes.pointee.events[index]
            index += 1
            switch event.kind {
            case .finished:
                if let stream = unsafe event.stream {
                    unsafe finished(stream, code: HTTP2ErrorCode(rawValue: event.code), reportingTo: delegate)
                }
            case .settings:
                let limit = min(handle.peerStreamLimit, limits.maxStreams)
                streamLimit = limit
                delegate?.http2Settings(streamLimit: limit)
            case .pingAnswered:
                pingAnswered?(event.payload)
            case .goAway:
                let received = unsafe notes.pointee.goAways.removeFirst()
                goAway = received
                delegate?.http2GoAway(received)
            }
        }
        unsafe notes.pointee.events.removeAll(keepingCapacity: true)
        isDispatching = false
        if endsAfterDispatch, !hasEnded { connectionEnded() }
    }

    private func finished(
        _ stream: UnsafeMutablePointer<HTTP2ClientStream>, code: HTTP2ErrorCode,
        reportingTo delegate: (any HTTP2ClientDelegate)?
    ) {
        if unsafe stream.pointee.isAnswered && stream.pointee.status >= 200 {
            unsafe notes.pointee.frameCredit.answered()
            unsafe unlink(stream)
            inFlight -= 1
            if unsafe !stream.pointee.isAbandoned {
                unsafe delegate?.http2Answered(tag: stream.pointee.tag, with: HTTP2Response(stream))
            }
            unsafe recycle(stream)
        } else if unsafe code == .refusedStream || !stream.pointee.isSent {
            unsafe fail(stream, because: .notProcessed)
        } else {
            unsafe fail(stream, because: .reset(code))
        }
    }

    private func fail(_ stream: UnsafeMutablePointer<HTTP2ClientStream>, because failure: HTTP2StreamFailure) {
        unsafe unlink(stream)
        inFlight -= 1
        if unsafe !stream.pointee.isAbandoned {
            unsafe delegate?.http2Unanswered(tag: stream.pointee.tag, because: failure)
        }
        unsafe recycle(stream)
    }

    // MARK: Streams

    private func takeFreeStream() -> UnsafeMutablePointer<HTTP2ClientStream> {
        if let stream = unsafe free {
            unsafe free = stream.pointee.next
            unsafe stream.pointee.next = nil
            return unsafe stream
        }
        let stream = UnsafeMutablePointer<HTTP2ClientStream>.allocate(capacity: 1)
        unsafe stream.initialize(to: HTTP2ClientStream())
        return unsafe stream
    }

    private func link(_ stream: UnsafeMutablePointer<HTTP2ClientStream>) {
        unsafe stream.pointee.next = unsafe open
        unsafe stream.pointee.previous = nil
        unsafe open?.pointee.previous = unsafe stream
        unsafe open = unsafe stream
    }

    private func unlink(_ stream: UnsafeMutablePointer<HTTP2ClientStream>) {
        let (previous, next) = unsafe (stream.pointee.previous, stream.pointee.next)
        if let previous = unsafe previous {
            unsafe previous.pointee.next = unsafe next
        } else {
            unsafe open = unsafe next
        }
        unsafe next?.pointee.previous = unsafe previous
    }

    private func recycle(_ stream: UnsafeMutablePointer<HTTP2ClientStream>) {
        unsafe stream.pointee.request?.release()
        unsafe stream.pointee.request = nil
        unsafe stream.pointee.body = []
        unsafe stream.pointee.message.reset()
        unsafe stream.pointee.status = 0
        unsafe stream.pointee.bodySent = 0
        unsafe stream.pointee.droppedFieldBytes = 0
        unsafe stream.pointee.isAnswered = false
        unsafe stream.pointee.isTruncated = false
        unsafe stream.pointee.isSent = false
        unsafe stream.pointee.isAbandoned = false
        unsafe stream.pointee.previous = nil
        unsafe stream.pointee.next = unsafe free
        unsafe free = unsafe stream
    }

    private func destroyList(_ first: UnsafeMutablePointer<HTTP2ClientStream>?) {
        var next = unsafe first
        while let stream = unsafe next {
            unsafe next = stream.pointee.next
            unsafe stream.pointee.request?.release()
            unsafe stream.pointee.message.free()
            unsafe stream.deinitialize(count: 1)
            unsafe stream.deallocate()
        }
    }
}
