package import PushGateways
package import PushModel
package import PushTransport

/// Writes the requests to APNs and reads its answers. See "The request" in `Documentation/Protocols.md`.
package final class APNsWriter: RequestWriter {
    private var shapes: RequestShapes
    private let values = RequestValues()

    /// - Parameters:
    ///   - authority: The value of `:authority`: the host name, with the port if it is not 443.
    ///   - topic: The bundle id; the push type adds the suffix of `apns-topic`.
    package init(authority: String, topic: String, token: ProviderToken?) {
        shapes = RequestShapes(authority: authority, topic: topic, token: token)
    }

    package func use(_ token: ProviderToken) { shapes.use(token) }

    package func request(for delivery: borrowing Delivery) -> WrittenRequest {
        let message = delivery.message
        return unsafe WrittenRequest(
            shapes.request(for: message), values: values.write(delivery), body: message.payload)
    }

    package func result(of response: HTTP2Response) -> AttemptResult {
        guard response.status == 200 else {
            return .refused(
                unsafe Refusal(status: response.status, body: response.body, retryAfter: response.field("retry-after")))
        }
        return .accepted(providerID: response.field("apns-unique-id").flatMap { ProviderAnswer.providerID($0) })
    }

    package func reason(ofGoAway data: [UInt8]) -> ProviderReason? { ProviderAnswer.reason(in: data) }
}
