/// A detector that compares the growth of the process's memory with what hoarding connections can account for.
///
/// Ordinary growth does not count: no growth counts while connections hold little, and otherwise only as much as they
/// can account for. The rest raises the baseline from which growth is measured.
struct MemoryGrowthDetector {
    /// The maximum memory per byte on the wire: an empty frame takes two bytes on the wire and 64 bytes of memory.
    static let memoryPerByte = 32

    private let growth: Int
    private var mark: Int?

    /// - Parameter growth: The number of bytes by which the process may grow.
    init(growth: Int) {
        self.growth = growth
    }

    /// Returns whether connections have made the process grow by more than the limit.
    ///
    /// - Parameters:
    /// - memory: The current resident memory of the process.
    /// - unread: The number of bytes that connections hold.
    mutating func isExceeded(by memory: Int, unread: Int) -> Bool {
        let (product, overflow) = unread.multipliedReportingOverflow(by: Self.memoryPerByte)
        let swollen = overflow ? .max : product
        guard let before = mark, swollen > growth else {
            mark = memory
            return false
        }
        let now = max(before, memory - swollen)
        mark = now
        return memory - now > growth
    }
}
