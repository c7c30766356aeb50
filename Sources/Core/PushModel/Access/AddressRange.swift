/// A range of IP addresses with a common prefix, in the CIDR form `10.0.0.0/8` or `2001:db8::/32`.
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
    package let base: IPAddress
    /// The length of the prefix in bits, of the 128 bits in which ``IPAddress`` keeps all addresses.
    package let prefix: Int

    /// The error for a text that is not a range.
    package struct Fault: Error, Equatable, CustomStringConvertible {
        package let description: String
    }

    /// Parses a range; an address alone is a range of one address.
    ///
    /// - Throws: ``Fault`` for any other text, and for a range whose base has bits behind its prefix, because one of the
    ///   two is a mistake.
    package init(_ text: String) throws(Fault) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first.flatMap({ IPAddress(String($0)) }), !text.utf8.contains(UInt8(ascii: "%"))
        else {
            throw Fault(description: "not an address range such as 10.0.0.0/8 or 2001:db8::/32")
        }
        // An IPv4 address in its mapped form, `::ffff:10.0.0.0/104`, counts its prefix from the start.
        let isDotted = address.isIPv4 && !parts[0].utf8.contains(UInt8(ascii: ":"))
        let longest = isDotted ? 32 : 128
        var length = longest
        if parts.count == 2 {
            guard (1...3).contains(parts[1].utf8.count), parts[1].utf8.allSatisfy({ (48...57).contains($0) }),
                let number = Int(parts[1]), number <= longest
            else { throw Fault(description: "the prefix behind the slash must be a number from 0 to \(longest)") }
            length = number
        }
        let prefix = isDotted ? length + 96 : length
        let base = Self.first(of: address, prefix: prefix)
        guard base == address else {
            let right = "\(base)/\(base.isIPv4 && prefix >= 96 ? prefix - 96 : prefix)"
            throw Fault(description: "the address has bits behind its prefix; did you mean \(right)?")
        }
        (self.base, self.prefix) = (base, prefix)
    }

    private init(base: IPAddress, prefix: Int) {
        (self.base, self.prefix) = (base, prefix)
    }

    /// The address `::1` alone.
    package static let loopback = AddressRange(base: IPAddress(high: 0, low: 1), prefix: 128)

    private static func first(of address: IPAddress, prefix: Int) -> IPAddress {
        IPAddress(high: address.high & mask(prefix), low: address.low & mask(prefix - 64))
    }

    private static func mask(_ bits: Int) -> UInt64 {
        bits <= 0 ? 0 : bits >= 64 ? .max : ~(.max >> UInt64(bits))
    }

    package func contains(_ address: IPAddress) -> Bool {
        // Mapped addresses belong to IPv4: `::/0` contains all addresses of IPv6 and none of IPv4.
        if address.isIPv4, prefix < 96 { return false }
        return Self.first(of: address, prefix: prefix) == base
    }

    package var description: String {
        base.isIPv4 && prefix >= 96 ? "\(base)/\(prefix - 96)" : "\(base)/\(prefix)"
    }
}
