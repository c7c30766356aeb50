import Dispatch
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Transfers by URLSession.
///
/// The session keeps no cookies, no credentials and no cache, follows no redirect, and has no timeouts: the queue
/// decides about all of them.
final class SessionTransport: NSObject, Transport, URLSessionDataDelegate {
    private struct State {
        var session: URLSession?
        var transfers: [Int: Transfer] = [:]
    }

    private let state = Locked(State())

    private init(_: Void) { super.init() }

    /// Creates a transport. Its session lives until ``close()``, because a session holds its delegate.
    static func make(maxPerHost: Int) -> SessionTransport {
        let transport = SessionTransport(())
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.httpMaximumConnectionsPerHost = maxPerHost
        configuration.timeoutIntervalForRequest = forever
        configuration.timeoutIntervalForResource = forever
        #if canImport(FoundationNetworking)
        let queue: OperationQueue = InlineQueue()
        #else
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        #endif
        let session = URLSession(configuration: configuration, delegate: transport, delegateQueue: queue)
        transport.state.withLock { $0.session = session }
        return transport
    }

    /// A time after which nobody waits. URLSession on Linux can miss the end of a task whose own timer fires during a
    /// redirect.
    private static let forever: TimeInterval = 1_000_000

    /// Ends all transfers.
    func close() {
        let (session, transfers) = state.withLock { state in
            defer { state.session = nil }
            return (state.session, Array(state.transfers.values))
        }
        for transfer in transfers { transfer.cancel() }
        session?.finishTasksAndInvalidate()
    }

    func start(_ transfer: Transfer, method: HTTPMethod, fields: HeaderFields) {
        guard let session = state.withLock({ $0.session }) else {
            let error = RequestError(.cancelled, message: "the queue has ended")
            return transfer.end(QueueMachine.Failure(kind: .final, error: error))
        }
        var request = URLRequest(
            url: transfer.url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: Self.forever)
        request.httpMethod = method.rawValue
        for field in fields.all { request.addValue(field.value, forHTTPHeaderField: field.name) }
        if let stream = transfer.makeStream() {
            request.httpBodyStream = stream
            request.setValue("\(transfer.body.count)", forHTTPHeaderField: "Content-Length")
            #if canImport(FoundationNetworking)
            // libcurl sends streams in chunks, and drops Content-Length, unless this field is named. It is not sent,
            // because it has no value.
            request.setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
            #endif
        }
        let task = session.dataTask(with: request)
        state.withLock { $0.transfers[task.taskIdentifier] = transfer }
        transfer.began { Self.cancel(task) }
        task.resume()
    }

    private static func cancel(_ task: URLSessionTask) {
        #if canImport(FoundationNetworking)
        // On Linux, cancelling waits for the queue of the session, on which the delegate may be running. A task that
        // ends by itself while it is being cancelled can end twice inside URLSession, which traps. What makes the queue
        // cancel, such as the first byte above a limit, often comes right before the end, so that the end goes first.
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(50)) {
            if task.state != .completed { task.cancel() }
        }
        #else
        task.cancel()
        #endif
    }

    private func transfer(of task: URLSessionTask) -> Transfer? { state.withLock { $0.transfers[task.taskIdentifier] } }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(transfer(of: task)?.makeStream())
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        transfer(of: task)?.sent(totalBytesSent)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let transfer = transfer(of: dataTask), let head = ResponseHead(response, url: transfer.url) {
            transfer.received(head)
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        transfer(of: dataTask)?.received(data)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // On Linux, a task that is being cancelled does not wait for this answer any more, and traps if it comes. Its
        // cancellation is reported without it.
        #if canImport(FoundationNetworking)
        guard task.state != .canceling else { return }
        #endif
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        #if canImport(FoundationNetworking)
        // URLSession on Linux asks for credentials when the whole answer with status 401 has arrived, and forgets the
        // task if it gets none. The answer is the response; the task is then ended.
        transfer(of: task)?.end(nil)
        DispatchQueue.global().async { completionHandler(.rejectProtectionSpace, nil) }
        #else
        completionHandler(.performDefaultHandling, nil)
        #endif
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let transfer = state.withLock({ $0.transfers.removeValue(forKey: task.taskIdentifier) }) else { return }
        if error == nil, let head = ResponseHead(task.response, url: transfer.url) {
            // A redirect without a location is not reported before.
            transfer.received(head)
        }
        transfer.end(error.map { Self.failure($0, url: transfer.url) })
    }

    private static func failure(_ error: any Error, url: URL) -> QueueMachine.Failure {
        let reason = error.localizedDescription
        let code = (error as? URLError)?.code ?? .unknown
        switch code {
        case .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed:
            let message = "cannot connect to \(url.plain): \(reason)"
            return QueueMachine.Failure(kind: .unsent, error: RequestError(.cannotConnect, message: message))
        case _ where isUntrusted(code, reason: reason):
            let message = "the certificate of \(url.plain) is not trusted: \(reason)"
            return QueueMachine.Failure(kind: .final, error: RequestError(.untrusted, message: message))
        case .badURL:
            let message = "cannot send a request to \(url.plain): \(reason)"
            return QueueMachine.Failure(kind: .final, error: RequestError(.invalidRequest, message: message))
        default:
            let message = "the connection to \(url.plain) was lost: \(reason)"
            return QueueMachine.Failure(kind: .network, error: RequestError(.connectionLost, message: message))
        }
    }

    private static func isUntrusted(_ code: URLError.Code, reason: String) -> Bool {
        switch code {
        case .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
            .serverCertificateNotYetValid, .clientCertificateRejected, .clientCertificateRequired:
            true
        // On Linux, only the text of libcurl tells.
        case .unknown: reason.contains("certificate")
        default: false
        }
    }
}
