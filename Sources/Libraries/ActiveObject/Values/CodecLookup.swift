import FoundationEssentials

/// The choice of a codec for a type that is known at run time.
enum CodecLookup {
    /// Returns the codec for a property's type: that of a built-in type, or else one for a protocol to which the type
    /// conforms. Returns nil if a column cannot hold the type.
    static func codec(for type: Any.Type, dates: DateForm) -> (any ColumnCodec.Type)? {
        if let optional = type as? any OptionalType.Type {
            // An optional of an optional has two kinds of nil, but a column has one.
            guard let wrapped = codec(for: optional.wrappedType, dates: dates), !wrapped.isOptional else {
                return nil
            }
            if let compiled = compiledOptionalCodec(over: wrapped) { return compiled }
            return optionalCodec(over: wrapped)
        }
        if let builtIn = type as? any BuiltInCodec.Type {
            return builtIn == Date.self ? dates.codec : builtIn
        }
        if let own = type as? any ColumnValue.Type { return columnValueCodec(own) }
        if let bytes = type as? any ColumnBytes.Type { return bytesCodec(bytes) }
        if let raw = type as? any RawRepresentable<String>.Type { return rawTextCodec(raw) }
        if let raw = type as? any RawRepresentable<Int>.Type { return rawIntCodec(raw) }
        if let raw = type as? any RawRepresentable.Type, let codec = rawCodec(raw, dates: dates) {
            return codec
        }
        // As JSON they would be text, which does not sort or add like numbers.
        if type == Int128.self || type == UInt128.self { return nil }
        if let nested = type as? any Codable.Type { return jsonCodec(nested) }
        return nil
    }
}

/// The types that are optionals, for casts at run time.
protocol OptionalType {
    static var wrappedType: Any.Type { get }
}

extension Optional: OptionalType {
    static var wrappedType: Any.Type { Wrapped.self }
}

// Each of these functions only opens a metatype, so that the codec can be created for that type.

private func optionalCodec<Wrapped: ColumnCodec>(over wrapped: Wrapped.Type) -> any ColumnCodec.Type {
    OptionalCodec<Wrapped>.self
}

private func columnValueCodec<Value: ColumnValue>(_ type: Value.Type) -> any ColumnCodec.Type {
    ColumnValueCodec<Value>.self
}

private func bytesCodec<Value: ColumnBytes>(_ type: Value.Type) -> any ColumnCodec.Type {
    BytesCodec<Value>.self
}

private func jsonCodec<Value: Codable>(_ type: Value.Type) -> any ColumnCodec.Type {
    JSONCodec<Value>.self
}

private func rawTextCodec<Value: RawRepresentable<String>>(_ type: Value.Type) -> any ColumnCodec.Type {
    RawTextCodec<Value>.self
}

private func rawIntCodec<Value: RawRepresentable<Int>>(_ type: Value.Type) -> any ColumnCodec.Type {
    RawIntCodec<Value>.self
}

private func rawCodec<Value: RawRepresentable>(_ type: Value.Type, dates: DateForm) -> (any ColumnCodec.Type)? {
    func over<Raw: ColumnCodec>(_ raw: Raw.Type) -> any ColumnCodec.Type { RawCodec<Value, Raw>.self }
    guard let raw = CodecLookup.codec(for: Value.RawValue.self, dates: dates) else { return nil }
    return over(raw)
}
