private import CEvent
import Synchronization

/// A request that is being answered: libevent's request object and the state of the answer.
///
/// The connection holds the exchange until the answer is sent, and the handler holds it through its ``HTTP1Responder``.
/// The pointer is cleared as soon as libevent may free the request.
@safe
final class HTTP1Exchange {
    private enum State {
        /// Nothing was sent. Can transition to: streaming, answered, gone.
        case waiting
        /// The head was sent. Can transition to: answered, gone.
        case streaming
        /// The answer is complete, and libevent sends the rest.
        case answered
        /// The client disconnected before the answer was complete.
        case gone
    }

    private let connection: HTTP1Connection
    private let isHead: Bool
    private var request: OpaquePointer?
    private var state = State.waiting
    /// Whether a dropped responder needs no action any more. Read on any thread.
    let isSettled = Atomic(false)

    var onClose: (() -> Void)?
    var onDrain: (() -> Void)?
    private var waitsForDrain = false

    init(_ request: OpaquePointer, on connection: HTTP1Connection, isHead: Bool) {
        unsafe self.request = request
        self.connection = connection
        self.isHead = isHead
    }

    deinit {
        precondition(unsafe request == nil, "an HTTP/1.1 exchange was released before its request was answered")
    }

    var isGone: Bool {
        if case .gone = state { true } else { false }
    }

    // MARK: Answering

    func respond(status: Int, headers: HTTP1Headers, body: [UInt8]) throws(HTTP1Error) {
        try expectWaiting()
        try check(status: status, headers: headers)
        guard let request = unsafe request.take() else { return }
        unsafe add(headers, to: request)
        let hasBody = !isHead && !HTTP1Status.hasNoBody(status)
        if isHead, !HTTP1Status.hasNoBody(status) {
            // libevent sends a given body also for HEAD. So it gets no body, and the length is set here.
            unsafe add("Content-Length", value: "\(body.count)", to: request)
        }
        state = .answered
        settle()
        let buffer = unsafe evbuffer_new()
        if hasBody {
            unsafe body.withUnsafeBytes { unsafe _ = evbuffer_add(buffer, $0.baseAddress, $0.count) }
        }
        unsafe evhttp_send_reply(request, CInt(status), HTTP1Status.phrase(of: status), buffer)
        unsafe evbuffer_free(buffer)
        connection.outputWasAdded()
    }

    func refuse(_ refusal: HTTP1Refusal) {
        let text = "\(refusal.status) \(HTTP1Status.phrase(of: refusal.status)): \(refusal.sentence)\n"
        var headers: HTTP1Headers = ["Content-Type": "text/plain"]
        if refusal.status == 405 {
            // RFC 9110, section 15.5.6, requires the list of allowed methods.
            headers.add("Allow", value: HTTP1Method.allCases.map(\.rawValue).joined(separator: ", "))
        }
        // This cannot throw: the headers are our own, and nothing was answered yet.
        try? respond(status: refusal.status, headers: headers, body: Array(text.utf8))
    }

    func start(status: Int, headers: HTTP1Headers) throws(HTTP1Error) {
        try expectWaiting()
        try check(status: status, headers: headers)
        guard let request = unsafe request else { return }
        unsafe add(headers, to: request)
        state = .streaming
        unsafe evhttp_send_reply_start(request, CInt(status), HTTP1Status.phrase(of: status))
        connection.outputWasAdded()
    }

    func send(_ chunk: [UInt8]) -> HTTP1Responder.Sent {
        guard case .streaming = state, let request = unsafe request else { return .closed }
        let waiting = connection.outputCount
        let bound = connection.streamBufferBytes
        guard waiting == 0 || chunk.count <= bound - waiting else {
            waitsForDrain = true
            return .refused
        }
        let buffer = unsafe evbuffer_new()
        unsafe chunk.withUnsafeBytes { unsafe _ = evbuffer_add(buffer, $0.baseAddress, $0.count) }
        unsafe evhttp_send_reply_chunk(request, buffer)
        unsafe evbuffer_free(buffer)
        connection.outputWasAdded()
        guard connection.outputCount > bound / 2 else { return .more }
        waitsForDrain = true
        return .wait
    }

