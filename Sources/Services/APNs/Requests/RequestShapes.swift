import PushGateways
import PushModel
import PushTransport

/// The header blocks of one session, prepared once for each combination of fields. A delivery adds its path and id, and
/// if its message has them an expiration and a collapse id. See "The request" in `Documentation/Protocols.md`.
struct RequestShapes {
    private let authority: String
    private let topic: String
    private var authorization: String?
    private var shapes: [HTTP2PreparedRequest?]

    init(authority: String, topic: String, token: ProviderToken?) {
        self.authority = authority
        self.topic = topic
        authorization = token?.text.withRevealed { "bearer \($0)" }
        shapes = Array(repeating: nil, count: PushType.allCases.count * 12)
    }

    /// Replaces the token and discards the prepared requests, which contain the old one.
    mutating func use(_ token: ProviderToken) {
        authorization = token.text.withRevealed { "bearer \($0)" }
        for index in shapes.indices { shapes[index] = nil }
    }

    mutating func request(for message: Message) -> HTTP2PreparedRequest {
        let index = Self.index(message)
        if let shape = shapes[index] { return shape }
        let shape = prepare(message)
        shapes[index] = shape
        return shape
    }

    private static func index(_ message: Message) -> Int {
        let priority =
            switch message.priority {
            case .ten: 0
            case .five: 1
            case .one: 2
            }
        let options = (message.expiry.expiresAt == nil ? 0 : 1) + (message.collapseID == nil ? 0 : 2)
        return (PushType(message.type).number * 3 + priority) * 4 + options
    }

    private func prepare(_ message: Message) -> HTTP2PreparedRequest {
        var fields: [HTTP2PreparedRequest.Field] = [
            .init(":method", value: .fixed("POST")), .init(":scheme", value: .fixed("https")),
            .init(":authority", value: .fixed(authority)), .init(":path", value: .perRequest, indexed: .once),
        ]
        if let authorization { fields.append(.init("authorization", value: .fixed(authorization))) }
        fields += [
            .init("apns-topic", value: .fixed(PushType(message.type).topic(of: topic))),
            .init("apns-push-type", value: .fixed(PushType(message.type).rawValue)),
            .init("apns-priority", value: .fixed("\(message.priority.rawValue)")),
            .init("apns-id", value: .perRequest, indexed: .once),
        ]
        if message.expiry.expiresAt != nil {
            fields.append(.init("apns-expiration", value: .perRequest, indexed: .once))
        }
        if message.collapseID != nil { fields.append(.init("apns-collapse-id", value: .perRequest, indexed: .once)) }
        return HTTP2PreparedRequest(fields)
    }
}
