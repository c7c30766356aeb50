import PushTime

/// The decisions of a session: which address is tried next, when a server counts as up, and when to retry.
struct SessionMachine {
    enum Action: Equatable {
        /// Look up the addresses of all hosts.
        case resolve
        case connect(PostgreSQLTarget)
        /// Close the connection that is being tried or used.
        case disconnect
        case reportUp(ServerInfo)
        /// Report that the session is down: once per outage.
        case reportDown(String)
        /// Report one failed round over all addresses.
        case reportFailure(String)
        /// Start again after the delay for this number of failures.
        case retry(failures: Int)
    }

    private enum State {
        /// Can transition to: resolving, stopped.
        case new
        /// Can transition to: connecting, waiting, stopped.
        case resolving
        /// One address is tried, including the check of its server. Can transition to: connecting, up, waiting, stopped.
        case connecting(PostgreSQLTarget, rest: ArraySlice<PostgreSQLTarget>)
        /// Can transition to: waiting, stopped.
        case up(PostgreSQLTarget, since: MonotonicTime)
        /// Can transition to: resolving, stopped.
        case waiting
        case stopped
    }

    /// The time after which a session counts as stable. A session that is lost earlier counts as a failed attempt, so
    /// that a server that accepts and drops connections is not asked in a loop.
    static let stableTime = Duration.seconds(10)

    private var state = State.new
    private var failures = 0
    private var reasons: [String] = []
    private var isReportedDown = false
    /// The address that was lost last. It is tried last, because a server that lost its power does not answer at all,
    /// while a standby refuses at once.
    private var lost: PostgreSQLTarget?

    var isUp: Bool {
        if case .up = state { return true }
        return false
    }

    mutating func started() -> [Action] {
        guard case .new = state else { return [] }
        return resolve()
    }

    mutating func retryDue() -> [Action] {
        guard case .waiting = state else { return [] }
        return resolve()
    }

    private mutating func resolve() -> [Action] {
        state = .resolving
        reasons = []
        return [.resolve]
    }

    /// The lookup ended with addresses, and with reasons for the hosts that have none.
    mutating func resolved(_ targets: [PostgreSQLTarget], faults: [String]) -> [Action] {
        guard case .resolving = state else { return [] }
        reasons = faults
        return next((targets.filter { $0 != lost } + targets.filter { $0 == lost })[...])
    }

    /// The server of the address that is tried passed the check.
    mutating func accepted(_ info: ServerInfo, now: MonotonicTime) -> [Action] {
        guard case .connecting(let target, _) = state else { return [] }
        state = .up(target, since: now)
        lost = nil
        isReportedDown = false
        return [.reportUp(info)]
    }

    /// The connection was not opened, was lost, or its server failed the check.
    mutating func failed(_ reason: String, now: MonotonicTime) -> [Action] {
        switch state {
        case .connecting(_, let rest):
            reasons.append(reason)
            return [.disconnect] + next(rest)
        case .up(let target, let since):
            lost = target
            failures = now - since < Self.stableTime ? failures + 1 : 0
            state = .waiting
            isReportedDown = true
            return [.disconnect, .reportDown(reason), .retry(failures: failures)]
        case .new, .resolving, .waiting, .stopped:
            return []
        }
    }

    mutating func stopped() -> [Action] {
        if case .stopped = state { return [] }
        state = .stopped
        return [.disconnect]
    }

    private mutating func next(_ targets: ArraySlice<PostgreSQLTarget>) -> [Action] {
        if let target = targets.first {
            state = .connecting(target, rest: targets.dropFirst())
            return [.connect(target)]
        }
        state = .waiting
        failures += 1
        let reason = reasons.isEmpty ? "no host has an address" : reasons.joined(separator: "; ")
        defer { isReportedDown = true }
        return (isReportedDown ? [] : [.reportDown(reason)]) + [.reportFailure(reason), .retry(failures: failures)]
    }
}
