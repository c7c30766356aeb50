import PushWire

/// A push service, by the word that it has in `payloads`.
public struct PushService: RawRepresentable, Sendable, Hashable {
    /// The word on the wire.
    public let rawValue: String

    /// Creates a service by its word on the wire, for one that a newer Carillon has.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Apple Push Notification service.
    public static let apns = PushService(rawValue: "apns")
    /// Firebase Cloud Messaging.
    public static let fcm = PushService(rawValue: "fcm")
    /// The push services of browsers.
    public static let webPush = PushService(rawValue: "webpush")
}

/// The payload for those members of a family that are at one push service.
public enum ServicePayload: Sendable, Hashable {
    /// Content for Apple from typed values.
    case notification(Notification)
    /// A JSON object, which is forwarded byte for byte.
    case json([UInt8])
}

extension ServicePayload {
    /// Writes payloads by push service. Other bytes than an object could change the envelope around them.
    static func write(_ payloads: [PushService: ServicePayload], to json: inout JSONWriter) throws(PushRefusal) {
        json.key(plain: "payloads")
        json.beginObject()
        for (service, payload) in payloads.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            json.key(service.rawValue)
            switch payload {
            case .notification(let content): content.write(to: &json)
            case .json(let bytes):
                guard !bytes.contains(UInt8(ascii: "\n")), JSONDocument.isObject(bytes) else {
                    throw PushRefusal(
                        .badPayload,
                        detail: "the payload for \(service.rawValue) is not a JSON object on one line")
                }
                json.raw(bytes)
            }
        }
        json.endObject()
    }
}
