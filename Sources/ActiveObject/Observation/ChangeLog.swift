/// What a running transaction has changed so far, row by row, with marks to go back to.
///
/// It is told of rows and of savepoints by SQLite, which numbers savepoints by their depth and opens one of its own
/// around each statement that can fail halfway.
struct ChangeLog {
    enum Change: Equatable {
        case inserted(Int64)
        case removed(Int64)
        /// The key of a row can change too.
        case updated(from: Int64, to: Int64)
    }

    private struct Entry {
        let table: Int
        let change: Change
    }

    private var entries: [Entry] = []
    /// How many entries there were when each of the open savepoints began.
    private var marks: [Int] = []
    private let limit: Int
    /// False: there were more changes than are kept, and nothing is known any more.
    private(set) var isComplete = true

    var isEmpty: Bool { entries.isEmpty && isComplete }

    /// - Parameter limit: how many changes are kept.
    init(limit: Int) {
        self.limit = limit
    }

    mutating func begin() {
        // The room that a large transaction took is given back.
        entries.removeAll(keepingCapacity: entries.count < 1024)
        marks.removeAll(keepingCapacity: true)
        isComplete = true
    }

    mutating func note(_ change: Change, in table: Int) {
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
        // A savepoint that nobody told of was there before the first change.
        while marks.count < number { marks.append(marks.last ?? 0) }
        marks.append(entries.count)
    }

    /// The savepoint and all inside it are over; what was done stays.
    mutating func release(_ number: Int) {
        guard number >= 0, number < marks.count else { return }
        marks.removeSubrange(number...)
    }

    /// What was done since is undone; the savepoint itself stays open.
    mutating func rollBack(to number: Int) {
        guard number >= 0, number < marks.count else { return }
        // Once it is not known what was changed, neither is what remains of it.
        if isComplete { entries.removeSubrange(marks[number]...) }
        marks.removeSubrange((number + 1)...)
    }

    /// The net effect on each table that has one.
    func netEffect() -> [Int: ChangeSet] {
        /// Whether a row was there before the transaction, and whether it is now.
        struct Row {
            let wasThere: Bool
            var isThere: Bool
        }
        var tables: [Int: [Int64: Row]] = [:]
        for entry in entries {
            func see(_ id: Int64, wasThere: Bool, isThere: Bool) {
                tables[entry.table, default: [:]][id, default: Row(wasThere: wasThere, isThere: isThere)]
                    .isThere =
                    isThere
            }
            switch entry.change {
            case .inserted(let id): see(id, wasThere: false, isThere: true)
            case .removed(let id): see(id, wasThere: true, isThere: false)
            case .updated(let old, let new) where old == new: see(old, wasThere: true, isThere: true)
            case .updated(let old, let new):
                see(old, wasThere: true, isThere: false)
                see(new, wasThere: false, isThere: true)
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
