/// What a client may cost the server. Memory for one connection is at most `headerBytes` + `bodyBytes` +
/// `streamBufferBytes` and about 100 KiB of buffers.
package struct HTTP1Limits: Sendable {
    /// Bytes of a request line with its header fields; also of a trailer section. Above: 431, or 414 for the line.
    package var headerBytes = 16 * 1024
    /// Header fields in a request. Above: 431.
    package var headerCount = 100
    /// Bytes of a request's body. Above: 413.
    package var bodyBytes = 1024 * 1024
    /// From the connection (or the first byte of a later request) to the end of its header fields. Then: 408.
    package var headerTime: Duration = .seconds(10)
    /// From the end of the header fields to the end of the body, however the client drips it. Then: 408.
    package var bodyTime: Duration = .seconds(30)
    /// How long a connection is kept for its next request.
    package var idleTime: Duration = .seconds(60)
    /// How long a client may take nothing of an answer before its connection is cut.
    package var stallTime: Duration = .seconds(30)
    /// How long to read on after a refusal, so that the client gets to see it before the socket is reset.
    package var lingerTime: Duration = .seconds(2)
    /// Connections served at a time. One more takes the place of the one that waits longest for a request; if all are
    /// being answered, `refusedConnections` more are told 503, and beyond those accepting pauses.
    package var connections = 1024
    package var refusedConnections = 64
    /// Requests on one connection before it is closed in an orderly way; nil is no limit.
    package var requestsPerConnection: Int?
    /// What a streamed answer may have waiting for a slow client.
    package var streamBufferBytes = 256 * 1024

    package init() {}
}
