/// A request that was submitted to a queue.
public final class RunningRequest: Sendable {
    /// The number of the request in its queue.
    public let id: UInt64
    /// The progress of the transfer, for one reader. A reader that is slower than the network gets the newest state, and
    /// the stream ends with the request.
    public let progress: AsyncStream<TransferProgress>

    let box = ResultBox<Result<Response, RequestError>>()
    let continuation: AsyncStream<TransferProgress>.Continuation
    private let queue: RequestQueue

    init(id: UInt64, queue: RequestQueue) {
        self.id = id
        self.queue = queue
        (progress, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// The response. Any number of tasks may wait for it. Cancelling such a task ends its wait with
    /// ``RequestError/Code/cancelled``, and not the request.
    public var response: Response {
        get async throws(RequestError) {
            guard let result = await box.get() else {
                throw RequestError(.cancelled, message: "the wait for the response was cancelled")
            }
            return try result.get()
        }
    }

    /// Cancels the request. It has no effect after the end.
    public func cancel() {
        Task { await queue.cancel(id) }
    }
}

/// An object that is notified of the ends of requests.
///
/// A queue calls it on no particular thread, one call at a time, once for each request.
public protocol RequestObserver: Sendable {
    /// Called when a response has arrived.
    func requestReceived(_ response: Response, id: UInt64)
    /// Called when a request has failed.
    func requestFailed(_ error: RequestError, id: UInt64)
    /// Called when a request was cancelled.
    func requestCancelled(id: UInt64)
}
