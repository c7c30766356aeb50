import PushModel
import PushWire

/// The body of the requests that send one message. Only the address differs, which comes last:
///
///     {"message":{…,"token":"ADDRESS"}}
struct PreparedBody {
    let message: Message
    /// The second for which the time to live was computed; 0 without one.
    let second: Int64
    /// The last body. The next one takes its memory, unless the last one is still to be sent.
    private var text: [UInt8]
    private let headLength: Int
    private let takesAddress: Bool

    private static let start = Array(#"{"message":"#.utf8)
    private static let tokenKey = Array(#""token":""#.utf8)
    private static let installationKey = Array(#""fid":""#.utf8)
    private static let end = Array(#""}}"#.utf8)
    private static let roomForAddress = 384
    private static let validation = Array(#"{"validate_only":true,"message":{"topic":"carillon-check"}}"#.utf8)

    /// - Parameter now: The time in seconds since 1970.
    init(_ message: Message, at now: Int64) {
        self.message = message
        second = message.expiry.expiresAt == nil ? 0 : now
        takesAddress = message.type != .validation
        text = takesAddress ? Self.head(message, at: now) : Self.validation
        headLength = text.count
    }

    /// Returns the payload with its places filled in, for people.
    static func payload(of message: Message, at now: Int64) -> [UInt8] {
        var text = Array(head(message, at: now).dropFirst(start.count))
        if text.last == UInt8(ascii: ",") { text.removeLast() }
        return text + [UInt8(ascii: "}")]
    }

    private static func head(_ message: Message, at now: Int64) -> [UInt8] {
        let payload = message.payload
        let slots = MessageSlots(payload)
        var head = start
        head.reserveCapacity(payload.count + message.id.text.utf8.count + roomForAddress)
        var copied = 0
        if let place = slots.timeToLive {
            head += payload[copied..<place]
            head += Array("\(timeToLive(message.expiry, at: now))s".utf8)
            copied = place
        }
        if let place = slots.tag {
            head += payload[copied..<place]
            var quoted: [UInt8] = []
            JSONText.appendQuoted(message.id.text, to: &quoted)
            head += quoted.dropFirst().dropLast()
            copied = place
        }
        // Intake accepts objects only, and `}` is the last byte of them but white space.
        let end = payload.lastIndex(of: UInt8(ascii: "}")) ?? payload.count
        if copied < end { head += payload[copied..<end] }
        let isEmpty = head.last { $0 > 0x20 } == UInt8(ascii: "{")
        if !isEmpty { head.append(UInt8(ascii: ",")) }
        return head
    }

    private static func timeToLive(_ expiry: Expiry, at now: Int64) -> Int64 {
        expiry.timeToLive(at: now, unlimited: FCMPayload.maxTimeToLive, longest: FCMPayload.maxTimeToLive)
    }

    /// Returns the body for one address.
    mutating func bytes(to address: Address) -> [UInt8] {
        guard takesAddress else { return text }
        // A body that is still to be sent is copied once, and not again as it grows.
        text.reserveCapacity(headLength + address.byteCount + 16)
        text.removeLast(text.count - headLength)
        text += address.isInstallationID ? Self.installationKey : Self.tokenKey
        let start = text.count
        address.append(to: &text)
        // The codec reads no such address. An app that had another push service before may have stored one.
        if unsafe !text[start...].withUnsafeBytes({ unsafe Address.areAllowed($0) }) {
            let address = String(decoding: text[start...], as: UTF8.self)
            text.removeSubrange((start - 1)...)
            JSONText.appendQuoted(address, to: &text)
            text.removeLast()
        }
        text += Self.end
        return text
    }
}

extension Address {
    /// Whether the address is the id of an installation, rather than a registration token.
    fileprivate var isInstallationID: Bool {
        byteCount == 22 && identityByteCount == nil && Self.isInstallationID(bytes)
    }
}
