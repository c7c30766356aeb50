import PushGateways
import PushLoop
import PushModel
import PushTransport
import PushWire

/// One connection of a ``ChannelClient``. It reports events to the client with its number, and is used on the client's
/// loop only.
final class ChannelLine: HTTP2ClientConnectionDelegate {
    /// An answer, copied from the memory of the connection.
    struct Answer: Sendable {
        let status: Int
        let channelID: String?
        let requestID: String?
        let retryAfter: String?
        let body: [UInt8]
        let isTruncated: Bool

        init(_ response: HTTP2Response) {
            status = response.status
            channelID = response.field("apns-channel-id")
            requestID = response.field("apns-request-id")
            retryAfter = response.field("retry-after")
            body = unsafe Array(response.body)
            isTruncated = response.isTruncated
        }
    }

    let number: UInt64
    /// The reason that the provider gave in its GOAWAY.
    private(set) var goAwayReason: String?
    private weak var client: ChannelClient?
    private var connection: HTTP2ClientConnection?

    init(_ number: UInt64, of client: ChannelClient) {
        self.number = number
        self.client = client
    }

    func connect(
        on loop: EventLoop, options: ChannelClient.Options, tls: TLSContext, resolver: NameResolver
    ) {
        connection = HTTP2ClientConnection(
            on: loop, to: options.endpoint, serverName: options.serverName, tls: tls, resolver: resolver,
            options: options.connection, delegate: self)
    }

    /// Sends a request. Returns false if there is no room; then the client tries again later.
    func submit(_ request: ChannelRequest, authority: String, token: ProviderToken?, tag: UInt64) -> Bool {
        guard let connection, connection.available > 0 else { return false }
        var fields: [HTTP2PreparedRequest.Field] = [
            .init(":method", value: .fixed(request.method)), .init(":scheme", value: .fixed("https")),
            .init(":authority", value: .fixed(authority)), .init(":path", value: .fixed(request.path), indexed: .once),
        ]
        if let token {
            fields.append(
                .init("authorization", value: .fixed(token.text.withRevealed { "bearer \($0)" }), indexed: .once))
        }
        fields += request.fields.map { .init($0.name, value: .fixed($0.value), indexed: .once) }
        return connection.submit(HTTP2PreparedRequest(fields), values: [], body: request.body, tag: tag)
    }

    /// Abandons a request, and sends a PING. The connection does not report the end of an abandoned request; the answer
    /// to the PING triggers `http2BatchEnded`, after which waiting calls use the free room.
    func abandon(_ tag: UInt64) {
        connection?.abandon(tag: tag)
        connection?.ping()
    }

    func close() {
        connection?.close()
    }

    // MARK: Events of the connection

    func http2Settings(streamLimit limit: Int) {
        client?.assumeIsolated { $0.roomChanged() }
    }

    func http2Answered(tag: UInt64, with response: HTTP2Response) {
        let answer = Answer(response)
        client?.assumeIsolated { $0.answered(tag, with: answer) }
    }

    func http2Unanswered(tag: UInt64, because failure: HTTP2StreamFailure) {
        client?.assumeIsolated { $0.unanswered(tag, because: failure) }
    }

    func http2GoAway(_ goAway: HTTP2GoAway) {
        let number = number
        goAwayReason = ProviderAnswer.reason(in: goAway.debugData)?.rawValue ?? "\(goAway.code)"
        client?.assumeIsolated { $0.goAwayReceived(on: number) }
    }

    func http2Closed(_ closure: HTTP2Closure) {
        let number = number
        connection = nil
        client?.assumeIsolated { $0.ended(number, because: closure) }
    }

    func http2BatchEnded() {
        client?.assumeIsolated { $0.roomChanged() }
    }
}
