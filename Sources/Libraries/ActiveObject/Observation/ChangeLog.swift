import PushSQLite

/// The changes of a running transaction row by row, with marks for savepoints.
///
/// SQLite reports rows and savepoints. It numbers savepoints by their depth, and opens one of its own around each
/// statement that can fail halfway.
struct ChangeLog {
    private struct Entry {
        let table: Int
        let change: RowChange
    }

    private var entries: [Entry] = []
    /// The number of entries at the begin of each open savepoint.
    private var marks: [Int] = []
    private let limit: Int
    /// False if there were more changes than the limit. Then nothing is known about the changes.
    private(set) var isComplete = true

    var isEmpty: Bool { entries.isEmpty && isComplete }

    /// - Parameter limit: The maximum number of changes that are recorded.
    init(limit: Int) {
        self.limit = limit
    }

    mutating func begin() {
        // Release the memory that a large transaction used.
        entries.removeAll(keepingCapacity: entries.count < 1024)
        marks.removeAll(keepingCapacity: true)
        isComplete = true
    }

    mutating func note(_ change: RowChange, in table: Int) {
        guard isComplete else { return }
        guard entries.count < limit else {
            isComplete = false
            entries = []
            return
        }
        entries.append(Entry(table: table, change: change))
    }

    mutating func savepoint(_ number: Int) {
        guard number >= 0 else { return }
        if number < marks.count { marks.removeSubrange(number...) }
        // Missing savepoints were opened before the first change.
        while marks.count < number { marks.append(marks.last ?? 0) }
        marks.append(entries.count)
    }

    /// Ends the savepoint and all savepoints inside it. Their changes remain.
    mutating func release(_ number: Int) {
        guard number >= 0, number < marks.count else { return }
        marks.removeSubrange(number...)
    }

    /// Removes the changes since the savepoint, which stays open.
    mutating func rollBack(to number: Int) {
        guard number >= 0, number < marks.count else { return }
        // If the changes are unknown, the remaining ones are unknown too.
        if isComplete { entries.removeSubrange(marks[number]...) }
        marks.removeSubrange((number + 1)...)
    }

    /// Returns the net effect on each table that has one.
    func netEffect() -> [Int: ChangeSet] {
        /// Whether a row existed before the transaction, and whether it exists now.
        struct Row {
            let wasThere: Bool
            var isThere: Bool
        }
        var tables: [Int: [Int64: Row]] = [:]
        for entry in entries {
            func record(_ id: Int64, wasThere: Bool, isThere: Bool) {
                tables[entry.table, default: [:]][id, default: Row(wasThere: wasThere, isThere: isThere)]
                    .isThere =
                    isThere
            }
            switch entry.change {
            case .inserted(let id): record(id, wasThere: false, isThere: true)
            case .removed(let id): record(id, wasThere: true, isThere: false)
            case .updated(let old, let new) where old == new: record(old, wasThere: true, isThere: true)
            case .updated(let old, let new):
                record(old, wasThere: true, isThere: false)
                record(new, wasThere: false, isThere: true)
            }
        }
        return tables.compactMapValues { rows in
            var (inserted, updated, removed): ([Int64], [Int64], [Int64]) = ([], [], [])
            for (id, row) in rows {
                switch (row.wasThere, row.isThere) {
                case (false, true): inserted.append(id)
                case (true, true): updated.append(id)
                case (true, false): removed.append(id)
                case (false, false): break
                }
            }
            let changes = ChangeSet(
                inserted: inserted.sorted(), updated: updated.sorted(), removed: removed.sorted())
            return changes.isEmpty ? nil : changes
        }
    }
}
