/// The numbers in a store of messages that were imported, by their former numbers.
struct ImportNumbers {
    /// The accepted messages of one row of keys.
    private struct Row {
        let first: UInt64
        let count: Int
        /// Where the numbers of the row begin.
        let start: Int
    }

    /// In ascending order.
    private var rows: [Row] = []
    /// The new numbers; 0 for a message that has none, because its part is not known.
    private var numbers: [UInt64] = []
    /// The new numbers of messages that are in no row.
    private var others: [UInt64: UInt64] = [:]

    /// Adds a row of keys, whose messages get their numbers later. Rows come in ascending order.
    mutating func addRow(first: UInt64, count: Int) {
        guard count > 0 else { return }
        rows.append(Row(first: first, count: count, start: numbers.count))
        numbers.append(contentsOf: repeatElement(0, count: count))
    }

    /// Sets the new number of a message.
    mutating func set(_ old: UInt64, to new: UInt64) {
        if let place = place(of: old) { numbers[place] = new } else { others[old] = new }
    }

    /// Returns the new number; nil if the message has none.
    subscript(old: UInt64) -> UInt64? {
        guard let place = place(of: old) else { return others[old] }
        return numbers[place] == 0 ? nil : numbers[place]
    }

    /// Whether a row of keys has the message.
    func hasRow(of old: UInt64) -> Bool { place(of: old) != nil }

    private func place(of old: UInt64) -> Int? {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].first <= old { low = middle + 1 } else { high = middle }
        }
        guard low > 0, old - rows[low - 1].first < UInt64(rows[low - 1].count) else { return nil }
        return rows[low - 1].start + Int(old - rows[low - 1].first)
    }
}
