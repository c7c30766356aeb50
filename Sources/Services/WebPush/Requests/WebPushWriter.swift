package import PushGateways
package import PushModel
package import PushTime
package import PushTransport

/// Encrypts messages and writes the requests to one origin, and reads its answers. A message is encrypted when its
/// request is about to be sent, so that messages that expire before cost nothing.
package final class WebPushWriter: RequestWriter {
    /// Makes the writer of a connection to an origin.
    package typealias Make = @Sendable (Origin) -> WebPushWriter

    private let wallClock: @Sendable () -> WallTime
    private var shapes: WebPushShapes
    /// Those of the key before; nil without one.
    private var formerShapes: WebPushShapes?
    private let formerKeyID: VAPIDKeyID?
    private let values = WebPushValues()
    private let encryptor = MessageEncryptor()
    /// The bytes of the current address, in memory that is reused.
    private var address: [UInt8] = []
    /// Whether its subscription was made with the key before.
    private var isOfFormerKey = false

    /// - Parameter former: The tokens of the key before, which serve subscriptions that were made with it, and those of
    ///   which nobody says with which key they were made.
    package init(
        origin: Origin, tokens: VAPIDTokens, former: VAPIDTokens? = nil,
        wallClock: @escaping @Sendable () -> WallTime
    ) {
        self.wallClock = wallClock
        shapes = WebPushShapes(origin: origin, tokens: tokens)
        formerShapes = former.map { WebPushShapes(origin: origin, tokens: $0) }
        formerKeyID = former?.keyID
    }

    /// Tokens are those of an origin, and signed here.
    package func use(_ token: ProviderToken) {}

    package func request(for delivery: borrowing Delivery) -> WrittenRequest {
        let written = write(delivery)
        let former = isOfFormerKey ? formerShapes?.request(written.kind, at: written.now) : nil
        let shape = former ?? shapes.request(written.kind, at: written.now)
        return unsafe WrittenRequest(shape, values: values.all, body: written.body)
    }

    /// Returns the request in HTTP/1.1, for an origin without HTTP/2; nil if the endpoint cannot be asked in that way.
    func call(for delivery: borrowing Delivery) -> HTTP1ClientRequest? {
        let written = write(delivery)
        guard let address = HTTP1Address("\(shapes.origin)\(values.text(0))") else { return nil }
        var request = HTTP1ClientRequest(post: written.body, to: address, contentType: "application/octet-stream")
        let (seconds, topic) = (values.text(1), values.text(2))
        let former =
            isOfFormerKey
            ? formerShapes?.fields(written.kind, at: written.now, timeToLive: seconds, topic: topic) : nil
        request.fields = former ?? shapes.fields(written.kind, at: written.now, timeToLive: seconds, topic: topic)
        // The status says all that is used, and the server may be anybody's.
        request.readsBody = false
        return request
    }

    /// Encrypts a message, and sets the values of its request.
    private func write(_ delivery: borrowing Delivery) -> (kind: WebPushShapes.Kind, now: WallTime, body: [UInt8]) {
        let message = delivery.message
        let now = wallClock()
        let seconds = TimeToLive.seconds(of: message.expiry, at: now.seconds)
        address.removeAll(keepingCapacity: true)
        delivery.token.append(to: &address)
        let endpointLength = delivery.token.endpointLength ?? address.count
        let keyID = Address.vapidKeyID(in: address, endpointLength: endpointLength)
        isOfFormerKey = formerKeyID != nil && (keyID == nil || keyID == formerKeyID)
        let body = unsafe address.withUnsafeBytes { address in
            let end = endpointLength + Subscription.keysLength
            guard address.count >= end else { return [] as [UInt8] }
            let secretStart = endpointLength + Subscription.publicKeyLength
            let publicKey = unsafe UnsafeRawBufferPointer(rebasing: address[endpointLength..<secretStart])
            let secret = unsafe UnsafeRawBufferPointer(rebasing: address[secretStart..<end])
            unsafe writeTopic(of: message, secret: secret)
            let padding = Padding.length(for: message.payload.count)
            // Intake refuses keys that do not encrypt. If a damaged store has one, its push service refuses an empty
            // body, and the device is kept.
            return unsafe encryptor.encrypt(
                message.payload, padding: padding, publicKey: publicKey, secret: secret) ?? []
        }
        values.setPath(of: address, endpointLength: endpointLength)
        values.setTimeToLive(seconds)
        return (WebPushShapes.Kind(message.priority, isStored: seconds > 0), now, body)
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
        if (200..<300).contains(response.status) { return accepted(at: response.field("location")) }
        let asked = response.field("retry-after").flatMap { RetryAfter.seconds($0, now: wallClock()) }
        return .refused(
            unsafe WebPushAnswer.refusal(status: response.status, body: response.body, retryAfter: asked))
    }

    /// Returns what an answer in HTTP/1.1 says.
    func result(of response: HTTP1Response) -> AttemptResult {
        if (200..<300).contains(response.status) { return accepted(at: response.headers["location"]) }
        let asked = response.headers["retry-after"].flatMap { RetryAfter.seconds($0, now: wallClock()) }
        return unsafe .refused(
            WebPushAnswer.refusal(
                status: response.status, body: UnsafeRawBufferPointer(start: nil, count: 0), retryAfter: asked))
    }

    private func accepted(at location: String?) -> AttemptResult {
        .accepted(providerID: location.flatMap { WebPushAnswer.providerID($0) })
    }

    /// Push services give no reason for the end of a connection that would mean anything here.
    package func reason(ofGoAway data: [UInt8]) -> ProviderReason? { nil }
}
