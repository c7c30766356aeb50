/// Reals as whole numbers times a power of two, for long lists. SQLite's JSON preserves whole numbers, and multiplying
/// by a power of two is exact, so every real is preserved bit by bit.
struct ScaledReals {
    let scale: Double
    /// A JSON array of whole numbers.
    let json: String

    /// The number of adjacent powers of two that share a list: 53 bits plus these fit into 63. So there are at most 205
    /// lists; SQLite allows 500 parts of a UNION.
    private static let width = 10
    /// The exponent of the smallest positive real.
    private static let minExponent = -1074

    /// Splits `values` into reals and the rest. Infinities are not multiples of anything and belong to the rest, one of
    /// each.
    static func taken(from values: [SQLValue]) -> (reals: [ScaledReals], rest: [SQLValue]) {
        var lists: [Int: String] = [:]
        var infinities: Set<Double> = []
        var rest: [SQLValue] = []
        for value in values {
            guard case .real(let real) = value else {
                rest.append(value)
                continue
            }
            guard real.isFinite else {
                infinities.insert(real)
                continue
            }
            let (list, number) = location(of: real)
            lists[list, default: ""] += lists[list] == nil ? "[\(number)" : ",\(number)"
        }
        let reals = lists.sorted { $0.key < $1.key }.map { list, numbers in
            let exponent = minExponent + list * width
            return ScaledReals(scale: Double(sign: .plus, exponent: exponent, significand: 1), json: numbers + "]")
        }
        return (reals, rest + infinities.sorted().map(SQLValue.real))
    }

    /// Returns the list and the number so that `real` is the number times the power of two of the list.
    private static func location(of real: Double) -> (list: Int, number: Int64) {
        let isNormal = real.exponentBitPattern > 0
        let bits = Int64(real.significandBitPattern) | (isNormal ? 1 << 52 : 0)
        let (list, shift) = (Int(real.exponentBitPattern) - (isNormal ? 1 : 0)).quotientAndRemainder(dividingBy: width)
        let number = bits << Int64(shift)
        return (list, real.sign == .minus ? -number : number)
    }
}
