package import PushTime

/// One turn of a message that goes out at a local time. Such a message becomes one for each moment at which clocks
/// somewhere show the time; each is scheduled for its moment, and goes to the devices whose zones have their turn then.
/// All of them have one id, so that no device gets the message twice.
package final class LocalTurn: Sendable {
    package let local: LocalTime
    /// The zone that the producer gave for devices without one; nil for that of the app.
    package let zone: String?
    /// When the clock of devices without a zone shows the time.
    package let fallback: UnixSeconds
    /// The moment of the turn before it; nil for the first one.
    package let after: UnixSeconds?
    package let isLast: Bool
    /// Whether a turn that is past when the message is accepted ends unsent.
    package let dropsLate: Bool

    package init(
        _ local: LocalTime, zone: String?, fallback: UnixSeconds, after: UnixSeconds?, isLast: Bool, dropsLate: Bool
    ) {
        (self.local, self.zone, self.fallback) = (local, zone, fallback)
        (self.after, self.isLast, self.dropsLate) = (after, isLast, dropsLate)
    }

    /// Adds what two requests with the same id must have in common. The moments are not part of it: they depend on the
    /// time zone database.
    func hash(into hash: inout SipHash) {
        hash.add(UInt64(bitPattern: local.seconds))
        hash.add(zone ?? "")
        hash.add(dropsLate ? 1 : 0)
    }
}
