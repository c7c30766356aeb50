/// The offsets of the columns in a record, without the record's type. Every value of every row passes through this
/// code.
///
/// Generic code that is compiled once for all types looks up metadata in the runtime and counts references, which cost
/// more than SQLite for ten columns. This type only uses offsets and codecs.
struct RowLayout {
    struct Slot {
        let offset: Int
        let kind: ColumnKind
        let codec: any ColumnCodec.Type
        let type: Any.Type
    }

    private struct UnstoredSlot {
        let offset: Int
        let type: any ExpressibleByNilLiteral.Type
    }

    private let slots: ContiguousArray<Slot>
    /// The properties without a column. They are nil in records that are read.
    private let unstored: ContiguousArray<UnstoredSlot>

    init(
        columns: [(offset: Int, type: Any.Type, codec: any ColumnCodec.Type)],
        unstored: [(offset: Int, type: any ExpressibleByNilLiteral.Type)]
    ) {
        slots = ContiguousArray(
            columns.map {
                Slot(offset: $0.offset, kind: ColumnKind(of: $0.codec), codec: $0.codec, type: $0.type)
            })
        self.unstored = ContiguousArray(unstored.map { UnstoredSlot(offset: $0.offset, type: $0.type) })
    }

    /// A fault with the index of its column.
    struct Fault: Error {
        let column: Int
        let fault: ColumnFault
    }

    /// Binds the columns from index `first` on to the parameters from 1 on, directly from the record's memory.
    func bind(_ record: UnsafeRawPointer, from first: Int, to statement: Statement) throws(Fault) {
        let slots = self.slots.span
        var column = first
        do throws(ColumnFault) {
            while column < slots.count {
                try unsafe slots[column].bind(
                    record, to: statement, at: Int32(truncatingIfNeeded: column &- first &+ 1))
                column &+= 1
            }
        } catch {
            throw Fault(column: column, fault: error)
        }
    }

    /// Binds one column to any parameter.
    func bind(
        _ record: UnsafeRawPointer, column: Int, to statement: Statement, at index: Int32
    ) throws(Fault) {
        do throws(ColumnFault) {
            try unsafe slots[column].codec.bind(from: record + slots[column].offset, to: statement, at: index)
        } catch {
            throw Fault(column: column, fault: error)
        }
    }

    /// Returns the value of a column as it would be stored.
    func stored(_ record: UnsafeRawPointer, column: Int) throws(Fault) -> SQLValue {
        do throws(ColumnFault) {
            return try unsafe slots[column].codec.stored(from: record + slots[column].offset)
        } catch {
            throw Fault(column: column, fault: error)
        }
    }

    var hasUnstored: Bool { !unstored.isEmpty }

    /// Copies the properties without a column from one record into another.
    func copyUnstored(from old: UnsafeRawPointer, to new: UnsafeMutableRawPointer) {
        for slot in unstored { unsafe copy(slot.type, from: old + slot.offset, to: new + slot.offset) }
    }

    /// Initializes a record in uninitialized memory from the columns of a row. If a column cannot be read, the memory
    /// is left uninitialized.
    func read(
        from statement: Statement, firstColumn: Int32, into record: UnsafeMutableRawPointer
    ) throws(Fault) {
        let slots = self.slots.span
        var column = 0
        do throws(ColumnFault) {
            while column < slots.count {
                try unsafe slots[column].read(
                    from: statement, at: firstColumn &+ Int32(truncatingIfNeeded: column), into: record)
                column &+= 1
            }
        } catch {
            unsafe deinitializeColumns(of: record, before: column)
            throw Fault(column: column, fault: error)
        }
        if !unstored.isEmpty { unsafe initializeUnstored(of: record) }
    }

    enum Filled {
        case isFull, isDone
        /// The row after the last record cannot be read.
        case stopped(Fault)
    }

    /// Initializes consecutive records from the next rows until there are `limit` records.
    ///
    /// - Parameter count: The number of initialized records, also if it throws.
    func fill(
        _ memory: UnsafeMutableRawPointer, stride: Int, count: inout Int, limit: Int, from statement: Statement
    ) throws(ActiveObjectError) -> Filled {
        while count < limit {
            guard try statement.step() else { return .isDone }
            do throws(Fault) {
                try unsafe read(from: statement, firstColumn: 0, into: memory + count &* stride)
            } catch {
                return .stopped(error)
            }
            count &+= 1
        }
        return .isFull
    }

    /// Initializes a record from columns in another order. `columns` contains the index of each.
    func read(
        from statement: Statement, columns: [Int32], into record: UnsafeMutableRawPointer
    ) throws(Fault) {
        for (column, slot) in slots.enumerated() {
            do throws(ColumnFault) {
                try unsafe slot.read(from: statement, at: columns[column], into: record)
            } catch {
                unsafe deinitializeColumns(of: record, before: column)
                throw Fault(column: column, fault: error)
            }
        }
        if !unstored.isEmpty { unsafe initializeUnstored(of: record) }
    }

    @inline(never)
    private func deinitializeColumns(of record: UnsafeMutableRawPointer, before column: Int) {
        for slot in slots[..<column] { unsafe deinitialize(slot.type, at: record + slot.offset) }
    }

    @inline(never)
    private func initializeUnstored(of record: UnsafeMutableRawPointer) {
        for slot in unstored { unsafe initializeToNil(slot.type, at: record + slot.offset) }
    }
}

private func deinitialize<Value>(_ type: Value.Type, at memory: UnsafeMutableRawPointer) {
    unsafe memory.assumingMemoryBound(to: Value.self).deinitialize(count: 1)
}

private func initializeToNil<Value: ExpressibleByNilLiteral>(_ type: Value.Type, at memory: UnsafeMutableRawPointer) {
    unsafe memory.initializeMemory(as: Value.self, to: nil)
}

private func copy<Value: ExpressibleByNilLiteral>(
    _ type: Value.Type, from old: UnsafeRawPointer, to new: UnsafeMutableRawPointer
) {
    unsafe new.assumingMemoryBound(to: Value.self).pointee = old.assumingMemoryBound(to: Value.self).pointee
}

extension ColumnCodec {
    static func stored(from property: UnsafeRawPointer) throws(ColumnFault) -> SQLValue {
        try stored(unsafe property.assumingMemoryBound(to: Value.self).pointee)
    }
}
