import PushLoop
import PushModel
import PushTime
import PushTransport

/// The header blocks of one origin, prepared once for each combination of fields and each token. A delivery adds its
/// path, time to live and topic.
struct WebPushShapes {
    /// What the fields of a request depend on.
    struct Kind {
        fileprivate let urgency: Int
        /// Whether the push service may keep the message.
        fileprivate let isStored: Bool

        init(_ priority: PushPriority, isStored: Bool) {
            urgency =
                switch priority {
                case .ten: 0
                case .five: 1
                case .one: 2
                }
            self.isStored = isStored
        }

        fileprivate static let words = ["high", "normal", "low"]

        fileprivate var index: Int { urgency * 2 + (isStored ? 1 : 0) }
    }

    let origin: Origin
    private let tokens: VAPIDTokens
    private let isWindows: Bool
    private var token: VAPIDTokens.Token?
    private var shapes: [HTTP2PreparedRequest?] = Array(repeating: nil, count: 2 * Kind.words.count)

    init(origin: Origin, tokens: VAPIDTokens) {
        self.origin = origin
        self.tokens = tokens
        isWindows = origin.host.hasSuffix(".notify.windows.com")
    }

    mutating func request(_ kind: Kind, at now: WallTime) -> HTTP2PreparedRequest {
        renewIfNeeded(at: now)
        if let shape = shapes[kind.index] { return shape }
        let shape = HTTP2PreparedRequest(fields(kind))
        shapes[kind.index] = shape
        return shape
    }

    private mutating func renewIfNeeded(at now: WallTime) {
        // A failure to sign is one of OpenSSL. The former token may still serve; the push service decides.
        guard !(token?.isFresh(at: now) ?? false), let new = try? tokens.token(for: origin) else { return }
        token = new
        for index in shapes.indices { shapes[index] = nil }
    }

    /// Returns the fields of a request in HTTP/2.
    func fields(_ kind: Kind) -> [HTTP2PreparedRequest.Field] {
        [
            .init(":method", value: .fixed("POST")), .init(":scheme", value: .fixed("https")),
            .init(":authority", value: .fixed(origin.authority)), .init(":path", value: .perRequest, indexed: .once),
            .init("ttl", value: .perRequest), .init("topic", value: .perRequest, indexed: .once),
            .init("content-type", value: .fixed("application/octet-stream")),
        ] + ownFields(kind).map { .init($0.name, value: .fixed($0.value)) }
    }

    /// Returns the fields of a request in HTTP/1.1, besides those of each request.
    mutating func fields(
        _ kind: Kind, at now: WallTime, timeToLive: String, topic: String
    ) -> [(name: String, value: String)] {
        renewIfNeeded(at: now)
        return [("ttl", timeToLive), ("topic", topic)] + ownFields(kind)
    }

    private func ownFields(_ kind: Kind) -> [(name: String, value: String)] {
        var fields = [("urgency", Kind.words[kind.urgency]), ("content-encoding", "aes128gcm")]
        if let token { fields.append(("authorization", token.authorization.withRevealed { $0 })) }
        // Windows refuses a time to live that does not agree with this field.
        if isWindows { fields.append(("x-wns-cache-policy", kind.isStored ? "cache" : "no-cache")) }
        return fields
    }
}
