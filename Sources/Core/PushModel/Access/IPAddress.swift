/// An IP address as 128 bits. IPv4 addresses are kept in their mapped form, `::ffff:a.b.c.d`, so that a peer has one
/// address whichever kind of socket it reaches.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    private static let mappedPrefix: UInt64 = 0xffff_0000_0000

    package var isIPv4: Bool { high == 0 && low >> 32 == 0xffff }

    package var isLoopback: Bool { isIPv4 ? low & 0xff00_0000 == 0x7f00_0000 : high == 0 && low == 1 }

    /// The network that belongs to one customer as a rule: the address itself for IPv4, and the first 64 bits for IPv6.
    package var site: IPAddress { isIPv4 ? self : IPAddress(high: high, low: 0) }

    /// Parses an address in numeric form. A zone such as `%eth0` is ignored. Returns nil for any other text.
    package init?(_ text: String) {
        let bytes = text.utf8.prefix { $0 != UInt8(ascii: "%") }
        if bytes.contains(UInt8(ascii: ":")) {
            guard let address = Self.grouped(bytes) else { return nil }
            self = address
        } else {
            guard let address = Self.dotted(bytes) else { return nil }
            self.init(high: 0, low: Self.mappedPrefix | UInt64(address))
        }
    }

    /// Parses four decimal numbers. Leading zeros are refused, because some programs read such numbers as octal.
    private static func dotted(_ bytes: Substring.UTF8View) -> UInt32? {
        var address: UInt32 = 0
        var (number, digits, parts) = (UInt32(0), 0, 0)
        for byte in bytes {
            if byte == UInt8(ascii: ".") {
                guard digits > 0, parts < 3 else { return nil }
                address = address << 8 | number
                (number, digits, parts) = (0, 0, parts + 1)
                continue
            }
            guard (48...57).contains(byte), digits < 3, digits == 0 || number > 0 else { return nil }
            number = number * 10 + UInt32(byte - 48)
            digits += 1
            guard number <= 255 else { return nil }
        }
        return digits > 0 && parts == 3 ? address << 8 | number : nil
    }

    /// Parses the groups of an IPv6 address (RFC 4291, section 2.2).
    private static func grouped(_ bytes: Substring.UTF8View) -> IPAddress? {
        // Eight groups, of which those behind the two colons move to the end.
        var groups: (high: UInt64, low: UInt64) = (0, 0)
        var count = 0
        var gap: Int?
        var at = bytes.startIndex
        func add(_ group: UInt64) {
            groups.high = groups.high << 16 | groups.low >> 48
            groups.low = groups.low << 16 | group
            count += 1
        }
        if bytes.starts(with: [UInt8(ascii: ":"), UInt8(ascii: ":")]) {
            gap = 0
            at = bytes.index(at, offsetBy: 2)
        }
        while at < bytes.endIndex {
            let group = bytes[at...].prefix { $0 != UInt8(ascii: ":") }
            if group.contains(UInt8(ascii: ".")) {
                // An IPv4 address may stand at the end, in place of two groups.
                guard group.endIndex == bytes.endIndex, count <= 6, let last = dotted(group) else { return nil }
                add(UInt64(last >> 16))
                add(UInt64(last & 0xffff))
                break
            }
            guard count < 8, let value = hexadecimal(group) else { return nil }
            add(value)
            at = group.endIndex
            guard at < bytes.endIndex else { break }
            at = bytes.index(after: at)
            // A single colon at the end is an error.
            guard at < bytes.endIndex else { return nil }
            if bytes[at] == UInt8(ascii: ":") {
                guard gap == nil else { return nil }
                gap = count
                at = bytes.index(after: at)
            }
        }
        guard let gap else { return count == 8 ? IPAddress(high: groups.high, low: groups.low) : nil }
        guard count < 8 else { return nil }
        return spread(groups, count: count, gap: gap)
    }

    /// Returns the address in which the groups behind the gap stand at the end, and zeros in the gap.
    private static func spread(_ groups: (high: UInt64, low: UInt64), count: Int, gap: Int) -> IPAddress {
        func group(_ index: Int) -> UInt64 {
            let shift = 16 * (count - 1 - index)
            return (shift < 64 ? groups.low >> UInt64(shift) : groups.high >> UInt64(shift - 64)) & 0xffff
        }
        var words: (UInt64, UInt64) = (0, 0)
        for index in 0..<count {
            let place = index < gap ? index : 8 - count + index
            let value = group(index) << UInt64(16 * (3 - place % 4))
            if place < 4 { words.0 |= value } else { words.1 |= value }
        }
        return IPAddress(high: words.0, low: words.1)
    }

    private static func hexadecimal(_ bytes: Substring.UTF8View) -> UInt64? {
        guard (1...4).contains(bytes.count) else { return nil }
        var value: UInt64 = 0
        for byte in bytes {
            switch byte {
            case 48...57: value = value << 4 | UInt64(byte - 48)
            case 97...102: value = value << 4 | UInt64(byte - 87)
            case 65...70: value = value << 4 | UInt64(byte - 55)
            default: return nil
            }
        }
        return value
    }

    /// The address in the form of RFC 5952: the longest run of zero groups is left out.
    package var description: String {
        if isIPv4 { return (0..<4).map { String(low >> UInt64(24 - 8 * $0) & 0xff) }.joined(separator: ".") }
        let groups = (0..<8).map { index -> UInt64 in
            let word = index < 4 ? high : low
            return word >> UInt64(48 - 16 * (index % 4)) & 0xffff
        }
        var best = 0..<0
        var start = 0
        while start < 8 {
            guard groups[start] == 0 else {
                start += 1
                continue
            }
            let end = groups[start...].firstIndex { $0 != 0 } ?? 8
            if end - start > best.count, end - start > 1 { best = start..<end }
            start = end
        }
        func text(_ part: ArraySlice<UInt64>) -> String { part.map { String($0, radix: 16) }.joined(separator: ":") }
        if best.isEmpty { return text(groups[...]) }
        return text(groups[..<best.lowerBound]) + "::" + text(groups[best.upperBound...])
    }
}
