import PushModel
import PushText
import PushWire

/// The endpoint of a subscription: an address that begins with `https://`, as the browser gave it. It is a secret: who
/// knows it can send to the browser, so no fault repeats it.
struct EndpointText {
    let origin: Origin
    /// The number of bytes before the path.
    let pathStart: Int

    /// The largest length, so that the keys have room in an address.
    static let maxLength = Address.maxLength - Subscription.keysLength
    /// The same for subscriptions that name the key of the app.
    static let maxLengthWithKeyID = maxLength - VAPIDKeyID.length

    private static let scheme = Array("https://".utf8)
    /// What some browsers register instead of a subscription.
    private static let removed = "permanently-removed.invalid"

    init(_ bytes: some Collection<UInt8>) throws(AddressFault) {
        guard !bytes.isEmpty else { throw AddressFault("has an empty endpoint") }
        guard bytes.count <= Self.maxLength else {
            throw AddressFault("has an endpoint of more than \(Self.maxLength) bytes")
        }
        guard bytes.allSatisfy(Self.isAllowed) else {
            throw AddressFault("has an endpoint with a space or another character that must be escaped in a URL")
        }
        guard bytes.count > Self.scheme.count,
            zip(bytes, Self.scheme).allSatisfy({ $0 | ($0 >= 0x41 && $0 <= 0x5a ? 0x20 : 0) == $1 })
        else { throw AddressFault("has an endpoint that does not begin with https://") }
        guard !bytes.contains(UInt8(ascii: "#")) else { throw AddressFault("has an endpoint with a fragment") }
        let rest = bytes.dropFirst(Self.scheme.count)
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        guard !authority.contains(UInt8(ascii: "@")) else {
            throw AddressFault("has an endpoint with a user name")
        }
        guard let origin = Self.origin(authority) else { throw AddressFault("has an endpoint without a valid host") }
        guard origin.host != Self.removed else {
            throw AddressFault("is not a subscription any more: the browser has removed it permanently")
        }
        self.origin = origin
        pathStart = Self.scheme.count + authority.count
    }

    /// Printable ASCII without what browsers and other programs read in different ways.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "^"),
            UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
            false
        default: (0x21...0x7e).contains(byte)
        }
    }

    /// Reads a host and a port; nil if they are not valid.
    static func origin(_ authority: some Collection<UInt8>) -> Origin? {
        let text = String(decoding: authority.map { (65...90).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
        var host = text[...]
        var digits: Substring?
        if host.first == "[" {
            guard let end = host.firstIndex(of: "]") else { return nil }
            let tail = host[host.index(after: end)...]
            guard tail.isEmpty || tail.first == ":" else { return nil }
            if !tail.isEmpty { digits = tail.dropFirst() }
            let inner = String(host[host.index(after: host.startIndex)..<end])
            guard inner.contains(":"), !inner.contains("%"), let address = IPAddress(inner) else { return nil }
            return port(digits).map { Origin(host: address.description, port: $0) }
        }
        if let colon = host.firstIndex(of: ":") {
            digits = host[host.index(after: colon)...]
            host = host[..<colon]
        }
        guard isHost(host) else { return nil }
        return port(digits).map { Origin(host: String(host), port: $0) }
    }

    private static func port(_ digits: Substring?) -> UInt16? {
        guard let digits else { return 443 }
        guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ (48...57).contains($0) }),
            let port = UInt16(digits), port > 0
        else { return nil }
        return port
    }

    /// Whether a text is a host name or an IPv4 address in its usual form. Resolvers read other numbers as addresses, too.
    private static func isHost(_ host: Substring) -> Bool {
        let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...253).contains(host.utf8.count),
            labels.allSatisfy({ (1...63).contains($0.count) && $0.allSatisfy(isHostByte) }), let last = labels.last
        else { return false }
        let isNumeric = last.allSatisfy { (48...57).contains($0) } || last.starts(with: Array("0x".utf8))
        return !isNumeric || IPAddress(String(host)) != nil
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
