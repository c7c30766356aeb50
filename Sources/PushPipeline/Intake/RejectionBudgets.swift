import PushModel
import PushTime

/// How many events each source of rejected requests may cause. A flood from one of them hides nothing of the others.
struct RejectionBudgets {
    /// A client; or, of clients without a name, the app that they ask for, which is nil when it is none that is known. So
    /// there are no more sources than the configuration has clients and apps.
    private enum Source: Hashable {
        case client(String)
        case app(AppID?)
    }

    private var budgets: [Source: RejectionBudget] = [:]

    /// Whether one more event may go out; then with how many of that source were left out before it.
    mutating func take(client: String?, app: AppID?, now: MonotonicTime) -> (skipped: Int64, isAllowed: Bool) {
        budgets[client.map(Source.client) ?? .app(app), default: RejectionBudget()].take(now: now)
    }
}
