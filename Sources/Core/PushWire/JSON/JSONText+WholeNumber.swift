extension JSONText {
    /// The number of bytes of a number that is not plain digits.
    private static let longestNumber = 64

    /// Reads a JSON number with a decimal point or an exponent: `10.0` and `1e1` are the whole number 10. Returns nil if
    /// it is not whole, or does not fit into 64 bits.
    static func wholeNumber(_ text: [UInt8]) -> Int64? {
        guard text.count <= longestNumber else { return nil }
        let isNegative = text.first == UInt8(ascii: "-")
        let parts = text.dropFirst(isNegative ? 1 : 0).split(maxSplits: 1) { $0 | 0x20 == UInt8(ascii: "e") }
        guard let mantissa = parts.first?.split(separator: UInt8(ascii: "."), maxSplits: 1) else { return nil }
        var digits = Array(mantissa.joined())
        if digits.allSatisfy({ $0 == UInt8(ascii: "0") }) { return 0 }
        let exponent = parts.count > 1 ? Int(String(decoding: parts[1], as: UTF8.self)) : 0
        guard let exponent, (-longestNumber...longestNumber).contains(exponent) else { return nil }
        var places = (mantissa.count > 1 ? mantissa[1].count : 0) - exponent
        while places > 0, digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            places -= 1
        }
        guard places <= 0 else { return nil }
        digits += [UInt8](repeating: UInt8(ascii: "0"), count: 0 - places)
        return Int64((isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self))
    }
}
