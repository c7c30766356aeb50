import PushModel
import PushTime

/// Limits the events for rejected requests of each source, so that a flood from one source does not hide the others.
struct RejectionBudgets {
    /// A client, or for requests without a client name the app that they name; the app is nil if it is not configured.
    /// So the number of sources is bounded by the clients and apps of the configuration.
    private enum Source: Hashable {
        case client(String)
        case app(AppID?)
    }

    private var budgets: [Source: RejectionBudget] = [:]

    /// Returns whether one more event is allowed, and if so how many of this source were skipped since the last one.
    mutating func take(client: String?, app: AppID?, now: MonotonicTime) -> (skipped: Int64, isAllowed: Bool) {
        budgets[client.map(Source.client) ?? .app(app), default: RejectionBudget()].take(now: now)
    }
}
