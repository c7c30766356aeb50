/// The names that the `CodingKeys` of a record type give its properties. They apply to the table as well as to JSON.
struct CodingNames {
    enum Name: Equatable {
        case column(String)
        /// The property has no key, so it is not coded and has no column.
        case leftOut
        /// The name cannot be derived from the keys.
        case unclear
    }

    private var names: [String: Name] = [:]

    subscript(property: String) -> Name { names[property] ?? .column(property) }

    /// Properties keep their Swift names if the type is not `Decodable` or does not decode by keys.
    init(of record: Any.Type, properties: [String]) {
        guard let decodable = record as? any Decodable.Type, let keys = KeyProbe.keys(of: decodable) else { return }
        names = Self.names(of: properties, by: keys)
    }

    private static func names<Key: CodingKey>(of properties: [String], by keys: Key.Type) -> [String: Name] {
        guard let cases = cases(of: keys) else {
            // A struct of keys decides at run time which names it accepts.
            return Dictionary(
                properties.map { name in
                    (name, keys.init(stringValue: name).map { .column($0.stringValue) } ?? .unclear)
                },
                uniquingKeysWith: { first, _ in first })
        }
        let byProperty = Dictionary(cases.map { ($0.name, $0.key) }, uniquingKeysWith: { first, _ in first })
        var names: [String: Name] = [:]
        var used: Set<String> = []
        for property in properties {
            // A wrapped property `name` is stored as `_name`, but its key is `name`.
            let wrapped = property.hasPrefix("_") ? String(property.dropFirst()) : property
            let name = byProperty[property] == nil && !properties.contains(wrapped) ? wrapped : property
            guard let key = byProperty[name] else { continue }
            used.insert(name)
            names[property] = .column(key.stringValue)
        }
        // The compiler requires a property for each key, but a hand-written decoder may use any keys.
        let isByHand = used.count < byProperty.count
        for property in properties where names[property] == nil { names[property] = isByHand ? .unclear : .leftOut }
        return names
    }

    /// Returns the cases of an enum without payloads, with their names in the source. Returns nil for any other type.
    private static func cases<Key: CodingKey>(of keys: Key.Type) -> [(name: String, key: Key)]? {
        guard let names = caseNames(of: keys) else { return nil }
        // The value of a case is its number, in as few bytes as necessary.
        let size = names.count < 2 ? 0 : names.count <= 1 << 8 ? 1 : 2
        guard MemoryLayout<Key>.size == size, names.count <= 1 << 16 else { return nil }
        return names.enumerated().map { number, name in
            let key = unsafe withUnsafeTemporaryAllocation(of: Key.self, capacity: 1) { memory in
                unsafe withUnsafeBytes(of: UInt16(number).littleEndian) {
                    unsafe UnsafeMutableRawBufferPointer(memory).copyBytes(from: $0.prefix(size))
                }
                return unsafe memory[0]
            }
            return (name, key)
        }
    }
}

/// A decoder without content that records the keys of a type.
///
/// It calls the type's `init(from:)`. A hand-written one must pass on errors, as it must for invalid JSON: a `try!` in
/// it traps.
private struct KeyProbe: Decoder {
    private struct NothingToRead: Error {}
    /// A reference, because a type may continue after an error and try other keys.
    private final class Seen {
        var keys: (any CodingKey.Type)?
    }

    private let seen = Seen()
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    static func keys<Value: Decodable>(of type: Value.Type) -> (any CodingKey.Type)? {
        let probe = KeyProbe()
        _ = try? Value(from: probe)
        return probe.seen.keys
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        seen.keys = seen.keys ?? type
        throw NothingToRead()
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw NothingToRead() }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw NothingToRead() }
}

/// Returns the names of an enum's cases in order. Returns nil if the type is not an enum, has a case with a payload, or
/// was compiled without names.
///
/// The standard library reports these names only for values. They are read from the same place as in the runtime:
/// swift/ABI/Metadata.h, `TargetEnumDescriptor`, and swift/RemoteInspection/Records.h, `FieldDescriptor`.
private func caseNames(of type: Any.Type) -> [String]? {
    let metadata = unsafe metadata(of: type)
    guard unsafe metadata.load(as: UInt.self) == 0x201 else { return nil }
    let descriptor = unsafe metadata.load(fromByteOffset: MemoryLayout<UInt>.size, as: UnsafeRawPointer.self)
    let isEnum = unsafe descriptor.load(as: UInt32.self) & 0x1f == 18
    let payloadCases = unsafe descriptor.load(fromByteOffset: 20, as: UInt32.self) & 0xff_ffff
    let emptyCases = unsafe descriptor.load(fromByteOffset: 24, as: UInt32.self)
    guard isEnum, payloadCases == 0, let fields = unsafe relative(descriptor + 16),
        unsafe fields.load(fromByteOffset: 12, as: UInt32.self) == emptyCases
    else { return nil }
    let size = unsafe Int(fields.load(fromByteOffset: 10, as: UInt16.self))
    // Each record consists of three words of 32 bits, of which the last one is the name.
    guard size >= 12 else { return nil }
    var names: [String] = []
    for number in 0..<Int(emptyCases) {
        guard let name = unsafe relative(fields + 16 + number * size + 8) else { return nil }
        names.append(unsafe String(cString: name.assumingMemoryBound(to: CChar.self)))
    }
    return names
}

/// Returns the target of a relative pointer of 32 bits; nil for null.
private func relative(_ pointer: UnsafeRawPointer) -> UnsafeRawPointer? {
    let distance = unsafe pointer.load(as: Int32.self)
    return unsafe distance == 0 ? nil : pointer + Int(distance)
}
