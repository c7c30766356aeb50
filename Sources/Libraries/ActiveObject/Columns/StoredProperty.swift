@_spi(Reflection) import Swift

/// A stored property of a type: its name, its type and its offset.
struct StoredProperty<Root> {
    let name: String
    let keyPath: PartialKeyPath<Root>
    let type: Any.Type
    let offset: Int
}

/// The reason why a type's properties cannot be determined, as the end of a sentence that begins with the type or the
/// property.
struct Unreflected: Error {
    let property: String?
    let reason: String
}

/// Returns the stored properties of a struct in the order of declaration.
///
/// Only this file and `CodingNames.swift` use reflection of the standard library and the runtime. `Mirror` needs a
/// value, but a type must have a table before any value exists.
func storedProperties<Root>(of type: Root.Type) throws(Unreflected) -> [StoredProperty<Root>] {
    // For an enum, the standard library needs a value.
    guard isStruct(type) else { throw Unreflected(property: nil, reason: "must be a struct") }
    var properties: [StoredProperty<Root>] = []
    var isComplete = true
    let isKnown = unsafe _forEachFieldWithKeyPath(of: type) { name, keyPath in
        let name = unsafe String(cString: name)
        guard let offset = MemoryLayout<Root>.offset(of: keyPath) else {
            isComplete = false
            return false
        }
        properties.append(
            StoredProperty(
                name: name, keyPath: keyPath, type: Swift.type(of: keyPath).valueType, offset: offset))
        return true
    }
    if isKnown, isComplete, let lazy = properties.first(where: { $0.name.hasPrefix(lazyPrefix) }) {
        throw Unreflected(
            property: String(lazy.name.dropFirst(lazyPrefix.count)),
            reason: "is lazy, which is not supported; make it a stored or a computed property")
    }
    if isKnown, isComplete { return properties }
    // The enumeration stopped at a property that cannot have a key path.
    var names: [String] = []
    unsafe _ = _forEachField(of: type) { name, _, _, _ in
        unsafe names.append(String(cString: name))
        return true
    }
    guard properties.count < names.count else {
        throw Unreflected(property: nil, reason: "must be a struct whose stored properties are visible to reflection")
    }
    throw Unreflected(
        property: names[properties.count],
        reason: "is a function, a metatype, or weak or unowned, which no column can hold; keep it out of the record")
}

private let lazyPrefix = "$__lazy_storage_$_"

private func isStruct(_ type: Any.Type) -> Bool {
    unsafe metadata(of: type).load(as: UInt.self) == 0x200
}

/// Returns the runtime's metadata of a type. Its first words are part of Swift's stable ABI: the kind, and for enums
/// and structs the descriptor.
@unsafe func metadata(of type: Any.Type) -> UnsafeRawPointer {
    unsafe unsafeBitCast(type, to: UnsafeRawPointer.self)
}
