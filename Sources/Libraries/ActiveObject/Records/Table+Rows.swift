extension Table {
    /// Binds the columns from index `first` on to the parameters from 1 on.
    func bind(_ record: UnsafeRawPointer, from first: Int = 1, to statement: Statement) throws(ActiveObjectError) {
        do throws(RowLayout.Fault) {
            try unsafe layout.bind(record, from: first, to: statement)
        } catch {
            throw self.error(error.fault, in: fields[error.column])
        }
    }

    /// Binds all columns except `objectId`. The record is not changed; `inout` only avoids a copy.
    func bind(_ record: inout Record, to statement: Statement) throws {
        try unsafe withUnsafeMutableBytes(of: &record) { record in
            guard let record = record.baseAddress else { return }
            try unsafe bind(UnsafeRawPointer(record), to: statement)
        }
    }

    /// Binds some columns to the parameters from 1 on.
    func bind(_ record: Record, columns: [Int], to statement: Statement) throws {
        try unsafe withUnsafeBytes(of: record) { record in
            guard let record = record.baseAddress else { return }
            for (index, column) in columns.enumerated() {
                do throws(RowLayout.Fault) {
                    try unsafe layout.bind(record, column: column, to: statement, at: Int32(index + 1))
                } catch {
                    throw self.error(error.fault, in: fields[error.column])
                }
            }
        }
    }

    /// Binds an `objectId` or a version to a parameter after the columns.
    func bindKey(_ key: Int64, to statement: Statement, at index: Int) throws(ActiveObjectError) {
        do throws(ColumnFault) {
            try statement.bind(key, at: Int32(index))
        } catch {
            throw ActiveObjectError(
                .badSQL,
                message: "a statement of \(name) has no parameter ?\(index); an override must use all parameters",
                table: name)
        }
    }

    /// Replaces the record by the contents of its row. Properties without a column are kept.
    func refresh(_ record: inout Record, from statement: Statement) throws {
        var fresh = try self.record(from: statement)
        if layout.hasUnstored {
            unsafe withUnsafeBytes(of: record) { old in
                unsafe withUnsafeMutableBytes(of: &fresh) { new in
                    guard let old = old.baseAddress, let new = new.baseAddress else { return }
                    unsafe layout.copyUnstored(from: old, to: new)
                }
            }
        }
        record = fresh
    }

    /// Initializes a record in uninitialized memory from a row with the columns of `columnList`.
    func read(
        from statement: Statement, into record: UnsafeMutableRawPointer, firstColumn: Int32 = 0
    ) throws(ActiveObjectError) {
        do throws(RowLayout.Fault) {
            try unsafe layout.read(from: statement, firstColumn: firstColumn, into: record)
        } catch {
            throw self.error(error, in: statement, firstColumn: firstColumn)
        }
    }

    private func error(_ fault: RowLayout.Fault, in statement: Statement, firstColumn: Int32 = 0) -> ActiveObjectError {
        error(
            fault.fault, in: fields[fault.column],
            found: try? statement.value(firstColumn + Int32(truncatingIfNeeded: fault.column)))
    }

    /// Returns the record of the current row.
    func record(from statement: Statement, firstColumn: Int32 = 0) throws(ActiveObjectError) -> Record {
        let memory = UnsafeMutablePointer<Record>.allocate(capacity: 1)
        defer { unsafe memory.deallocate() }
        try unsafe read(from: statement, into: UnsafeMutableRawPointer(memory), firstColumn: firstColumn)
        return unsafe memory.move()
    }

    /// Returns the records of all rows of a statement.
    ///
    /// - Parameter isAtRow: Whether the statement is already at its first row.
    func records(from statement: Statement, isAtRow: Bool = false) throws(ActiveObjectError) -> [Record] {
        var blocks = RecordBlocks<Record>()
        if isAtRow {
            try unsafe read(from: statement, into: blocks.lastBlock())
            blocks.countInLast = 1
        }
        // Rows are read in blocks, so that generic code does not run for each row.
        while true {
            let filled = try unsafe layout.fill(
                blocks.lastBlock(), stride: MemoryLayout<Record>.stride, count: &blocks.countInLast,
                limit: RecordBlocks<Record>.blockSize, from: statement)
            switch filled {
            case .isFull: continue
            case .isDone: return blocks.takeAll()
            case .stopped(let fault): throw error(fault, in: statement)
            }
        }
    }
}

/// A buffer for records that will become an array. It consists of blocks, from which the records are moved into the
/// array when their number is known. No record is copied or moved twice.
@safe
private struct RecordBlocks<Record>: ~Copyable {
    private var full: [UnsafeMutablePointer<Record>] = unsafe []
    private var last: UnsafeMutablePointer<Record>
    /// The number of records in the last block.
    var countInLast = 0

    static var blockSize: Int { 256 }

    init() {
        unsafe last = .allocate(capacity: Self.blockSize)
    }

    deinit {
        unsafe full.forEach { block in
            unsafe block.deinitialize(count: Self.blockSize)
            unsafe block.deallocate()
        }
        unsafe last.deinitialize(count: countInLast)
        unsafe last.deallocate()
    }

    /// Returns a block with room for another record.
    mutating func lastBlock() -> UnsafeMutableRawPointer {
        if countInLast == Self.blockSize {
            unsafe full.append(last)
            unsafe last = .allocate(capacity: Self.blockSize)
            countInLast = 0
        }
        return unsafe UnsafeMutableRawPointer(last)
    }

    mutating func takeAll() -> [Record] {
        let count = unsafe full.count * Self.blockSize + countInLast
        return unsafe Array(unsafeUninitializedCapacity: count) { buffer, initialized in
            guard var end = buffer.baseAddress else { return }
            unsafe full.forEach { block in
                unsafe end.moveInitialize(from: block, count: Self.blockSize)
                unsafe block.deallocate()
                unsafe end += Self.blockSize
            }
            unsafe full.removeAll()
            unsafe end.moveInitialize(from: last, count: countInLast)
            countInLast = 0
            initialized = count
        }
    }
}
