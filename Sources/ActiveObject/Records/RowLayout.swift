import FoundationEssentials

/// Where the columns of a row lie in a record, without the record's type: the path that each value of each row takes.
///
/// Generic code that is compiled once for all types asks the runtime for metadata and keeps counting references; over
/// ten columns that cost more than SQLite. What is here knows offsets and codecs only.
struct RowLayout {
    fileprivate struct Slot {
        let offset: Int
        let kind: ColumnKind
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
        slots = ContiguousArray(
            columns.map {
                Slot(offset: $0.offset, kind: ColumnKind(of: $0.codec), codec: $0.codec, type: $0.type)
            })
        self.empty = ContiguousArray(empty.map { EmptySlot(offset: $0.offset, type: $0.type) })
    }

    /// A fault, and the number of the column that it is in.
    struct Fault: Error {
        let column: Int
        let fault: ColumnFault
    }

    /// Binds the columns from `first` on, as parameters from 1 on, straight from the record's memory.
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

    /// Binds one column, wherever a statement wants it.
    func bind(
        _ record: UnsafeRawPointer, column: Int, to statement: Statement, at index: Int32
    ) throws(Fault) {
        do throws(ColumnFault) {
            try unsafe slots[column].codec.bind(from: record + slots[column].offset, to: statement, at: index)
        } catch {
            throw Fault(column: column, fault: error)
        }
    }

    /// What a column would hold of a record.
    func stored(_ record: UnsafeRawPointer, column: Int) throws(Fault) -> SQLValue {
        do throws(ColumnFault) {
            return try unsafe slots[column].codec.stored(from: record + slots[column].offset)
        } catch {
            throw Fault(column: column, fault: error)
        }
    }

    var hasUnstored: Bool { !empty.isEmpty }

    /// Properties without a column, from one record into another.
    func copyUnstored(from old: UnsafeRawPointer, to new: UnsafeMutableRawPointer) {
        for slot in empty { unsafe copy(slot.type, from: old + slot.offset, to: new + slot.offset) }
    }

    /// Builds a record in memory that holds none, from the columns of a row.
    ///
    /// If a column cannot be read, what was built so far is taken down again, and the memory holds nothing.
    func read(
        _ statement: Statement, firstColumn: Int32, into record: UnsafeMutableRawPointer
    ) throws(Fault) {
        let slots = self.slots.span
        var column = 0
        do throws(ColumnFault) {
            while column < slots.count {
                try unsafe slots[column].read(
                    statement, firstColumn &+ Int32(truncatingIfNeeded: column), into: record)
                column &+= 1
            }
        } catch {
            unsafe takeDown(record, before: column)
            throw Fault(column: column, fault: error)
        }
        if !empty.isEmpty { unsafe empties(record) }
    }

    enum Filled {
        case isFull, isDone
        /// The row behind the last record cannot be read.
        case stopped(Fault)
    }

    /// Builds records one behind the other from the rows that come next, until `limit` of them are there.
    ///
    /// - Parameter count: how many are there, also if it throws.
    func fill(
        _ memory: UnsafeMutableRawPointer, stride: Int, count: inout Int, limit: Int, from statement: Statement
    ) throws(ActiveObjectError) -> Filled {
        while count < limit {
            guard try statement.step() else { return .isDone }
            do throws(Fault) {
                try unsafe read(statement, firstColumn: 0, into: memory + count &* stride)
            } catch {
                return .stopped(error)
            }
            count &+= 1
        }
        return .isFull
    }

    /// The same from columns that stand in another order: `columns` says where each is.
    func read(
        _ statement: Statement, columns: [Int32], into record: UnsafeMutableRawPointer
    ) throws(Fault) {
        for (column, slot) in slots.enumerated() {
            do throws(ColumnFault) {
                try unsafe slot.read(statement, columns[column], into: record)
            } catch {
                unsafe takeDown(record, before: column)
                throw Fault(column: column, fault: error)
            }
        }
        if !empty.isEmpty { unsafe empties(record) }
    }

    @inline(never)
    private func takeDown(_ record: UnsafeMutableRawPointer, before column: Int) {
        for slot in slots[..<column] { unsafe deinitialize(slot.type, at: record + slot.offset) }
    }

