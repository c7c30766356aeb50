import PushModel
import PushTime

/// The attempts to send with a credential that the push service has refused: one delivery on one connection at a time,
/// until one is accepted or the credential changes.
///
/// A service that refuses every credential for a few seconds must not stop an app until a person comes. Without a limit
/// on the attempts, a credential that is really unusable would look like an attack.
struct CredentialTrial {
    /// The delay between two attempts. The app sends again within a minute after the service accepts the credential.
    static let delay = Backoff(first: .seconds(5), maxDelay: .seconds(45))

    /// The earliest time of the next attempt.
    private(set) var dueAt: MonotonicTime
    private var failures = 1
    /// The connection that has the delivery of the attempt, while one is under way.
    var connection: ConnectionID?

    init(now: MonotonicTime, random: Double) {
        dueAt = now + Self.delay.delay(afterFailures: 1, random: random)
    }

    func isDue(_ now: MonotonicTime) -> Bool { connection == nil && now >= dueAt }

    /// Whether the next attempt is not reported if it fails. As in an outage, only an attempt whose number is a power
    /// of two is.
    var isQuiet: Bool { failures & (failures - 1) != 0 }

    /// Allows the next attempt at once, unless one is under way.
    mutating func hurry(now: MonotonicTime) {
        if connection == nil { dueAt = min(dueAt, now) }
    }

    /// Records that an attempt failed. Ends of connections that had begun before the attempt was due are no attempts.
    mutating func failed(now: MonotonicTime, random: Double) {
        guard dueAt <= now else { return }
        failures = min(failures + 1, 1 << 20)
        dueAt = now + Self.delay.delay(afterFailures: failures, random: random)
    }
}
