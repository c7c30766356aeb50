import PushModel
import PushWire

/// The body of the requests that send one message, up to the address:
///
///     {"message":{…,"token":"ADDRESS"}}
struct PreparedBody {
    let message: Message
    /// The second for which the time to live was computed; 0 without one.
    let second: Int64
    private let head: [UInt8]

    private static let tokenKey = Array(#""token":""#.utf8)
    private static let installationKey = Array(#""fid":""#.utf8)
    private static let end = Array(#""}}"#.utf8)
    private static let validation = Array(#"{"validate_only":true,"message":{"topic":"carillon-check"}}"#.utf8)

    /// - Parameter now: The time in seconds since 1970.
    init(_ message: Message, at now: Int64) {
        self.message = message
        second = message.expiry == .unlimited ? 0 : now
        head = message.type == .validation ? Self.validation : Self.head(message, at: now)
    }

    private static func head(_ message: Message, at now: Int64) -> [UInt8] {
        let payload = message.payload
        let slots = MessageSlots(payload)
        var head = Array(#"{"message":"#.utf8)
        head.reserveCapacity(payload.count + message.id.text.utf8.count + 64)
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
    func bytes(to address: Address) -> [UInt8] {
        if message.type == .validation { return head }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(head.count + address.byteCount + 16)
        bytes += head
        let start: Int
        if address.isInstallationID {
            bytes += Self.installationKey
            start = bytes.count
        } else {
            bytes += Self.tokenKey
            start = bytes.count
        }
        address.append(to: &bytes)
        // The codec reads no such address. An app that had another push service before may have stored one.
        if !bytes[start...].allSatisfy(Address.isAllowed) {
            let text = String(decoding: bytes[start...], as: UTF8.self)
            bytes.removeSubrange((start - 1)...)
            JSONText.appendQuoted(text, to: &bytes)
            bytes.removeLast()
        }
        bytes += Self.end
        return bytes
    }
}

extension Address {
    /// Whether the address is the id of an installation, rather than a registration token.
    fileprivate var isInstallationID: Bool {
        byteCount == 22 && identityByteCount == nil && Self.isInstallationID(bytes)
    }
}
