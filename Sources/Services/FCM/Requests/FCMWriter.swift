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
    /// The bodies of the last message, or of the forms that it has by locale. Consecutive deliveries mostly belong to one
    /// message, and consecutive devices have different locales.
    private(set) var bodies: [PreparedBody] = []
    /// The place of the body that was used last.
    private var last = 0

    /// What Google asks for after an exceeded quota, if the answer has no such field, in seconds.
    private static let afterQuota = 60

    /// - Parameter authority: The value of `:authority`: the host name, with the port if it is not 443.
    init(
        authority: String, project: ProjectID, token: ProviderToken?,
        wallClock: @escaping @Sendable () -> WallTime
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
        let now = message.expiry.expiresAt == nil ? 0 : wallClock().seconds
        let index = prepare(message, at: now)
        return unsafe WrittenRequest(
            fields, values: UnsafeBufferPointer(start: nil, count: 0), body: bodies[index].bytes(to: delivery.token))
    }

    /// Prepares the body of a message or of one of its forms, if it is not, and returns its place.
    private func prepare(_ message: Message, at now: Int64) -> Int {
        let isLast = last < bodies.count && bodies[last].message === message
        if let index = isLast ? last : bodies.firstIndex(where: { $0.message === message }) {
            if bodies[index].second != now { bodies[index] = PreparedBody(message, at: now) }
            last = index
            return index
        }
        // The turns of a message at a local time have its wording, and forms of their own.
        let isForm =
            bodies.count < Wording.maxForms
            && message.wording.map { $0.values == nil && bodies.first?.message.wording === $0 } ?? false
        if !isForm { bodies.removeAll(keepingCapacity: true) }
        bodies.append(PreparedBody(message, at: now))
        last = bodies.count - 1
        return last
    }

    func result(of response: HTTP2Response) -> AttemptResult {
        if response.status == 200 {
            return .accepted(providerID: unsafe Self.name(in: response.body))
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
    static func name(in body: UnsafeRawBufferPointer) -> ProviderID? {
        if let name = unsafe AcceptedAnswer.name(in: body) { return unsafe ProviderID(lastPartOf: name) }
        return unsafe parsedName(in: body)
    }

    /// The same for a body in any form.
    static func parsedName(in body: UnsafeRawBufferPointer) -> ProviderID? {
        guard body.count <= FCMAnswer.maxLength, let json = unsafe try? JSONDocument(Array(body)),
            json.kind(json.root) == .object, let name = json.value("name", in: json.root).flatMap({ json.string($0) })
        else { return nil }
        return ProviderID(lastPartOf: name)
    }
}
