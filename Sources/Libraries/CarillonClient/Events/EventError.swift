/// Why a stream of events ended before its consumer did.
public enum EventError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Carillon does not keep these events any more, or lost them. The position has moved behind them: the next
    /// iteration continues there.
    case gap(from: Int64, to: Int64)
    /// The data directory of Carillon was replaced, and its numbers begin anew. The next iteration starts from the
    /// beginning.
    case logReplaced
    /// Carillon refuses the subscription: the key of this client may not observe, or a prefix is too long.
    case refused(String)
    /// The file of the cursor cannot be used.
    case cursor(String)
    /// The client has ended before the iteration began.
    case closed

    /// What happened, and what to do.
    public var description: String {
        switch self {
        case .gap(let from, let to): "the events \(from) to \(to) are not kept any more; look into events.retention"
        case .logReplaced: "the data directory of Carillon was replaced; its events begin anew"
        case .refused(let detail): "Carillon refuses the subscription: \(detail)"
        case .cursor(let detail): detail
        case .closed: "the client has ended"
        }
    }
}
