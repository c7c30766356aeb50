/// The limits of what a client may cost the server. A connection uses at most `headerBytes` + `bodyBytes` +
/// `streamBufferBytes` and about 100 KiB of buffers, and an idle one about 2 KiB.
package struct HTTP1Limits: Sendable {
    /// The maximum size of a request line with its header fields, and of a trailer section. Larger: 431, or 414 for the
    /// line.
    package var headerBytes = 16 * 1024
    /// The maximum number of header fields of a request. More: 431.
    package var headerCount = 100
    /// The maximum size of a request body, unless ``bodyLimit`` has another one for the request. Larger: 413.
    package var bodyBytes = 1024 * 1024
    /// Returns the maximum size of the body that follows a head. Called on the loop, once for each request with a body.
    package var bodyLimit: (@Sendable (HTTP1Head) -> Int)?
    /// The maximum size of all incomplete requests together. A request that exceeds it: 503; but if it has at most a
    /// 256th of it, the largest request instead.
    package var allBodiesBytes = 256 * 1024 * 1024
    /// The maximum size of all answers together that clients have not read. Above it, requests of clients that have read
    /// little are answered with 503; for one that has read, the connection with the most unread output is dropped.
    package var allOutputBytes = 256 * 1024 * 1024
    /// The time from the first byte of a request to the end of its header fields. Then: 408. TLS has the same time for its
    /// handshake.
    package var headerTime: Duration = .seconds(10)
    /// The time from the end of the header fields to the end of the body. Each `bodyRate` bytes of the body extend it by
    /// a second. Then: 408.
    package var bodyTime: Duration = .seconds(30)
    /// The number of bytes a second below which a large body is too slow.
    package var bodyRate = 64 * 1024
    /// The time that an idle connection stays open for its first or next request.
    package var idleTime: Duration = .seconds(60)
    /// The time without progress of a client that reads an answer, after which its connection is aborted.
    package var stallTime: Duration = .seconds(30)
    /// The time to keep reading after a refusal, so that the client can read it before the socket is reset.
    package var lingerTime: Duration = .seconds(2)
    /// The maximum number of served connections. A further one replaces the connection that has waited longest for a
    /// request. If all are being answered, up to `refusedConnections` more are answered with 503, and then accepting
    /// pauses.
    package var connections = 1024
    package var refusedConnections = 64
    /// The maximum number of requests of a connection before it is closed properly. Nil means no limit.
    package var requestsPerConnection: Int?
    /// The maximum amount of a streamed answer that waits for a slow client.
    package var streamBufferBytes = 256 * 1024

    package init() {}

    func bodyBytes(for head: HTTP1Head) -> Int {
        bodyLimit?(head) ?? bodyBytes
    }

    /// Returns the time that a body has, of which `count` bytes have arrived.
    func bodyTime(after count: Int) -> Duration {
        bodyTime + .seconds(count / max(bodyRate, 1))
    }
}
