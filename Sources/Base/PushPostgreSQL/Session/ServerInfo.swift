/// How many copies a commit must have before it counts.
package enum PostgreSQLDurability: String, Sendable {
    /// The primary and at least one synchronous standby.
    case replicated
    /// The primary alone.
    case single
}

/// The server behind a session, as its last check found it.
package struct ServerInfo: Hashable, Sendable {
    package let target: PostgreSQLTarget
    /// The number of the version, such as 150018 for 15.18.
    package let version: Int32
    /// The number that the primary and its standbys share. Another database has another.
    package let systemIdentifier: Int64
    /// The timeline. It increases with each promotion.
    package let timeline: Int64
    /// The setting `synchronous_standby_names`; empty if commits wait for no standby.
    package let synchronousStandbys: String
    /// The time of the database minus the time of this machine. It is accurate to half of `roundTrip`.
    package let clockOffset: Duration
    package let roundTrip: Duration
    package var isStandby = false
    /// Why the server must not be used, and what to change. Only a session that does not refuse such servers reports
    /// faults.
    package var faults: [String] = []
}
