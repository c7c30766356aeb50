/// A push request as it was received.
package struct WebPushRequest {
    package var method: String?
    package var path: String?
    package var authorization: String?
    package var ttl: String?
    package var urgency: String?
    package var topic: String?
    package var encoding: String?
    /// Whether the request has a field of an earlier encoding, which is not allowed beside `aes128gcm`.
    package var hasOldFields = false
    /// The body, of which a very long one is cut.
    package var body: [UInt8] = []
    /// The length of the whole body.
    package var bodyCount = 0

    package init() {}

    mutating func take(name: ByteView, value: ByteView) {
        switch name.text {
        case ":method": method = value.text
        case ":path": path = value.text
        case "authorization": authorization = value.text
        case "ttl": ttl = value.text
        case "urgency": urgency = value.text
        case "topic": topic = value.text
        case "content-encoding": encoding = value.text
        case "encryption", "crypto-key": hasOldFields = true
        default: break
        }
    }

    static let root = "/push/"

    /// The id in the path; nil if the path is not that of a subscription.
    var subscription: [UInt8]? {
        guard let path, path.hasPrefix(Self.root), path.utf8.count <= 100 else { return nil }
        return Hex.bytes(String(path.dropFirst(Self.root.count)))
    }

    private static let maxTTL: Int64 = 30 * 86_400

    /// The seconds that the message is kept; what is longer than 30 days is shortened, as Mozilla does.
    func lifetime() throws(WebPushRefusal) -> Int64 {
        guard let ttl else { throw .noTTL }
        guard let seconds = ByteView.lending(Array(ttl.utf8), to: { $0.decimal() }) else {
            throw .ttl("the header TTL is not a number of seconds")
        }
        return min(seconds, Self.maxTTL)
    }

    func checkUrgency() throws(WebPushRefusal) {
        guard let urgency else { return }
        guard ["very-low", "low", "normal", "high"].contains(urgency) else {
            throw .urgency("the header Urgency is not very-low, low, normal or high")
        }
    }

    func checkTopic() throws(WebPushRefusal) {
        guard let topic else { return }
        let characters = Array(topic.utf8)
        guard (1...32).contains(characters.count) else { throw .topic("the header Topic has not 1 to 32 characters") }
        let isLegal = characters.allSatisfy {
            switch $0 {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isLegal else { throw .topic("the header Topic has a character that is not of Base64URL") }
        // Apple decodes the topic.
        guard characters.count % 4 != 1 else { throw .topic("the header Topic has a length that Base64URL never has") }
    }
}
