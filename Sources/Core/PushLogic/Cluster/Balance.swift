/// The assignment of partitions to nodes. It depends only on the tables, so that all nodes that read the same tables
/// compute the same one, and nobody has to ask for a partition.
///
/// Each node has a quota: the partitions divided by the nodes, rounded up for those that hold most. A partition moves
/// only from a node above its quota to one below, so that a node that joins a balanced cluster of n - 1 nodes moves
/// exactly its quota, and a balanced cluster moves nothing.
enum Balance {
    enum Holder: Equatable {
        /// A node that may keep the partition, by its index in the order of names.
        case member(Int)
        /// A node that hands over all that it has.
        case leaving
        /// Nobody.
        case orphan
        /// A node whose lease has ended and that has not been declared dead.
        case fixed
    }

    /// Returns the index of the node that each partition is to move to, or nil for those that stay.
    ///
    /// - Complexity: O(partitions × members).
    static func plan(_ holders: [Holder], members: Int) -> [Int?] {
        var homes = [Int?](repeating: nil, count: holders.count)
        guard members > 0 else { return homes }
        var counts = [Int](repeating: 0, count: members)
        for case .member(let member) in holders where member < members { counts[member] += 1 }
        var quotas = quotas(counts, partitions: holders.count)

        func assign(_ partition: Int) {
            guard let room = (0..<members).max(by: { quotas[$0] < quotas[$1] }), quotas[room] > 0 else { return }
            quotas[room] -= 1
            homes[partition] = room
        }
        // From here on, quotas are what is left of them.
        for member in 0..<members { quotas[member] -= counts[member] }
        for (partition, holder) in holders.enumerated() where holder == .orphan { assign(partition) }
        for (partition, holder) in holders.enumerated() where holder == .leaving { assign(partition) }
        for (partition, holder) in holders.enumerated().reversed() {
            guard case .member(let member) = holder, member < members, quotas[member] < 0 else { continue }
            assign(partition)
            if homes[partition] != nil { quotas[member] += 1 }
        }
        return homes
    }

    private static func quotas(_ counts: [Int], partitions: Int) -> [Int] {
        let (least, rest) = partitions.quotientAndRemainder(dividingBy: counts.count)
        var quotas = [Int](repeating: least, count: counts.count)
        let ranked = counts.indices.sorted { counts[$0] != counts[$1] ? counts[$0] > counts[$1] : $0 < $1 }
        for member in ranked.prefix(rest) { quotas[member] += 1 }
        return quotas
    }
}
