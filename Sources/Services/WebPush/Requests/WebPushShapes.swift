import PushLoop
import PushModel
import PushTime
import PushTransport

/// The header blocks of one origin, prepared once for each combination of fields and each token. A delivery adds its
/// path, time to live and topic.
struct WebPushShapes {
    private let origin: Origin
    private let tokens: VAPIDTokens
    private let isWindows: Bool
    private var token: VAPIDTokens.Token?
    private var shapes: [HTTP2PreparedRequest?] = Array(repeating: nil, count: 6)

    init(origin: Origin, tokens: VAPIDTokens) {
        self.origin = origin
        self.tokens = tokens
        isWindows = origin.host.hasSuffix(".notify.windows.com")
    }

    /// - Parameter isStored: Whether the push service may keep the message.
    mutating func request(priority: PushPriority, isStored: Bool, at now: WallTime) -> HTTP2PreparedRequest {
        if !(token?.isFresh(at: now) ?? false) { renew() }
        let urgency: (number: Int, word: String) =
            switch priority {
            case .ten: (0, "high")
            case .five: (1, "normal")
            case .one: (2, "low")
            }
        let index = urgency.number * 2 + (isStored ? 1 : 0)
        if let shape = shapes[index] { return shape }
        let shape = prepare(urgency: urgency.word, isStored: isStored)
        shapes[index] = shape
        return shape
    }

    private mutating func renew() {
        // A failure to sign is one of OpenSSL. The former token may still serve; the push service decides.
        guard let new = try? tokens.token(for: origin) else { return }
        token = new
        for index in shapes.indices { shapes[index] = nil }
    }

    private func prepare(urgency: String, isStored: Bool) -> HTTP2PreparedRequest {
        HTTP2PreparedRequest(fields(urgency: urgency, isStored: isStored))
    }

    /// Returns the fields of a request.
    func fields(urgency: String, isStored: Bool) -> [HTTP2PreparedRequest.Field] {
        var fields: [HTTP2PreparedRequest.Field] = [
            .init(":method", value: .fixed("POST")), .init(":scheme", value: .fixed("https")),
            .init(":authority", value: .fixed(origin.authority)), .init(":path", value: .perRequest, indexed: .once),
        ]
        if let token {
            fields.append(.init("authorization", value: .fixed(token.authorization.withRevealed { $0 })))
        }
        fields += [
            .init("ttl", value: .perRequest), .init("topic", value: .perRequest, indexed: .once),
            .init("urgency", value: .fixed(urgency)), .init("content-encoding", value: .fixed("aes128gcm")),
            .init("content-type", value: .fixed("application/octet-stream")),
        ]
        // Windows refuses a time to live that does not agree with this field.
        if isWindows { fields.append(.init("x-wns-cache-policy", value: .fixed(isStored ? "cache" : "no-cache"))) }
        return fields
    }
}
