package import PushModel
package import PushTime

/// Attempts with a credential that the push service has refused.
extension GatewayMachine {
    // MARK: Inputs

    /// Makes the next attempt with a refused credential at once, at an operator's request.
    package mutating func tryCredential(now: MonotonicTime) -> [Action] {
        trial?.hurry(now: now)
        return settle(now)
    }

    // MARK: Queries

    /// Returns whether the delivery of a connection is an attempt with a refused credential.
    package func isTrial(_ id: ConnectionID) -> Bool { trial?.connection == id }

    /// Returns the time until the next attempt with a refused credential. It is zero while one is made, and while the
    /// next delivery will be the attempt. Returns nil if no attempt is planned.
    package func nextTrial(now: MonotonicTime) -> Duration? {
        guard let trial, mode != .ending, hasToken else { return nil }
        let opening = max(nextOpening(now) ?? now, breaker.opensAgainAt ?? now)
        return max(trial.dueAt, opening, now) - now
    }

    /// Whether there is a provider token for the next connection, or none is needed. In a trial it may be one that was
    /// refused.
    var hasToken: Bool { trial == nil ? tokens.isReady : !tokens.isUsed || tokens.current != nil }

    func wantsTrial(_ now: MonotonicTime) -> Bool {
        guard let trial, trial.isDue(now), hasToken, !isPaused else { return false }
        return breaker.isClosed || breaker.wantsProbe
    }

    // MARK: Changes

    mutating func beginTrial(now: MonotonicTime) {
        if trial == nil { trial = CredentialTrial(now: now, random: random.unit()) }
    }

    func trialAssignment(_ now: MonotonicTime) -> [Assignment] {
        guard wantsTrial(now),
            let slot = slots.first(where: {
                $0.phase == .open && $0.epoch == epoch && $0.given == 0 && $0.limit > 0
            })
        else { return [] }
        return [Assignment(connection: slot.id, count: 1)]
    }

    /// Takes the end of the delivery of an attempt. Only an accepted delivery shows that the credential is accepted: a
    /// service may look at the device token first. Such an answer lets the next delivery try at once.
    mutating func trialEnded(_ tally: AnswerTally, at index: Int, now: MonotonicTime) {
        trial?.connection = nil
        if tally.accepted > 0 { return credentialAccepted(at: index) }
        let isAboutCredential = tally.credentialFault != nil || tally.halt != nil || tally.refusedToken != nil
        if tally.refused == 0 || isAboutCredential { trialFailed(now: now) }
    }

    mutating func trialFailed(now: MonotonicTime) {
        trial?.failed(now: now, random: random.unit())
    }

    private mutating func credentialAccepted(at index: Int) {
        trial = nil
        tokens.accepted()
        if case .halted = mode { mode = .running }
        fault = nil
        if slots[index].isQuiet {
            slots[index].isQuiet = false
            actions.append(.raise(slots[index].up))
        }
        actions.append(.raise(.credentialAccepted))
    }
}
