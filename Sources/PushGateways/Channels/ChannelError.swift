package import PushModel

/// Why a call about broadcast channels has no answer that could be used.
package enum ChannelError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The provider said no. `requestID` is by what its support can find the request.
    case refused(Refusal, requestID: String?)
    /// It went well, by its status, but the answer could not be understood.
    case unreadable(String)
    /// Nothing was carried out: no connection, or the provider ended it before it took the request.
    case notSent(String)
    /// It was sent, and no answer came.
    case unanswered(UnknownCause)
    case timedOut(after: Duration, wasSent: Bool)
    case cancelled(wasSent: Bool)
    /// As many calls as are allowed wait for their answers.
    case busy(limit: Int)
    /// The client was closed.
    case closed

    /// Whether the provider may have done what was asked.
    package var mayHaveBeenCarriedOut: Bool {
        switch self {
        case .refused, .notSent, .busy, .closed: false
        case .unreadable, .unanswered: true
        case .timedOut(_, let wasSent), .cancelled(let wasSent): wasSent
        }
    }

    package var description: String {
        let unknown = "it may have been carried out: list the channels before you ask again"
        switch self {
        case .refused(let refusal, let requestID):
            let (meaning, advice) = refusal.explanation
            let reason = refusal.reason.map { " \($0)" } ?? ""
            let id = requestID.map { " (request \($0))" } ?? ""
            return "the provider answered \(refusal.status)\(reason)\(id): \(meaning); \(advice)"
        case .unreadable(let what):
            return "the provider's answer could not be used: \(what); \(unknown)"
        case .notSent(let why):
            return "nothing was sent: \(why); ask again"
        case .unanswered(.connectionLost):
            return "the connection ended before the answer came; \(unknown)"
        case .unanswered(.reset):
            return "the provider broke the request off; \(unknown)"
        case .unanswered(.timeout):
            return "no answer came in time; \(unknown)"
        case .timedOut(let time, wasSent: true):
            return "no answer within \(time); \(unknown)"
        case .timedOut(let time, wasSent: false):
            return "the provider could not be asked within \(time), nothing was sent; ask again"
        case .cancelled(wasSent: true):
            return "given up before the answer came; \(unknown)"
        case .cancelled(wasSent: false):
            return "given up before anything was sent"
        case .busy(let limit):
            return "\(limit) calls wait for their answers already; ask again when one has come"
        case .closed:
            return "the client is closed; make another"
        }
    }
}
