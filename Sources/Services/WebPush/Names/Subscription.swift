import PushModel
import PushTransport
import PushWire

/// What a browser gives to be pushed to: where to send, and with which keys to encrypt.
struct Subscription {
    /// The key of the browser, a point on P-256.
    static let publicKeyLength = MessageEncryptor.publicKeyLength
    static let secretLength = MessageEncryptor.secretLength
    static let keysLength = publicKeyLength + secretLength

    let endpoint: [UInt8]
    let publicKey: [UInt8]
    let secret: [UInt8]
    let origin: Origin
    /// The VAPID key with which it was made; nil if nobody says it.
    let vapidKeyID: VAPIDKeyID?

    /// The largest text that is read. A subscription has little besides the endpoint.
    static let maxTextLength = 3 * Address.maxLength

    /// Reads a subscription in JSON, as browsers give it. Members that are not known are ignored.
    init(json bytes: [UInt8]) throws(AddressFault) {
        guard bytes.count <= Self.maxTextLength else {
            throw AddressFault("has more than \(Self.maxTextLength) bytes")
        }
        guard let json = try? JSONDocument(bytes), json.kind(json.root) == .object else {
            throw AddressFault("is not a subscription: an object with endpoint and keys, as the browser gives it")
        }
        guard let endpoint = json.value("endpoint", in: json.root).flatMap({ json.string($0) }) else {
            throw AddressFault("has no endpoint; give the whole subscription, as the browser gives it")
        }
        self.endpoint = Array(endpoint.utf8)
        origin = try EndpointText(self.endpoint).origin
        guard let keys = json.value("keys", in: json.root), json.kind(keys) == .object else {
            throw AddressFault("has no keys; give the whole subscription, as JSON.stringify(subscription) writes it")
        }
        let publicKey = try Self.key("p256dh", json.value("p256dh", in: keys).flatMap { json.string($0) })
        let secret = try Self.key("auth", json.value("auth", in: keys).flatMap { json.string($0) })
        guard publicKey.count == Self.publicKeyLength, publicKey[0] == 4 else {
            throw AddressFault("has a p256dh that is not \(Self.publicKeyLength) bytes, the first of them 4")
        }
        guard P256Point.isValid(publicKey) else {
            throw AddressFault("has a p256dh that is not a point on the curve P-256")
        }
        guard secret.count == Self.secretLength else {
            throw AddressFault("has an auth of \(secret.count) bytes; it has \(Self.secretLength)")
        }
        (self.publicKey, self.secret) = (publicKey, secret)
        vapidKeyID = try Self.vapidKeyID(in: json)
    }

    /// Reads the key with which the page has subscribed. Browsers do not write it; the page adds it.
    private static func vapidKeyID(in json: JSONDocument) throws(AddressFault) -> VAPIDKeyID? {
        if let text = json.value("applicationServerKey", in: json.root).flatMap({ json.string($0) }) {
            let point = try bytes("applicationServerKey", text)
            guard point.count == publicKeyLength, point[0] == 4, P256Point.isValid(point) else {
                throw AddressFault("has an applicationServerKey that is not a public key on the curve P-256")
            }
            return VAPIDKeyID(of: point)
        }
        guard let text = json.value("applicationServerKeyID", in: json.root).flatMap({ json.string($0) }) else {
            return nil
        }
        let id = try bytes("applicationServerKeyID", text)
        guard id.count == VAPIDKeyID.length else {
            throw AddressFault("has an applicationServerKeyID of \(id.count) bytes; it has \(VAPIDKeyID.length)")
        }
        return VAPIDKeyID(id)
    }

    /// Reads base64url or base64, with or without padding.
    private static func key(_ name: String, _ text: String?) throws(AddressFault) -> [UInt8] {
        guard let text else { throw AddressFault("has no keys.\(name)") }
        return try bytes("keys.\(name)", text)
    }

    private static func bytes(_ name: String, _ text: String) throws(AddressFault) -> [UInt8] {
        var digits: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "+"): digits.append(UInt8(ascii: "-"))
            case UInt8(ascii: "/"): digits.append(UInt8(ascii: "_"))
            default: digits.append(byte)
            }
        }
        let padding = digits.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        let isComplete = digits.count.isMultiple(of: 4)
        guard padding == 0 || isComplete,
            let key = Base64URL.decode(String(decoding: digits.dropLast(padding), as: UTF8.self))
        else { throw AddressFault("has \(name) that is not base64url") }
        return key
    }

    /// The address that is stored: the endpoint, which names the device, and the keys.
    var address: Address? {
        Address(bytes: endpoint + publicKey + secret + (vapidKeyID?.bytes ?? []), identifiedByFirst: endpoint.count)
    }
}
