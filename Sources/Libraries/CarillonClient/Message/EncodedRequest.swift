import PushWire

/// A request as it goes out, made once: a request that is sent again must have the same bytes. It is an object, because
/// it passes through several queues, and a reference is cheaper to copy.
final class EncodedRequest: Sendable {
    enum Kind: UInt8, Sendable {
        case push = 1
        case cancel = 2
    }

    let kind: Kind
    let app: String
    let id: String
    /// The hash of the id, by which an ack finds its request.
    let key: IDKey
    /// The hash of the app.
    let appKey: IDKey
    let envelope: [UInt8]
    /// The payload, if it is a frame of its own.
    let payload: [UInt8]?
    /// The number of bytes of the frames.
    let count: Int

    init(_ kind: Kind, id: String, app: String, envelope: [UInt8], payload: [UInt8]? = nil) {
        self.kind = kind
        self.id = id
        self.app = app
        key = IDKey(id)
        appKey = IDKey(app)
        count = envelope.count + (payload?.count ?? 0)
        self.envelope = envelope
        self.payload = payload
    }

    /// Whether the request may be a line of a batch. A line break ends a line, and white space of an envelope never
    /// has one, because this library writes it.
    var isLine: Bool { kind == .push && payload == nil }

    /// The largest envelope that Carillon accepts.
    static let maxEnvelope = 32 << 20
    /// The largest number of names in an audience that Carillon accepts.
    static let maxNames = 100_000
}

extension EncodedRequest {
    /// Encodes a push. Checks only what could not be answered: an id or a size with which an ack does not find its
    /// request. Carillon checks everything else.
    convenience init(_ push: Push) throws(PushRefusal) {
        try Self.check(id: push.id)
        guard push.audience.count <= Self.maxNames else {
            throw PushRefusal(.tooMany, detail: "the audience has \(push.audience.count) names; 100,000 are allowed")
        }
        var json = JSONWriter(capacity: 384)
        json.beginObject()
        json.member("id", value: push.id)
        json.member("app", value: push.app)
        json.key(plain: "to")
        push.audience.write(to: &json)
        if push.type != .alert { json.member("push_type", value: push.type.rawValue) }
        json.member("priority", value: push.priority?.rawValue)
        json.member("expires_at", value: push.expiresAt?.seconds)
        json.member("not_before", value: push.notBefore?.seconds)
        push.atLocal?.write(to: &json)
        json.member("collapse_id", value: push.collapseID)
        if push.onUnknown != .resend { json.member("on_unknown", value: push.onUnknown.rawValue) }
        if push.again {
            json.key(plain: "again")
            json.bool(true)
        }
        if !push.prefer.isEmpty {
            json.key(plain: "prefer")
            json.beginArray()
            for app in push.prefer { json.string(app) }
            json.endArray()
        }
        json.member("traceparent", value: push.traceparent)
        let frame = try Self.write(push.content, to: &json)
        json.endObject()
        guard json.bytes.count <= Self.maxEnvelope, (frame?.count ?? 0) <= Self.maxEnvelope else {
            throw PushRefusal(
                .badFrame, detail: "the message has \(json.bytes.count + (frame?.count ?? 0)) bytes; 32 MiB are allowed"
            )
        }
        self.init(.push, id: push.id, app: push.app, envelope: json.bytes, payload: frame)
    }

    /// Writes the content, or returns it if it is a frame of its own.
    private static func write(_ content: Push.Content, to json: inout JSONWriter) throws(PushRefusal) -> [UInt8]? {
        switch content {
        case .notification(let content):
            json.key(plain: "payload")
            content.write(to: &json)
        case .plain(let content): content.write(to: &json)
        case .liveActivity(let activity):
            json.key(plain: "live_activity")
            activity.write(to: &json)
        case .payload(let bytes):
            // Other bytes could change the envelope around them, or end the line of a batch.
            if !bytes.contains(UInt8(ascii: "\n")), JSONDocument.isObject(bytes) {
                json.key(plain: "payload")
                json.raw(bytes)
            } else {
                return bytes
            }
        case .payloads(let payloads, let others):
            others?.write(to: &json)
            try ServicePayload.write(payloads, to: &json)
        }
        return nil
    }

    /// Encodes the request to cancel a message.
    convenience init(cancel id: String, app: String) throws(PushRefusal) {
        try Self.check(id: id)
        var json = JSONWriter()
        json.beginObject()
        json.member("id", value: id)
        json.member("app", value: app)
        json.endObject()
        self.init(.cancel, id: id, app: app, envelope: json.bytes)
    }

    private static func check(id: String) throws(PushRefusal) {
        guard (1...128).contains(id.utf8.count) else {
            throw PushRefusal(.badField, detail: "the id has \(id.utf8.count) bytes; 1 to 128 are allowed")
        }
    }
}
