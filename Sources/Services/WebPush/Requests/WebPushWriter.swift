package import PushGateways
package import PushModel
package import PushTime
package import PushTransport

/// Encrypts messages and writes the requests to one origin, and reads its answers. A message is encrypted when its
/// request is about to be sent, so that messages that expire before cost nothing.
package final class WebPushWriter: RequestWriter {
    private let wallClock: @Sendable () -> WallTime
    private var shapes: WebPushShapes
    private let values = WebPushValues()
    private let encryptor = MessageEncryptor()
    /// The bytes of the current address, in memory that is reused.
    private var address: [UInt8] = []

    package init(
        origin: Origin, tokens: VAPIDTokens, wallClock: @escaping @Sendable () -> WallTime = { .current() }
    ) {
        self.wallClock = wallClock
        shapes = WebPushShapes(origin: origin, tokens: tokens)
    }

    /// Tokens are those of an origin, and signed here.
    package func use(_ token: ProviderToken) {}

    package func request(for delivery: borrowing Delivery) -> WrittenRequest {
        let message = delivery.message
        let now = wallClock()
        let seconds = TimeToLive.seconds(of: message.expiry, at: now.seconds)
        address.removeAll(keepingCapacity: true)
        delivery.token.append(to: &address)
        let endpointLength = delivery.token.endpointLength ?? address.count
        let shape = shapes.request(priority: message.priority, isStored: seconds > 0, at: now)
        let body = unsafe address.withUnsafeBytes { address in
            guard address.count == endpointLength + Subscription.keysLength else { return [] as [UInt8] }
            let secretStart = endpointLength + Subscription.publicKeyLength
            let publicKey = unsafe UnsafeRawBufferPointer(rebasing: address[endpointLength..<secretStart])
            let secret = unsafe UnsafeRawBufferPointer(rebasing: address[secretStart...])
            unsafe writeTopic(of: message, secret: secret)
            let padding = Padding.length(for: message.payload.count)
            // Intake refuses keys that do not encrypt. If a damaged store has one, its push service refuses an empty
            // body, and the device is kept.
            return unsafe encryptor.encrypt(
                message.payload, padding: padding, publicKey: publicKey, secret: secret) ?? []
        }
        values.setPath(of: address, endpointLength: endpointLength)
        values.setTimeToLive(seconds)
        return unsafe WrittenRequest(shape, values: values.all, body: body)
    }

    /// Writes the topic, by which a further copy replaces one that the push service still has: that of the collapse id,
    /// or without one of the message, so that a repetition after an unknown outcome is no second message.
    ///
    /// The push service sees the topic, and so it is a digest with the secret of the subscription. It has 32 characters,
    /// of which every push service can decode the base64. The byte in front keeps a message id apart from a collapse id
    /// of the same text.
    private func writeTopic(of message: Message, secret: UnsafeRawBufferPointer) {
        let text = message.collapseID?.text ?? "\0\(message.id.text)"
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { digest in
            guard let start = digest.baseAddress else { return }
            unsafe encryptor.authenticate(Array(text.utf8), key: secret, into: start)
            unsafe values.setTopic(start)
        }
    }

    package func result(of response: HTTP2Response) -> AttemptResult {
        if (200..<300).contains(response.status) {
            return .accepted(providerID: response.field("location").flatMap { WebPushAnswer.providerID($0) })
        }
        let asked = response.field("retry-after").flatMap { RetryAfter.seconds($0, now: wallClock()) }
        return .refused(
            unsafe WebPushAnswer.refusal(status: response.status, body: response.body, retryAfter: asked))
    }

    /// Push services give no reason for the end of a connection that would mean anything here.
    package func reason(ofGoAway data: [UInt8]) -> ProviderReason? { nil }
}
