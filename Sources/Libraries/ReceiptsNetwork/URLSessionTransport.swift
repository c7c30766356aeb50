import Foundation
public import Receipts

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The network of the receipts library with `URLSession`: the roots of the system, no redirects, no cookies, no cache.
public final class URLSessionTransport: ReceiptTransport {
    /// The reason why there is no response.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// The reason.
        public let description: String
    }

    private let session: URLSession
    private let replies: ReplyCollector

    /// Creates a transport with a session of its own. The session ends with the transport.
    public init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        configuration.httpMaximumConnectionsPerHost = 4
        configuration.timeoutIntervalForRequest = Self.forever
        configuration.timeoutIntervalForResource = Self.forever
        replies = ReplyCollector()
        session = URLSession(configuration: configuration, delegate: replies, delegateQueue: nil)
    }

    /// A time after which nobody waits. A timer of URLSession on Linux that fires during a redirect ends the process,
    /// and it counts from the last byte, while the limit of a request counts from its start.
    private static let forever: TimeInterval = 1_000_000

    deinit {
        session.invalidateAndCancel()
    }

    /// Sends a request and returns the response, whatever its status.
    public func post(_ request: ReceiptRequest) async throws -> ReceiptResponse {
        guard let url = URL(string: request.url), url.scheme == "https" || url.scheme == "http" else {
            throw Failure(description: "the address \(request.url) is not valid")
        }
        var message = URLRequest(url: url, timeoutInterval: Self.forever)
        message.httpMethod = "POST"
        message.httpBody = Data(request.body)
        message.setValue(request.contentType, forHTTPHeaderField: "Content-Type")
        let task = session.dataTask(with: message)
        let deadline = Task { [replies] in
            try await Task.sleep(for: request.timeLimit)
            replies.fail(task, with: Failure(description: "no response within \(request.timeLimit)"))
        }
        defer { deadline.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                replies.expect(task, maxLength: request.maxResponseLength, continuation)
                task.resume()
            }
        } onCancel: {
            replies.fail(task, with: Failure(description: "the request was cancelled"))
        }
    }
}
