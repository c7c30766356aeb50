/// The retries that an origin still gets.
///
/// Without a budget, clients multiply the load of a server that fails. Ten retries are free; beyond them, ten requests
/// pay for one retry.
struct RetryBudget: Sendable, Equatable {
    private static let price = 10
    private static let full = 100

    private var credit = RetryBudget.full

    var isFull: Bool { credit == Self.full }

    mutating func requested() { credit = min(Self.full, credit + 1) }

    /// Takes one retry, and returns whether there was one.
    mutating func take() -> Bool {
        guard credit >= Self.price else { return false }
        credit -= Self.price
        return true
    }
}
