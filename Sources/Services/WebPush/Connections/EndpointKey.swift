import PushModel
import PushRandom

/// The beginning of an endpoint that names its origin, in lower case: what the table of origins is asked with. It is read
/// into the same memory for every delivery.
struct EndpointKey {
    private(set) var bytes: [UInt8] = []
    private(set) var hash: UInt64 = 0
    /// The VAPID key of the last address, if it is known.
    private(set) var vapidKeyID: VAPIDKeyID?
    private let seed: UInt64

    /// - Parameter seed: A number that nobody outside knows, because the names come from outside.
    init(seed: UInt64) {
        self.seed = seed
        bytes.reserveCapacity(Address.maxLength)
    }

    /// The length of `https://`.
    private static let schemeLength = 8

    /// Reads the key of an address. An address that is not one of Web Push has one, too, which no origin has.
    mutating func read(_ address: Address) {
        bytes.removeAll(keepingCapacity: true)
        address.append(to: &bytes)
        let end = address.identityByteCount ?? bytes.count
        vapidKeyID = Address.vapidKeyID(in: bytes, endpointLength: end)
        var at = 0
        while at < end {
            let byte = bytes[at]
            if at >= Self.schemeLength, Self.ends(byte) { break }
            if (65...90).contains(byte) { bytes[at] = byte | 0x20 }
            at += 1
        }
        bytes.removeLast(bytes.count - at)
        hash = hash(of: bytes)
    }

    /// Takes the key of an origin in its only form, for an endpoint that names it in another one.
    mutating func read(_ origin: Origin) {
        bytes = Array(origin.description.utf8)
        hash = hash(of: bytes)
    }

    private func hash(of bytes: [UInt8]) -> UInt64 {
        var hash = seed
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return SeededRandom.mix(hash)
    }

    private static func ends(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }
}
