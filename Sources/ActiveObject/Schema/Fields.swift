@_spi(Reflection) import Swift

/// A stored property of a type: its name, its type, and where it lies.
struct StoredProperty<Root> {
    let name: String
    let keyPath: PartialKeyPath<Root>
    let type: Any.Type
    let offset: Int
}

/// The stored properties of a struct, in the order of their declaration. Nil if the type is no struct, or one whose
/// layout Swift does not tell.
///
/// This is the one place that asks the standard library for its reflection of types. `Mirror` would need a value, and a
/// type that nobody has made a value of must have a table too.
func storedProperties<Root>(of type: Root.Type) -> [StoredProperty<Root>]? {
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
    return isKnown && isComplete ? properties : nil
}
