import PushTransport

/// A short name of a VAPID key, which a subscription keeps: the first bytes of the SHA-256 digest of the public key.
package struct VAPIDKeyID: Hashable, Sendable, CustomStringConvertible {
    static let length = 8

    private let number: UInt64

    /// - Parameter point: The public key as `applicationServerKey` of the page has it.
    init(of point: [UInt8]) {
        self.init(SHA256.hash(point).bytes.prefix(Self.length))
    }

    /// Reads ``length`` bytes.
    init(_ bytes: some Collection<UInt8>) {
        number = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    var bytes: [UInt8] { (0..<Self.length).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) } }

    package var description: String { Base64URL.encode(bytes) }
}
