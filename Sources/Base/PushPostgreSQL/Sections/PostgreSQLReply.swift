/// The outcome of a section. Each section has exactly one.
package enum PostgreSQLReply: Sendable {
    /// The server committed the section, and answered with one result for each call.
    case done([PostgreSQLResult])
    /// The server answered with an error. It committed nothing of the section.
    case refused(PostgreSQLFailure)
    /// The connection was lost, or the time was up, after bytes of the section may have been sent; or the server
    /// committed without its standby. The section may or may not have happened, and may still happen.
    case unknown(String)
    /// Nothing of the section was sent, or not its end: it certainly does not happen.
    case notSent(String)
}
