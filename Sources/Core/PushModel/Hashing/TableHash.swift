/// A fast hash for tables whose keys producers choose. Without knowledge of the seed nobody can choose keys that
/// collide.
enum TableHash {
    @inline(__always)
    static func of(high: UInt64, low: UInt64, seed: UInt64) -> UInt64 {
        // Both factors depend on the seed: a factor that a producer could make zero would hide the other.
        let product = (high ^ seed).multipliedFullWidth(by: low ^ (~seed &* 0x9e37_79b9_7f4a_7c15))
        return product.high ^ product.low
    }
}
