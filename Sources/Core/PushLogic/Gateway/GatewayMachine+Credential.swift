package import PushModel
package import PushTime

/// Renewed provider tokens, changed credentials, and halts.
extension GatewayMachine {
    // MARK: Inputs

    /// Takes a provider token. New connections get it from the shell.
    package mutating func tokenArrived(_ generation: UInt64, now: MonotonicTime) -> [Action] {
        if tokens.failure != nil, mode == .running { actions.append(.raise(.credentialRotated)) }
        tokens.arrived(generation)
        for index in slots.indices
        where slots[index].isLive && slots[index].epoch == epoch && slots[index].token < generation {
            slots[index].olderToken = slots[index].token
            slots[index].token = generation
            slots[index].tokenSince = now
            if slots[index].phase != .lookingUp { actions.append(.useToken(slots[index].id)) }
        }
        guard tokens.isReady else { return settle(now) }
        if case .halted(let halt) = mode {
            guard halt.kind == .providerToken else { return settle(now) }
            mode = .running
            actions.append(.raise(.credentialRotated))
        }
        trial = nil
        return settle(now)
    }

    /// Takes the failure to get a provider token. A token that is still accepted remains in use, also that of the
    /// credential before, while it has connections.
    ///
    /// - Parameter unreached: Why the service that gives tokens was not reached, if it is that.
    package mutating func tokenFailed(
        _ message: String, unreached: ConnectionFault.Code? = nil, now: MonotonicTime
    ) -> [Action] {
        if tokens.isUsed, !tokens.isReady {
            let halt = GatewayHalt(.providerToken, message: message, unreached: unreached)
            if !hasEarlierCredential {
                stop(halt, now: now)
            } else if tokens.failed(halt) {
                actions.append(.raise(.tokenFailed(halt)))
            }
        }
        return settle(now)
    }

    private var hasEarlierCredential: Bool { slots.contains { $0.phase == .open && $0.epoch != epoch } }

    /// Halts if there is no token, and the last connection with an earlier credential is gone.
    mutating func stopWithoutToken(now: MonotonicTime) {
        guard let halt = tokens.failure, !hasEarlierCredential, mode == .running || mode.isFinishing else { return }
        stop(halt, now: now)
    }

    /// Changes the credential. A halted gateway resumes, new connections use the new credential, and each old
    /// connection drains when a new one replaces it.
    package mutating func credentialChanged(usesTokens: Bool, now: MonotonicTime) -> [Action] {
        guard mode != .ending else { return [] }
        epoch &+= 1
        tokens = TokenState(isUsed: usesTokens)
        trial = nil
        if case .halted = mode { mode = .running }
        if !breaker.isClosed {
            breaker.reset()
            actions.append(.raise(.breakerClosed))
        }
        failedConnectsInARow = 0
        fault = nil
        connectsAgainAt = MonotonicTime(nanoseconds: .min)
        load.reset()
        rotates = true
        for index in slots.indices.reversed() where slots[index].isPending { drain(at: index, now: now) }
        actions.append(.raise(.credentialRotated))
        return settle(now)
    }

    /// Returns the token of a request that was sent on the connection at that time.
    package func token(of id: ConnectionID, leftAt: MonotonicTime) -> UInt64? {
        guard tokens.isUsed, let index = index(of: id) else { return nil }
        let slot = slots[index]
        // The connection may run on another event loop and use a new token a little later.
        if let older = slot.olderToken, leftAt < slot.tokenSince + .seconds(1) { return older }
        return slot.token
    }

    // MARK: Judgement

    /// Applies a reason that came with the end of a connection instead of an answer.
    mutating func judge(
        _ disposition: Disposition, reason: ProviderReason?, on slot: PoolSlot, now: MonotonicTime
    ) {
        // The end of a connection with an older credential has no meaning for the current one.
        guard slot.epoch == epoch else { return }
        switch disposition {
        case .halt:
            stop(halt(reason, event: "ended connection \(slot.id)"), now: now)
        case .renewToken where trial != nil, .renewTokenOnce where trial != nil:
            refused(by: reason)
            trialFailed(now: now)
        case .renewToken:
            refused(by: reason)
            refuseToken(slot.token, now: now)
        case .renewTokenOnce:
            refused(by: reason)
            tokens.rejectedConnections += 1
            if tokens.rejectedConnections > 1 {
                stop(halt(reason, event: "ended two connections, the second with a fresh token"), now: now)
            } else if tokens.isWarned(at: now) {
                stop(
                    halt(reason, event: "ended a connection of this node, and connections of another one"),
                    now: now)
            } else {
                refuseToken(slot.token, now: now)
            }
        case .drop, .deactivate, .retry, .reconnect, .slowMinting:
            break
        }
    }

    /// Reports a refused credential at once. It may take a minute to find out whether a new token helps.
    mutating func refused(_ credentialFault: ConnectionFault, at index: Int) {
        slots[index].fault = credentialFault
        if fault != credentialFault { actions.append(.raise(.credentialRefused(credentialFault))) }
        fault = credentialFault
    }

    /// Records a refusal that came with the end of a connection.
    private mutating func refused(by reason: ProviderReason?) {
        let meaning = reasons.known(reason).map { ": \($0.meaning); \($0.advice)" } ?? "; \(reasons.credentialAdvice)"
        fault = ConnectionFault(
            .credentialRefused,
            sentence: "the push service ended a connection with \(reason?.rawValue ?? "no reason")\(meaning)",
            reason: reason)
    }

    mutating func refuseToken(_ generation: UInt64, now: MonotonicTime) {
        guard mode == .running || mode.isFinishing,
            tokens.wasRefused(generation, now: now, within: policy.tokenWithin)
        else { return }
        beginTrial(now: now)
        actions.append(.renewToken(refused: generation))
    }

    private func halt(_ reason: ProviderReason?, event: String) -> GatewayHalt {
        GatewayHalt(
            .refused,
            message:
                "the provider \(event)\(reason.map { ": \($0)" } ?? ""); \(reasons.credentialAdvice(for: reason))",
            reason: reason)
    }

    mutating func stop(_ halt: GatewayHalt, now: MonotonicTime) {
        switch mode {
        case .running: mode = .halted(halt)
        case .finishing: mode = .ending
        case .halted: return trialFailed(now: now)
        case .ending: return
        }
        rotates = false
        beginTrial(now: now)
        drainAll(now: now)
        actions.append(.raise(.credentialFailed(halt)))
    }

    mutating func announce(_ opened: (Duration, BreakerCause)?) {
        guard let (pause, cause) = opened else { return }
        actions.append(.raise(.breakerOpened(for: pause, cause)))
    }
}
