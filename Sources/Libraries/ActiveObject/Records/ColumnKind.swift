import FoundationEssentials

/// The most common codecs. The loop over a row handles them inline and calls only the others.
enum ColumnKind: UInt8 {
    case key, integer, real, text, bool, date
    /// An enum with raw texts whose values are one byte each.
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
    func read(
        from statement: Statement, at index: Int32, into record: UnsafeMutableRawPointer
    ) throws(ColumnFault) {
        let property = unsafe record + offset
        switch kind {
        case .key: unsafe property.initializeMemory(as: Int64?.self, to: try statement.optionalInteger(index))
        case .integer: unsafe property.storeBytes(of: try statement.integer(index), as: Int64.self)
        case .real: unsafe property.initializeMemory(as: Double.self, to: try statement.real(index))
        case .text: unsafe property.initializeMemory(as: String.self, to: try statement.text(index))
        case .bool: unsafe property.initializeMemory(as: Bool.self, to: try Bool.read(from: statement, at: index))
        case .date: unsafe property.initializeMemory(as: Date.self, to: try Date.read(from: statement, at: index))
        case .oneByteText: try unsafe readOneByteText(from: statement, at: index, into: property)
        case .other: try unsafe codec.read(from: statement, at: index, into: property)
        }
    }

    @inline(__always)
    func bind(
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
        from statement: Statement, at index: Int32, into property: UnsafeMutableRawPointer
    ) throws(ColumnFault) {
        guard let text = statement.shortText(index) else {
            return try unsafe codec.read(from: statement, at: index, into: property)
        }
        let type = ObjectIdentifier(type)
        if let value = statement.knownTexts.value(of: text, as: type) {
            return unsafe property.storeBytes(of: value, as: UInt8.self)
        }
        try unsafe codec.read(from: statement, at: index, into: property)
        statement.knownTexts.keep(unsafe property.load(as: UInt8.self), of: text, as: type)
    }
}
