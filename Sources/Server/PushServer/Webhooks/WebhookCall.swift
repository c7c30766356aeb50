import PushConfiguration
import PushGateways
import PushLoop
import PushModel
import PushTransport

/// One signed request to the receiver of a webhook.
struct WebhookCall: Sendable {
    let loop: EventLoop
    let resolver: NameResolver
    /// The time that is signed, by which receivers refuse old requests.
    let wallClock: @Sendable () -> WallTime

    /// Returns the status of the receiver, and the pause that it asks for.
    func send(
        _ body: [UInt8], id: String, to webhook: LoadedWebhook
    ) async throws(HTTP1ClientFault) -> (status: Int, retryAfter: Duration?) {
        let settings = webhook.settings
        let now = wallClock()
        var request = HTTP1ClientRequest(post: body, to: settings.address, contentType: "application/json")
        request.fields = [
            ("Webhook-Id", id), ("Webhook-Timestamp", "\(now.seconds)"),
            ("Webhook-Signature", webhook.secrets.signature(id: id, timestamp: now.seconds, body: body)),
        ]
        request.readsBody = false
        let check = AddressCheck(exceptions: settings.privateNetworks)
        request.admits = { check.allows($0.map(\.ip)) }
        let response = try await HTTP1ClientCall.send(
            request, on: loop, resolver: resolver, tls: webhook.tls, within: settings.timeout)
        let pause = response.headers["Retry-After"].flatMap { RetryAfter.seconds($0, now: now) }
        return (response.status, pause.map { .seconds($0) })
    }
}
