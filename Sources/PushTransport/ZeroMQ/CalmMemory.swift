/// Decides whether the process grows by the doing of connections that hoard, as far as its memory tells.
///
/// What is ordinary growth does not count: nothing does while connections hold little, and otherwise only as much as
/// they can account for. The rest raises the mark that growth is measured from.
struct CalmMemory {
    /// Bytes of memory that a byte on the wire can take: a frame of no bytes takes two there, and sixty-four here.
    static let swelling = 32

    private let growth: Int
    private var mark: Int?

    /// - Parameter growth: bytes that the process may grow by.
    init(growth: Int) {
        self.growth = growth
    }

    /// - Parameters:
    ///   - memory: what the process takes now.
    ///   - unread: bytes that connections hold.
    mutating func isExceeded(by memory: Int, unread: Int) -> Bool {
        let (product, overflow) = unread.multipliedReportingOverflow(by: Self.swelling)
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
