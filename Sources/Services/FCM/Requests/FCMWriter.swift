import PushGateways
import PushModel
import PushTime
import PushTransport
import PushWire

/// Writes the requests to FCM and reads its answers. All requests of a session have the same fields; what differs is in
/// the body, also the address.
final class FCMWriter: RequestWriter {
    private let authority: String
    private let path: String
    private let wallClock: @Sendable () -> WallTime
    private var fields: HTTP2PreparedRequest
    /// The beginning of the body of the last message. Consecutive deliveries mostly belong to one message.
    private var body: PreparedBody?
    /// The same for the forms of the last message that has some by locale.
    private(set) var forms: [PreparedBody] = []

    /// What Google asks for after an exceeded quota, if the answer has no such field, in seconds.
    private static let afterQuota = 60

    /// - Parameter authority: The value of `:authority`: the host name, with the port if it is not 443.
    init(
        authority: String, project: ProjectID, token: ProviderToken?,
        wallClock: @escaping @Sendable () -> WallTime = { .current() }
    ) {
        self.authority = authority
        path = Self.path(of: project)
        self.wallClock = wallClock
        fields = Self.fields(authority: authority, path: path, token: token)
    }

    static func path(of project: ProjectID) -> String { "/v1/projects/\(project)/messages:send" }

    func use(_ token: ProviderToken) { fields = Self.fields(authority: authority, path: path, token: token) }

    private static func fields(authority: String, path: String, token: ProviderToken?) -> HTTP2PreparedRequest {
        var fields: [HTTP2PreparedRequest.Field] = [
            .init(":method", value: .fixed("POST")), .init(":scheme", value: .fixed("https")),
            .init(":authority", value: .fixed(authority)), .init(":path", value: .fixed(path)),
        ]
        if let token {
            fields.append(.init("authorization", value: .fixed(token.text.withRevealed { "Bearer \($0)" })))
        }
        fields += [
            .init("content-type", value: .fixed("application/json")),
            // Asks for errors with a code of FCM in their details.
            .init("x-goog-api-format-version", value: .fixed("2")),
        ]
        return HTTP2PreparedRequest(fields)
    }

    func request(for delivery: borrowing Delivery) -> WrittenRequest {
        let message = delivery.message
        // A message that expires has a time to live, which is rendered once a second.
        let now = message.expiry == .unlimited ? 0 : wallClock().seconds
        return unsafe WrittenRequest(
            fields, values: UnsafeBufferPointer(start: nil, count: 0),
            body: prepared(message, at: now).bytes(to: delivery.token))
    }

    private func prepared(_ message: Message, at now: Int64) -> PreparedBody {
        if let body, body.message === message, body.second == now { return body }
        let prepared: PreparedBody
        if let wording = message.wording, wording.values == nil {
            prepared = self.prepared(message, in: wording, at: now)
        } else {
            prepared = PreparedBody(message, at: now)
        }
        body = prepared
        return prepared
    }

    /// Returns the body of a form. Consecutive devices have different locales, so the forms of a message are kept.
    private func prepared(_ message: Message, in wording: Wording, at now: Int64) -> PreparedBody {
        if forms.first?.message.wording !== wording { forms = [] }
        let index = forms.firstIndex { $0.message === message }
        if let index, forms[index].second == now { return forms[index] }
        let prepared = PreparedBody(message, at: now)
        if let index { forms[index] = prepared } else { forms.append(prepared) }
        return prepared
    }

    func result(of response: HTTP2Response) -> AttemptResult {
        if response.status == 200 {
            return .accepted(providerID: unsafe Self.name(in: Array(response.body)))
        }
        let retryAfter = response.field("retry-after").flatMap { RetryAfter.seconds($0, now: wallClock()) }
        return .refused(
            Refusal(
                status: response.status, reason: unsafe FCMAnswer(response.body).reason,
                retryAfter: retryAfter ?? (response.status == 429 ? Self.afterQuota : nil)))
    }

    /// FCM gives no reason for the end of a connection that would mean anything to a gateway.
    func reason(ofGoAway data: [UInt8]) -> ProviderReason? { nil }

    /// Returns the last part of `projects/P/messages/ID`, which FCM's answer to an accepted message has.
    static func name(in body: [UInt8]) -> ProviderID? {
        guard body.count <= FCMAnswer.maxLength, let json = try? JSONDocument(body), json.kind(json.root) == .object,
            let name = json.value("name", in: json.root).flatMap({ json.string($0) })
        else { return nil }
        return ProviderID(lastPartOf: name)
    }
}
