import Foundation

/// The place where the body of a response goes.
///
/// A transfer calls it in order: `begin`, `write` any number of times, `end` at the end. A thrown error ends the transfer.
protocol BodySink: AnyObject, Sendable {
    /// The bytes that the sink had before the transfer.
    var startCount: Int64 { get }
    func begin(_ head: ResponseHead) throws(SinkFailure)
    func write(_ data: Data) throws(SinkFailure)
    /// Ends the body; a second call has no effect. It is complete if no error has occurred before.
    func end(isComplete: Bool) throws(SinkFailure) -> Data
}

/// The reason why a sink does not take a body.
struct SinkFailure: Error, Sendable, Equatable {
    var kind: QueueMachine.Failure.Kind
    var error: RequestError
}

/// The body of a response in memory, up to a bound.
final class MemorySink: BodySink {
    private struct State {
        var data = Data()
        var url: URL?
    }

    private let max: Int
    private let state = Locked(State())

    init(max: Int) { self.max = max }

    var startCount: Int64 { 0 }

    func begin(_ head: ResponseHead) throws(SinkFailure) {
        state.withLock { $0.url = head.url }
        // A length that the server has announced is refused before the bytes arrive. HEAD announces one without bytes.
        if let count = head.contentLength, count > Int64(max) { throw tooLarge(head.url) }
    }

    func write(_ data: Data) throws(SinkFailure) {
        let url: URL? = state.withLock { state in
            guard data.count <= max - state.data.count else { return state.url }
            state.data.append(data)
            return nil
        }
        if let url { throw tooLarge(url) }
    }

    func end(isComplete: Bool) throws(SinkFailure) -> Data { state.withLock { $0.data } }

    private func tooLarge(_ url: URL) -> SinkFailure {
        SinkFailure(
            kind: .final,
            error: RequestError(
                .responseTooLarge,
                message:
                    "the response of \(url.plain) has more than \(max) bytes; raise maxResponseBytes, or download it"
            ))
    }
}
