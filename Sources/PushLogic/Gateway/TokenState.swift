import PushModel
import PushTime

/// Which provider token there is, and whether a newer one is awaited. Tokens count up by generation.
struct TokenState {
    let isUsed: Bool
    private(set) var current: UInt64?
    /// The newest that the provider would not have.
    private(set) var refused: UInt64?
    private(set) var awaitedUntil: MonotonicTime?
    /// Connections that ended for a token that was not believed, since a delivery was last accepted.
    var disbelievedEnds = 0

    init(isUsed: Bool) {
        self.isUsed = isUsed
    }

    /// There is one that the provider has not refused, or none is needed.
    var isReady: Bool {
        guard isUsed else { return true }
        guard let current else { return false }
        return isBelieved(current)
    }

    func isBelieved(_ generation: UInt64) -> Bool {
        guard isUsed, let refused else { return true }
        return generation > refused
    }

    mutating func arrived(_ generation: UInt64) {
        current = max(current ?? 0, generation)
        if isReady { awaitedUntil = nil }
    }

    /// True when a newer one is to be asked for.
    mutating func wasRefused(_ generation: UInt64, now: MonotonicTime, within wait: Duration) -> Bool {
        guard isUsed, generation > (refused ?? 0) else { return false }
        refused = generation
        guard !isReady else { return false }
        awaitedUntil = now + wait
        return true
    }

    /// - Parameter fault: what the provider said about the one that was refused.
    mutating func overdue(now: MonotonicTime, _ fault: ConnectionFault?) -> GatewayHalt? {
        guard let until = awaitedUntil, now >= until else { return nil }
        awaitedUntil = nil
        let said = fault?.code == .credentialRefused ? "; \(fault?.sentence ?? "")" : ""
        return GatewayHalt(
            .providerToken,
            "the provider refused the provider token, and no newer one has come; check the key, its id and the clock"
                + said,
            reason: fault?.reason)
    }
}
