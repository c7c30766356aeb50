@_spi(Reflection) import Swift

/// A stored property of a type: its name, its type, and where it lies.
struct StoredProperty<Root> {
    let name: String
    let keyPath: PartialKeyPath<Root>
    let type: Any.Type
    let offset: Int
}

/// Why a type's properties cannot be told, as the end of a sentence that begins with the type or the property.
struct Unreflected: Error {
    let property: String?
    let reason: String
}

/// The stored properties of a struct, in the order of their declaration.
///
/// This file and `CodingNames.swift` are the only ones that ask the standard library, or the runtime, for types.
/// `Mirror` would need a value, and a type that nobody has made a value of must have a table too.
func storedProperties<Root>(of type: Root.Type) throws(Unreflected) -> [StoredProperty<Root>] {
    // Of an enum the standard library would want a value to look into.
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
            reason: "is lazy, which no column can be: make it a stored or a computed property")
    }
    if isKnown, isComplete { return properties }
    // Where it stopped is a property of a kind that has no key path.
    var names: [String] = []
    unsafe _ = _forEachField(of: type) { name, _, _, _ in
        unsafe names.append(String(cString: name))
        return true
    }
    guard properties.count < names.count else {
        throw Unreflected(property: nil, reason: "must be a struct whose stored properties Swift tells")
    }
    throw Unreflected(
        property: names[properties.count],
        reason: "is a function, a metatype, or weak or unowned, which no column can hold: keep it out of the record")
}

private let lazyPrefix = "$__lazy_storage_$_"

private func isStruct(_ type: Any.Type) -> Bool {
    unsafe metadata(of: type).load(as: UInt.self) == 0x200
}

/// What the runtime keeps of a type. Its first words are part of Swift's stable ABI: the kind, and for enums and structs
/// the descriptor.
@unsafe func metadata(of type: Any.Type) -> UnsafeRawPointer {
    unsafe unsafeBitCast(type, to: UnsafeRawPointer.self)
}
