/// A quick hash for tables in which a producer's names stand: as long as the seed is not known, nobody can choose names
/// that fall into one place.
enum TableHash {
    @inline(__always)
    static func of(_ one: UInt64, _ other: UInt64, seed: UInt64) -> UInt64 {
        // Both sides have something secret in them: a factor that could be made zero would hide the other.
        let product = (one ^ seed).multipliedFullWidth(by: other ^ (~seed &* 0x9e37_79b9_7f4a_7c15))
        return product.high ^ product.low
    }
}
