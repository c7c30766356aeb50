/// The deliveries that were sent last, by the hashes of their ids, in the memory of one node: which groups of the log may
/// have events of them.
///
/// The ids come from devices, and anyone can make them up. An id that does not exist costs two memory accesses for each
/// run, and a walk through the hashes of a run for one in twenty.
struct SentIndex {
    /// The number of hashes in a run.
    private static let runLength = 131_072
    /// The number of runs: about eight million deliveries, in 50 MiB. Older ones are not found.
    private static let maxRuns = 64

    private struct Run {
        var filter = TraceFilter()
        var hashes: [UInt32] = []
        /// The groups, each with the index after its last hash.
        var groups: [(number: UInt64, end: Int)] = []

        func groups(of hash: UInt32) -> [UInt64] {
            guard filter.mayContain(hash) else { return [] }
            var found: [UInt64] = []
            var group = 0
            for (index, known) in hashes.enumerated() where known == hash {
                while groups[group].end <= index { group += 1 }
                if found.last != groups[group].number { found.append(groups[group].number) }
            }
            return found
        }
    }

    private var runs: [Run] = []

    mutating func add(_ hashes: [UInt32], number: UInt64) {
        if hashes.isEmpty { return }
        if runs.last.map({ $0.hashes.count >= Self.runLength }) ?? true {
            if runs.count >= Self.maxRuns { runs.removeFirst() }
            runs.append(Run())
        }
        let last = runs.count - 1
        for hash in hashes { runs[last].filter.insert(hash) }
        runs[last].hashes += hashes
        runs[last].groups.append((number, runs[last].hashes.count))
    }

    /// Returns the numbers of the groups that may have events of a delivery, the newest first.
    func groups(of hash: UInt32) -> [UInt64] {
        runs.reversed().flatMap { $0.groups(of: hash).reversed() }
    }
}
