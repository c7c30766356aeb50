/// Why a push did not end with a receipt.
public enum PushError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Carillon, or the queue of this client, has no room. Nothing was stored. Push again after the time.
    case busy(retryAfter: Duration)
    /// The message is wrong and stays wrong.
    case refused(PushRefusal)
    /// The message was sent and not answered before the deadline. It may have been accepted. Push it again with the
    /// same id and the same content: a device receives an id at most once.
    case unknown(String)
    /// No Carillon was reached before the deadline. The message was not sent.
    case unavailable(String)
    /// The task was cancelled. If `inDoubt` is true, the message was sent before and may have been accepted.
    case cancelled(inDoubt: Bool)
    /// The client has ended. If `inDoubt` is true, the message was sent before and may have been accepted.
    case closed(inDoubt: Bool)
    /// The spool has reached its bound. Nothing was stored.
    case spoolFull
    /// The spool cannot be written. The message may have been sent.
    case spoolFailed(String)

    /// What happened, and what to do.
    public var description: String {
        switch self {
        case .busy(let time): "there is no room for the message now; push it again in \(time)"
        case .refused(let refusal): refusal.description
        case .unknown(let detail):
            "the message was sent, but not answered in time (\(detail)); push it again with the same id"
        case .unavailable(let detail): "Carillon was not reached (\(detail)); check that it runs, and the endpoints"
        case .cancelled(let inDoubt):
            inDoubt ? "the push was cancelled after it was sent; it may have been accepted" : "the push was cancelled"
        case .closed(let inDoubt):
            inDoubt
                ? "the client ended after the message was sent; push it again with the same id"
                : "the client has ended"
        case .spoolFull: "the spool is full; push again when Carillon is back, or allow more bytes"
        case .spoolFailed(let detail): "the spool cannot be written: \(detail)"
        }
    }
}
