/// An event that a connection reports to its gateway, in order. Every delivery that it was given has ended before
/// ``closed(_:)``.
package enum ConnectionEvent: Sendable, Equatable {
    /// TCP, TLS and the peer's first SETTINGS are complete: the connection accepts deliveries, `limit` of them at once.
    case ready(limit: Int)
    case limitChanged(Int)
    /// The peer accepts no more requests on the connection. Requests in flight may still be answered.
    case goAway(reason: String?)
    /// The connection itself accepts no more deliveries, because its stream ids run out or its credential was replaced.
    case retiring
    /// The peer answered the PING that the gateway requested.
    case alive
    /// The connection has given back the deliveries of cancelled messages that it had not sent.
    case recalled(UInt64)
    case closed(ConnectionEnd)
    /// One of the push services that the connection leads to has failed several times in a row. Nothing is sent to it for
    /// this long. In an outage not every time is reported.
    case failing(FailingOrigin, for: Duration)
}
