package import PushTime

/// How long a message may wait for an attempt, as its producer asked.
///
/// This is the one place that judges expiry. The ledger asks whether a request has already expired. The router computes
/// the end of each message, and gives it to the gateway with each delivery (``Delivery/isExpired(at:)``).
package enum Expiry: Hashable, Sendable {
    /// The producer gave no time: the policy of the operator applies here, and that of the push service there.
    case unlimited
    /// `expires_at` 0: each delivery is attempted once, and the push service does not store the notification.
    case singleAttempt
    /// No attempt begins at or after this time.
    case at(UnixSeconds)

    /// How long messages wait that have no time of their own.
    package struct Policy: Sendable, Equatable {
        /// The maximum age of a message without `expires_at`, from the time at which it could first be sent.
        package var unlimited: Duration
        /// The maximum age of a message with `expires_at` 0.
        package var singleAttempt: Duration

        package init(unlimited: Duration, singleAttempt: Duration) {
            self.unlimited = unlimited
            self.singleAttempt = singleAttempt
        }
    }

    /// - Parameter expiresAt: The number that requests, the ledger and push services use: seconds since 1970, 0 for a
    ///   single attempt, nil for no limit.
    package init(expiresAt: Int64?) {
        switch expiresAt {
        case nil: self = .unlimited
        case 0?: self = .singleAttempt
        case let seconds?: self = .at(UnixSeconds(seconds))
        }
    }

    /// The number that requests, the ledger and push services use.
    package var expiresAt: Int64? {
        switch self {
        case .unlimited: nil
        case .singleAttempt: 0
        case .at(let time): time.value
        }
    }

    package var isSingleAttempt: Bool { self == .singleAttempt }

    /// Whether the producer's time has passed. A message without one can expire only by the operator's policy, which
    /// ``end(from:lastSentAt:under:)`` applies.
    package func isPast(at now: WallTime) -> Bool {
        if case .at(let time) = self { now >= WallTime(time) } else { false }
    }

    /// Returns the seconds for which a push service may keep a message; 0 means now or never.
    ///
    /// - Parameters:
    ///   - now: The time in seconds since 1970.
    ///   - unlimited: The seconds for a message without a time of its own.
    ///   - longest: The longest time that the push service takes.
    package func timeToLive(at now: Int64, unlimited: Int64, longest: Int64) -> Int64 {
        switch self {
        case .unlimited: return unlimited
        case .singleAttempt: return 0
        case .at(let time):
            let (left, isOutOfRange) = time.value.subtractingReportingOverflow(now)
            return isOutOfRange ? 0 : min(max(0, left), longest)
        }
    }

    /// Returns the time from which on it is too late for an attempt.
    ///
    /// - Parameters:
    ///   - begin: The time at which the message could first be sent.
    ///   - lastSentAt: The time at which devices of the message were last sent to. If a message for a single attempt
    ///     has many devices, its time begins anew with each page of them.
    package func end(from begin: WallTime, lastSentAt: WallTime, under policy: Policy) -> WallTime {
        switch self {
        case .unlimited: begin + policy.unlimited
        case .singleAttempt: max(begin, lastSentAt) + policy.singleAttempt
        case .at(let time): WallTime(time)
        }
    }
}
