import PushModel
import PushTime

/// The provider token in use, and whether a newer one is expected. Tokens are numbered by generation.
struct TokenState {
    let isUsed: Bool
    private(set) var current: UInt64?
    /// The newest token that the provider refused.
    private(set) var refused: UInt64?
    private(set) var awaitedUntil: MonotonicTime?
    /// Why there is no token, while connections with an earlier credential still send.
    private(set) var failure: GatewayHalt?
    /// The number of connections that ended because the provider rejected the token as invalid, since a delivery was
    /// last accepted.
    var rejectedConnections = 0
    /// Until when another node of the cluster reports that the push service refuses the credential.
    private var warnedUntil = MonotonicTime(nanoseconds: .min)

    init(isUsed: Bool) {
        self.isUsed = isUsed
    }

    /// Whether there is a token that the provider has not refused, or none is needed.
    var isReady: Bool {
        guard isUsed else { return true }
        guard let current else { return false }
        return isUsable(current)
    }

    func isUsable(_ generation: UInt64) -> Bool {
        guard isUsed, let refused else { return true }
        return generation > refused
    }

    mutating func arrived(_ generation: UInt64) {
        current = max(current ?? 0, generation)
        failure = nil
        if isReady { awaitedUntil = nil }
    }

    /// Records why there is no token. Returns whether that is not known yet.
    mutating func failed(_ halt: GatewayHalt) -> Bool {
        defer { failure = halt }
        return failure != halt
    }

    /// Records that the provider accepts the current token again.
    mutating func accepted() {
        refused = nil
        awaitedUntil = nil
        rejectedConnections = 0
    }

    /// Records a refused token. Returns true if a newer one is to be requested.
    mutating func wasRefused(_ generation: UInt64, now: MonotonicTime, within wait: Duration) -> Bool {
        guard isUsed, generation > (refused ?? 0) else { return false }
        refused = generation
        guard !isReady else { return false }
        awaitedUntil = isWarned(at: now) ? now : now + wait
        return true
    }

    /// Takes the report of another node that the credential is refused. It counts only together with a refusal that this
    /// node has had or will have until `time`: a newer token is then not waited for.
    mutating func warn(until time: MonotonicTime, now: MonotonicTime) {
        warnedUntil = max(warnedUntil, time)
        if awaitedUntil != nil { awaitedUntil = now }
    }

    func isWarned(at now: MonotonicTime) -> Bool { now < warnedUntil }

    /// Returns the reason to halt if the wait for a newer token has timed out.
    ///
    /// - Parameter fault: What the provider reported about the refused token.
    mutating func overdue(now: MonotonicTime, _ fault: ConnectionFault?) -> GatewayHalt? {
        guard let until = awaitedUntil, now >= until else { return nil }
        awaitedUntil = nil
        let detail = fault?.code == .credentialRefused ? "; \(fault?.sentence ?? "")" : ""
        return GatewayHalt(
            .providerToken,
            message:
                "the provider refused the provider token, and no newer one arrived; check the key, its id and the clock"
                + detail,
            reason: fault?.reason)
    }
}
