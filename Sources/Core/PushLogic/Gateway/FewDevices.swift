package import PushModel

/// The first few distinct devices of a batch, by hash. They suffice to tell a failure of one device from one of the
/// service.
package struct FewDevices: Sendable, Equatable {
    private var first: Int?
    private var second: Int?
    private var third: Int?
    private var fourth: Int?

    package init() {}

    package var count: Int {
        fourth != nil ? 4 : third != nil ? 3 : second != nil ? 2 : first != nil ? 1 : 0
    }

    package mutating func note(_ token: Address) { note(hash: token.hashValue) }

    mutating func note(_ others: FewDevices) {
        for hash in [others.first, others.second, others.third, others.fourth] {
            if let hash { note(hash: hash) }
        }
    }

    /// Returns whether all of these devices are among the others.
    func isPart(of others: FewDevices) -> Bool {
        [first, second, third, fourth].allSatisfy { $0.map(others.contains) ?? true }
    }

    private func contains(_ hash: Int) -> Bool { hash == first || hash == second || hash == third || hash == fourth }

    private mutating func note(hash: Int) {
        if fourth != nil || contains(hash) { return }
        if first == nil {
            first = hash
        } else if second == nil {
            second = hash
        } else if third == nil {
            third = hash
        } else {
            fourth = hash
        }
    }
}
