import PushConfiguration
import PushGateways
import PushLoop
import PushModel
import PushTransport

/// One signed request to the receiver of a webhook.
struct WebhookCall: Sendable {
    /// The longest `Retry-After` that is read. What is longer counts as this.
    private static let mostAsked: Int64 = 86_400

    let loop: EventLoop
    let resolver: NameResolver

    /// Returns the status of the receiver, and the pause that it asks for.
    func send(
        _ body: [UInt8], id: String, to webhook: LoadedWebhook
    ) async throws(HTTP1ClientFault) -> (status: Int, retryAfter: Duration?) {
        let settings = webhook.settings
        let now = WallTime.current().milliseconds / 1000
        var request = HTTP1ClientRequest(post: body, to: settings.address, contentType: "application/json")
        request.fields = [
            ("Webhook-Id", id), ("Webhook-Timestamp", "\(now)"),
            ("Webhook-Signature", webhook.secrets.signature(id: id, timestamp: now, body: body)),
        ]
        request.readsBody = false
        let check = AddressCheck(exceptions: settings.privateNetworks)
        request.admits = { check.allows($0.map(\.ip)) }
        let response = try await HTTP1ClientCall.send(
            request, on: loop, resolver: resolver, tls: webhook.tls, within: settings.timeout)
        return (response.status, response.headers["Retry-After"].flatMap { Self.pause($0, at: now) })
    }

    /// Reads the value of `Retry-After`: seconds, or a date.
    static func pause(_ text: String, at now: Int64) -> Duration? {
        if !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) {
            return .seconds(min(Int64(text) ?? mostAsked, mostAsked))
        }
        return HTTP1Date.seconds(text).map { .seconds(min(max($0 - now, 0), mostAsked)) }
    }
}
