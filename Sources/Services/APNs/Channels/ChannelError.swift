package import PushModel

/// Why a call about broadcast channels has no usable answer.
package enum ChannelError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The provider rejected the request. Its support can find the request by `requestID`.
    case refused(Refusal, requestID: String?)
    /// The status means success, but the answer cannot be parsed.
    case unreadable(String)
    /// The request was not processed: there was no connection, or the provider closed it before it processed the
    /// request.
    case notSent(String)
    /// The request was sent, and no answer arrived.
    case unanswered(UnknownCause)
    case timedOut(after: Duration, wasSent: Bool)
    case cancelled(wasSent: Bool)
    /// The maximum number of calls is in progress.
    case busy(limit: Int)
    /// The client was closed.
    case closed

    package var description: String {
        let unknown = "the request may have been carried out; list the channels before you retry"
        switch self {
        case .refused(let refusal, let requestID):
            let (meaning, advice) = ReasonTable.apns.explanation(of: refusal)
            let reason = refusal.reason.map { " \($0)" } ?? ""
            let id = requestID.map { " (request \($0))" } ?? ""
            return "the provider answered \(refusal.status)\(reason)\(id): \(meaning); \(advice)"
        case .unreadable(let what):
            return "cannot use the provider's answer: \(what); \(unknown)"
        case .notSent(let why):
            return "nothing was sent: \(why); try again"
        case .unanswered(.connectionLost):
            return "connection lost before the answer arrived; \(unknown)"
        case .unanswered(.reset):
            return "the provider reset the request; \(unknown)"
        case .unanswered(.serverError):
            return "the provider answered with an error of its own; \(unknown)"
        case .unanswered(.timeout):
            return "timed out waiting for the answer; \(unknown)"
        case .timedOut(let time, wasSent: true):
            return "timed out: no answer within \(time); \(unknown)"
        case .timedOut(let time, wasSent: false):
            return "timed out: not connected within \(time), nothing was sent; try again"
        case .cancelled(wasSent: true):
            return "cancelled before the answer arrived; \(unknown)"
        case .cancelled(wasSent: false):
            return "cancelled before the request was sent"
        case .busy(let limit):
            return "too many calls in progress (limit \(limit)); try again when one has ended"
        case .closed:
            return "the channel client is closed"
        }
    }
}
