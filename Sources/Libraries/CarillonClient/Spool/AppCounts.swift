/// The numbers of messages by app. Apps are told apart by a part of their hashes, so that the memory does not grow with
/// their number. Two with the same part count as one.
struct AppCounts {
    private var counts: [Int] = Array(repeating: 0, count: 4096)

    private func place(of app: IDKey) -> Int { Int(truncatingIfNeeded: app.hash >> 8) & (counts.count - 1) }

    func contains(_ app: IDKey) -> Bool { counts[place(of: app)] > 0 }

    mutating func add(_ app: IDKey) { counts[place(of: app)] += 1 }

    mutating func remove(_ app: IDKey) { counts[place(of: app)] = max(0, counts[place(of: app)] - 1) }

    mutating func removeAll() { counts = Array(repeating: 0, count: counts.count) }
}
