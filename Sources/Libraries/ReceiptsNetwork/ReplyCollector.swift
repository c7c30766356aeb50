import Foundation
import PushThread
import Receipts

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The responses that the tasks of a session receive. A response that becomes too long ends its task.
final class ReplyCollector: NSObject, URLSessionDataDelegate, Sendable {
    private struct Reply {
        let maxLength: Int
        let continuation: CheckedContinuation<ReceiptResponse, any Error>
        var body: [UInt8] = []
    }

    /// The replies by the identifier of their task; nil for a task that was cancelled before it was expected.
    private let replies = Locked<[Int: Reply?]>([:])

    func expect(
        _ task: URLSessionTask, maxLength: Int, _ continuation: CheckedContinuation<ReceiptResponse, any Error>
    ) {
        let isCancelled = replies.withLock { replies in
            if replies.updateValue(Reply(maxLength: maxLength, continuation: continuation), forKey: task.taskIdentifier)
                == nil
            {
                return false
            }
            replies[task.taskIdentifier] = nil
            return true
        }
        if isCancelled { continuation.resume(throwing: URLSessionTransport.Failure(description: "cancelled")) }
    }

    /// Ends a task with an error. Without effect after its end.
    func fail(_ task: URLSessionTask, with error: any Error) {
        let reply = replies.withLock { replies -> Reply? in
            guard let known = replies.removeValue(forKey: task.taskIdentifier) else {
                if task.state == .suspended { replies.updateValue(nil, forKey: task.taskIdentifier) }
                return nil
            }
            return known
        }
        Self.cancel(task)
        reply?.continuation.resume(throwing: error)
    }

    private static func cancel(_ task: URLSessionTask) {
        #if canImport(FoundationNetworking)
        // On Linux, a task that ends by itself while it is being cancelled can end twice inside URLSession, which
        // traps. The first byte above the limit often comes right before the end, so that the end goes first.
        guard task.state != .suspended else { return task.cancel() }
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(50)) {
            if task.state != .completed { task.cancel() }
        }
        #else
        task.cancel()
        #endif
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLong = replies.withLock { replies in
            guard var reply = replies[dataTask.taskIdentifier] ?? nil else { return false }
            guard data.count <= reply.maxLength - reply.body.count else { return true }
            // The table must not keep a second reference to the body, which would then be copied.
            replies.updateValue(nil, forKey: dataTask.taskIdentifier)
            reply.body += data
            replies.updateValue(reply, forKey: dataTask.taskIdentifier)
            return false
        }
        if isTooLong { fail(dataTask, with: URLSessionTransport.Failure(description: "the response is too long")) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let reply = replies.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) ?? nil else { return }
        if let response = task.response as? HTTPURLResponse, error == nil {
            reply.continuation.resume(returning: ReceiptResponse(status: response.statusCode, body: reply.body))
        } else {
            let cause = error.map { $0.localizedDescription } ?? "there is no response"
            reply.continuation.resume(throwing: URLSessionTransport.Failure(description: cause))
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        #if canImport(FoundationNetworking)
        // URLSession on Linux asks for credentials when the whole answer with status 401 has arrived, and forgets the
        // task if it gets none. The answer is the response; the task is then ended.
        urlSession(session, task: task, didCompleteWithError: nil)
        DispatchQueue.global().async { completionHandler(.rejectProtectionSpace, nil) }
        #else
        completionHandler(.performDefaultHandling, nil)
        #endif
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // On Linux, a task that is being cancelled does not wait for this answer any more, and traps if it comes. Its
        // reply was removed before, and the lock keeps the two in this order.
        replies.withLock { replies in
            guard (replies[task.taskIdentifier] ?? nil) != nil else { return }
            // The redirect itself is the response.
            completionHandler(nil)
        }
    }
}
