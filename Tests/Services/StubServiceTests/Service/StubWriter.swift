import PushGateways
import PushModel
import PushTransport
import PushWire

/// Writes the requests to the stub and reads its answers. All requests have the same fields; what differs is in the body,
/// also the address.
final class StubWriter: RequestWriter {
    private let fields: HTTP2PreparedRequest

    init(authority: String, key: String) {
        fields = HTTP2PreparedRequest([
            .init(":method", value: .fixed("POST")), .init(":scheme", value: .fixed("https")),
            .init(":authority", value: .fixed(authority)), .init(":path", value: .fixed("/send")),
            .init("stub-key", value: .fixed(key)),
        ])
    }

    /// The stub has keys, which do not change within a session, and no tokens.
    func use(_ token: ProviderToken) {}

    func request(for delivery: borrowing Delivery) -> WrittenRequest {
        let message = delivery.message
        var body = JSONWriter()
        body.object { body in
            body.member("to", value: String(decoding: delivery.token.bytes, as: UTF8.self))
            body.member("kind", value: message.type.word)
            body.member("urgency", value: Int64(message.priority.rawValue))
            body.key(plain: "content")
            body.raw(message.payload)
        }
        return WrittenRequest(fields, values: UnsafeBufferPointer(start: nil, count: 0), body: body.bytes)
    }

    func result(of response: HTTP2Response) -> AttemptResult {
        if (200..<300).contains(response.status) {
            return .accepted(providerID: response.field("location").map { ProviderID($0) })
        }
        let reason = Self.reason(in: String(decoding: response.body, as: UTF8.self))
        return .refused(
            Refusal(
                status: response.status, reason: reason, retryAfter: response.field("retry-after").flatMap { Int($0) }))
    }

    func reason(ofGoAway data: [UInt8]) -> ProviderReason? { Self.reason(in: String(decoding: data, as: UTF8.self)) }

    /// Reads `stub-error WORD`.
    private static func reason(in text: String) -> ProviderReason? {
        let words = text.split(separator: " ")
        return words.count == 2 && words[0] == "stub-error" ? ProviderReason(rawValue: String(words[1])) : nil
    }
}