    @inline(never)
    private func empties(_ record: UnsafeMutableRawPointer) {
        for slot in empty { unsafe initializeToNil(slot.type, at: record + slot.offset) }
    }
}

/// The codecs that most columns have. What they do is written out in the loop over a row, and only the others are asked.
private enum ColumnKind: UInt8 {
    case key, integer, real, text, bool, date
    /// An enum of texts, whose values are one byte each.
    case oneByteText
    case other

    init(of codec: any ColumnCodec.Type) {
        if codec == OptionalInt64.self {
            self = .key
        } else if codec == Int.self || codec == Int64.self {
            self = .integer
        } else if codec == Double.self {
            self = .real
        } else if codec == String.self {
            self = .text
        } else if codec == Bool.self {
            self = .bool
        } else if codec == Date.self {
            self = .date
        } else if let codec = codec as? any TextCodec.Type, codec.isOneByte {
            self = .oneByteText
        } else {
            self = .other
        }
    }
}

extension RowLayout.Slot {
    @inline(__always)
    fileprivate func read(
        _ statement: Statement, _ index: Int32, into record: UnsafeMutableRawPointer
    ) throws(ColumnFault) {
        let property = unsafe record + offset
        switch kind {
        case .key: unsafe property.initializeMemory(as: Int64?.self, to: try statement.optionalInteger(index))
        case .integer: unsafe property.storeBytes(of: try statement.integer(index), as: Int64.self)
        case .real: unsafe property.initializeMemory(as: Double.self, to: try statement.real(index))
        case .text: unsafe property.initializeMemory(as: String.self, to: try statement.text(index))
        case .bool: unsafe property.initializeMemory(as: Bool.self, to: try Bool.read(statement, index))
        case .date: unsafe property.initializeMemory(as: Date.self, to: try Date.read(statement, index))
        case .oneByteText: try unsafe readOneByteText(statement, index, into: property)
        case .other: try unsafe codec.read(statement, index, into: property)
        }
    }

    @inline(__always)
    fileprivate func bind(
        _ record: UnsafeRawPointer, to statement: Statement, at index: Int32
    ) throws(ColumnFault) {
        let property = unsafe record + offset
        switch kind {
        case .integer: try statement.bind(unsafe property.load(as: Int64.self), at: index)
        case .real: try statement.bind(unsafe property.assumingMemoryBound(to: Double.self).pointee, at: index)
        case .text: try statement.bind(unsafe property.assumingMemoryBound(to: String.self).pointee, at: index)
        case .bool: try Bool.bind(unsafe property.assumingMemoryBound(to: Bool.self).pointee, to: statement, at: index)
        case .date: try Date.bind(unsafe property.assumingMemoryBound(to: Date.self).pointee, to: statement, at: index)
        case .oneByteText: try unsafe bindOneByteText(property, to: statement, at: index)
        case .key, .other: try unsafe codec.bind(from: property, to: statement, at: index)
        }
    }

    @inline(__always)
    private func bindOneByteText(
        _ property: UnsafeRawPointer, to statement: Statement, at index: Int32
    ) throws(ColumnFault) {
        let (value, type) = unsafe (property.load(as: UInt8.self), ObjectIdentifier(type))
        if let text = statement.knownTexts.text(of: value, as: type) { return try statement.bind(text, at: index) }
        try unsafe codec.bind(from: property, to: statement, at: index)
        if case .text(let text) = try unsafe codec.stored(from: property) {
            statement.knownTexts.keep(text, of: value, as: type)
        }
    }

    @inline(__always)
    private func readOneByteText(
        _ statement: Statement, _ index: Int32, into property: UnsafeMutableRawPointer
    ) throws(ColumnFault) {
        guard let text = statement.shortText(index) else {
            return try unsafe codec.read(statement, index, into: property)
        }
        let type = ObjectIdentifier(type)
        if let value = statement.knownTexts.value(of: text, as: type) {
            return unsafe property.storeBytes(of: value, as: UInt8.self)
        }
        try unsafe codec.read(statement, index, into: property)
        statement.knownTexts.keep(unsafe property.load(as: UInt8.self), of: text, as: type)
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
    fileprivate static func stored(from property: UnsafeRawPointer) throws(ColumnFault) -> SQLValue {
        try stored(unsafe property.assumingMemoryBound(to: Value.self).pointee)
    }
}