    func finish() throws(HTTP1Error) {
        switch state {
        case .waiting:
            throw HTTP1Error(.badStatus, message: "HTTP/1.1 answer finished before its start: call start first")
        case .answered: throw alreadyAnswered()
        case .gone: return
        case .streaming: break
        }
        guard let request = unsafe request.take() else { return }
        state = .answered
        settle()
        // This may free the request, and the connection with it, at once.
        unsafe evhttp_send_reply_end(request)
        connection.outputWasAdded()
    }

    /// Answers or aborts after the last responder was dropped.
    func responderWasDropped() {
        switch state {
        case .waiting:
            refuse(HTTP1Refusal(500, because: "the request was not answered"))
        case .streaming:
            // Abort instead of finishing: the client must not take a partial answer for a complete one.
            connection.abort()
        case .answered, .gone: break
        }
    }

    // MARK: Calls from the connection

    /// Called when libevent frees the connection. If the client disconnected before the answer, libevent has detached
    /// the request, and this class must free it. Otherwise libevent frees it with the connection.
    func connectionWasClosed() {
        if let request = unsafe request.take(), unsafe evhttp_request_get_connection(request) == nil {
            unsafe evhttp_request_free(request)
        }
        if case .answered = state { return }
        state = .gone
        settle()
    }

    /// Runs the handler's callbacks, outside of libevent.
    func notifyClosed() {
        onDrain = nil
        guard let notify = onClose.take(), isGone else { return }
        notify()
    }

    func outputHasDrained() {
        guard case .streaming = state, waitsForDrain, connection.outputCount <= connection.streamBufferBytes / 4 else {
            return
        }
        waitsForDrain = false
        onDrain?()
    }

    // MARK: Checks

    private func settle() {
        isSettled.store(true, ordering: .releasing)
        if case .answered = state {
            (onClose, onDrain) = (nil, nil)
        }
    }

    private func expectWaiting() throws(HTTP1Error) {
        switch state {
        case .waiting, .gone: return
        case .streaming, .answered: throw alreadyAnswered()
        }
    }

    private func alreadyAnswered() -> HTTP1Error {
        HTTP1Error(.alreadyAnswered, message: "HTTP/1.1 request answered twice: the first answer stands")
    }

    private func check(status: Int, headers: HTTP1Headers) throws(HTTP1Error) {
        guard (200...599).contains(status) else {
            throw HTTP1Error(.badStatus, message: "invalid status \(status) of an HTTP/1.1 answer: use 200 to 599")
        }
        for field in headers.fields {
            guard !field.name.isEmpty, field.name.utf8.allSatisfy(isTokenByte) else {
                throw HTTP1Error(.badHeader, message: "a header name of an HTTP/1.1 answer is not a token")
            }
            guard field.value.utf8.allSatisfy(isFieldValueByte) else {
                throw HTTP1Error(
                    .badHeader,
                    message: "the header \(field.name) of an HTTP/1.1 answer has a control character: remove it")
            }
            guard !Self.ownHeaders.contains(where: { $0.isSameToken(as: field.name) }) else {
                throw HTTP1Error(
                    .badHeader, message: "an HTTP/1.1 answer must not set \(field.name): the server sets it")
            }
        }
    }

    /// The headers that concern framing. Only this layer sets them, because a handler's values could contradict the
    /// sent data.
    private static let ownHeaders = [
        "Connection", "Content-Length", "Keep-Alive", "Proxy-Connection", "Trailer", "Transfer-Encoding", "Upgrade",
    ]

    private func add(_ headers: HTTP1Headers, to request: OpaquePointer) {
        for field in headers.fields {
            unsafe add(field.name, value: field.value, to: request)
        }
        if connection.closesAfterAnswer {
            unsafe add("Connection", value: "close", to: request)
        }
    }

    private func add(_ name: String, value: String, to request: OpaquePointer) {
        unsafe _ = evhttp_add_header(evhttp_request_get_output_headers(request), name, value)
    }
}
