/// Where the columns of a row lie in a record, without the record's type: the path that each value of each row takes.
///
/// Generic code that is compiled once for all types asks the runtime for metadata and keeps counting references; over
/// ten columns that cost more than SQLite. What is here knows offsets and codecs only.
struct RowLayout {
    private struct Slot {
        let offset: Int
        let codec: any ColumnCodec.Type
        let type: Any.Type
    }

    private struct EmptySlot {
        let offset: Int
        let type: any ExpressibleByNilLiteral.Type
    }

    private let slots: ContiguousArray<Slot>
    /// Properties without a column: nil in what is read.
    private let empty: ContiguousArray<EmptySlot>

    init(
        columns: [(offset: Int, type: Any.Type, codec: any ColumnCodec.Type)],
        empty: [(offset: Int, type: any ExpressibleByNilLiteral.Type)]
    ) {
        slots = ContiguousArray(columns.map { Slot(offset: $0.offset, codec: $0.codec, type: $0.type) })
        self.empty = ContiguousArray(empty.map { EmptySlot(offset: $0.offset, type: $0.type) })
    }

    /// A fault, and the number of the column that it is in.
    struct Fault: Error {
        let column: Int
        let fault: ColumnFault
    }

    /// Binds the columns from `first` on, as parameters from 1 on, straight from the record's memory.
    func bind(_ record: UnsafeRawPointer, from first: Int, to statement: Statement) throws(Fault) {
        var column = first
        while column < slots.count {
            do throws(ColumnFault) {
                try unsafe slots[column].codec.bind(
                    from: record + slots[column].offset, to: statement,
                    at: Int32(truncatingIfNeeded: column &- first &+ 1))
            } catch {
                throw Fault(column: column, fault: error)
            }
            column &+= 1
        }
    }

    /// Builds a record in memory that holds none, from the columns of a row.
    ///
    /// If a column cannot be read, what was built so far is taken down again, and the memory holds nothing.
    func read(
        _ statement: Statement, firstColumn: Int32, into record: UnsafeMutableRawPointer
    ) throws(Fault) {
        var column = 0
        while column < slots.count {
            do throws(ColumnFault) {
                try unsafe slots[column].codec.read(
                    statement, firstColumn &+ Int32(truncatingIfNeeded: column), into: record + slots[column].offset)
            } catch {
                for slot in slots[..<column] { unsafe deinitialize(slot.type, at: record + slot.offset) }
                throw Fault(column: column, fault: error)
            }
            column &+= 1
        }
        for slot in empty { unsafe initializeToNil(slot.type, at: record + slot.offset) }
    }

    /// The same from columns that stand in another order: `columns` says where each is.
    func read(
        _ statement: Statement, columns: [Int32], into record: UnsafeMutableRawPointer
    ) throws(Fault) {
        for (column, slot) in slots.enumerated() {
            do throws(ColumnFault) {
                try unsafe slot.codec.read(statement, columns[column], into: record + slot.offset)
            } catch {
                for slot in slots[..<column] { unsafe deinitialize(slot.type, at: record + slot.offset) }
                throw Fault(column: column, fault: error)
            }
        }
        for slot in empty { unsafe initializeToNil(slot.type, at: record + slot.offset) }
    }
}

private func deinitialize<Value>(_ type: Value.Type, at memory: UnsafeMutableRawPointer) {
    unsafe memory.assumingMemoryBound(to: Value.self).deinitialize(count: 1)
}

private func initializeToNil<Value: ExpressibleByNilLiteral>(_ type: Value.Type, at memory: UnsafeMutableRawPointer) {
    unsafe memory.initializeMemory(as: Value.self, to: nil)
}
