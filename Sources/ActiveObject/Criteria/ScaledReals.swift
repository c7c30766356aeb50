/// Reals as whole numbers times a power of two, for long lists: SQLite's JSON brings whole numbers over unharmed, and
/// the product with a power of two is exact, so what it gives is the same to the last bit.
struct ScaledReals {
    let scale: Double
    /// An array of whole numbers.
    let json: String

    /// Powers of two that share a list: 53 bits and these are within 63. So there are at most 205 lists, and SQLite takes
    /// 500 parts of a UNION.
    private static let width = 10
    /// The least power of two that is not 0.
    private static let leastExponent = -1074

    /// The reals among `values`, and the rest; of infinities, which are no multiple of anything, one each.
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
            let (list, number) = place(of: real)
            lists[list, default: ""] += lists[list] == nil ? "[\(number)" : ",\(number)"
        }
        let reals = lists.sorted { $0.key < $1.key }.map { list, numbers in
            let exponent = leastExponent + list * width
            return ScaledReals(scale: Double(sign: .plus, exponent: exponent, significand: 1), json: numbers + "]")
        }
        return (reals, rest + infinities.sorted().map(SQLValue.real))
    }

    /// `real` is `number` times the power of two of the list.
    private static func place(of real: Double) -> (list: Int, number: Int64) {
        let isNormal = real.exponentBitPattern > 0
        let bits = Int64(real.significandBitPattern) | (isNormal ? 1 << 52 : 0)
        let (list, shift) = (Int(real.exponentBitPattern) - (isNormal ? 1 : 0)).quotientAndRemainder(dividingBy: width)
        let number = bits << Int64(shift)
        return (list, real.sign == .minus ? -number : number)
    }
}
