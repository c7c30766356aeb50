package import PushModel

/// Which addresses may be connected to. The endpoint of a browser comes from a device, and the name of the receiver of a
/// webhook belongs to somebody else: either may lead anywhere, into the network of the operator, to this machine, or to the
/// service of a cloud that gives out credentials.
package struct AddressCheck: Sendable {
    private let exceptions: [AddressRange]

    /// - Parameter exceptions: The private networks that may be connected to.
    package init(exceptions: [AddressRange]) {
        self.exceptions = exceptions
    }

    /// Returns whether all of the addresses may be connected to. A name with one that may not is refused as a whole: who
    /// has set it up means this one.
    package func allows(_ addresses: [String]) -> Bool {
        addresses.allSatisfy { IPAddress($0).map(allows) ?? false }
    }

    package func allows(_ address: IPAddress) -> Bool {
        if exceptions.contains(where: { $0.contains(address) }) { return true }
        guard !address.isIPv4 else { return !Self.isReserved(UInt32(truncatingIfNeeded: address.low)) }
        if let inner = Self.embedded(in: address) { return allows(inner) }
        // Global addresses are those of 2000::/3. All others have a special meaning, or none.
        return address.high >> 61 == 1 && !Self.special.contains { $0.contains(address) }
    }

    private static let special = ranges(["2001::/23", "2001:db8::/32", "3fff::/20"])

    /// This network, private, shared, loopback, link-local, protocol assignments, documentation, benchmarks, the relays of
    /// 6to4, multicast and reserved (RFC 6890 and its successors).
    private static let reserved = ranges([
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
    ])

    private static func ranges(_ texts: [String]) -> [AddressRange] {
        texts.map { text in
            guard let range = try? AddressRange(text) else { preconditionFailure("\(text) is not a range") }
            return range
        }
    }

    private static func isReserved(_ address: UInt32) -> Bool {
        let address = mapped(address)
        return reserved.contains { $0.contains(address) }
    }

    private static func mapped(_ address: UInt32) -> IPAddress {
        IPAddress(high: 0, low: 0xffff_0000_0000 | UInt64(address))
    }

    /// The IPv4 address that a translator or a tunnel would connect to: NAT64 (`64:ff9b::/96`) and 6to4 (`2002::/16`).
    private static func embedded(in address: IPAddress) -> IPAddress? {
        if address.high == 0x0064_ff9b_0000_0000, address.low >> 32 == 0 {
            return mapped(UInt32(truncatingIfNeeded: address.low))
        }
        if address.high >> 48 == 0x2002 { return mapped(UInt32(truncatingIfNeeded: address.high >> 16)) }
        return nil
    }
}
