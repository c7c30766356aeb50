import PushModel
import PushTransport
import PushWire

/// The addresses of browsers: the endpoint of a subscription, followed by its two keys and, if it is known, the id of the
/// VAPID key with which it was made. The endpoint alone names the device, so that new keys replace the old ones.
extension Address {
    /// The origin of the endpoint; nil for bytes that are not a subscription, as those of an app that had another push
    /// service before.
    package var origin: Origin? {
        guard let count = endpointLength else { return nil }
        return try? EndpointText(bytes.prefix(count)).origin
    }

    /// The length of the endpoint; nil for bytes that are not a subscription.
    var endpointLength: Int? {
        guard let count = identityByteCount else { return nil }
        let rest = byteCount - count - Subscription.keysLength
        return rest == 0 || rest == VAPIDKeyID.length ? count : nil
    }

    /// Returns the id of the VAPID key in the bytes of an address; nil if it is not known.
    static func vapidKeyID(in bytes: [UInt8], endpointLength: Int) -> VAPIDKeyID? {
        let start = endpointLength + Subscription.keysLength
        return bytes.count == start + VAPIDKeyID.length ? VAPIDKeyID(bytes[start...]) : nil
    }

    /// The subscription as browsers give it, which is read again.
    var subscriptionText: String {
        let bytes = self.bytes
        guard let count = endpointLength else { return String(decoding: bytes, as: UTF8.self) }
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("endpoint", value: String(decoding: bytes[..<count], as: UTF8.self))
            writer.key("expirationTime")
            writer.null()
            writer.key("keys")
            writer.object { writer in
                let secret = count + Subscription.publicKeyLength
                let end = count + Subscription.keysLength
                writer.member("p256dh", value: Base64URL.encode(Array(bytes[count..<secret])))
                writer.member("auth", value: Base64URL.encode(Array(bytes[secret..<end])))
            }
            if let id = Self.vapidKeyID(in: bytes, endpointLength: count) {
                writer.member("applicationServerKeyID", value: id.description)
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
