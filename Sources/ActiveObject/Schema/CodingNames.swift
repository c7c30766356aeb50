/// What the `CodingKeys` of a record type call its properties: who has named them for JSON means the same in the table.
struct CodingNames {
    enum Name: Equatable {
        case column(String)
        /// There is no key for the property: it is not coded, and has no column.
        case leftOut
        /// The keys are of a kind, or have names, from which it cannot be told.
        case unclear
    }

    private var names: [String: Name] = [:]

    subscript(property: String) -> Name { names[property] ?? .column(property) }

    /// Properties are called what they are called in Swift if the type is not `Decodable`, or reads nothing by keys.
    init(of record: Any.Type, properties: [String]) {
        guard let decodable = record as? any Decodable.Type, let keys = KeyProbe.keys(of: decodable) else { return }
        names = Self.names(of: properties, by: keys)
    }

    private static func names<Key: CodingKey>(of properties: [String], by keys: Key.Type) -> [String: Name] {
        guard let cases = cases(of: keys) else {
            // A struct of keys takes any name, or knows which ones it takes.
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
            // A wrapped property `name` is stored as `_name`, and its key is called `name`.
            let wrapped = property.hasPrefix("_") ? String(property.dropFirst()) : property
            let name = byProperty[property] == nil && !properties.contains(wrapped) ? wrapped : property
            guard let key = byProperty[name] else { continue }
            used.insert(name)
            names[property] = .column(key.stringValue)
        }
        // The compiler lets no key be without a property, but who reads by hand may name keys as he likes.
        let isByHand = used.count < byProperty.count
        for property in properties where names[property] == nil { names[property] = isByHand ? .unclear : .leftOut }
        return names
    }

    /// The cases of an enum that carry nothing, with their names in the source. Nil for any other type.
    private static func cases<Key: CodingKey>(of keys: Key.Type) -> [(name: String, key: Key)]? {
        guard let names = caseNames(of: keys) else { return nil }
        // Their values are the numbers of the cases, in as few bytes as these need.
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

/// A decoder that has nothing to read, and learns by which keys a type would have.
///
/// It runs the type's `init(from:)`. One that is written by hand must let errors through, as it must for damaged JSON:
/// `try!` in there ends the process.
private struct KeyProbe: Decoder {
    private struct NothingToRead: Error {}
    /// A box, since a type may go on after an error, and try other keys.
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

/// Names of an enum's cases, in their order. Nil if the type is no enum, has a case that carries something, or was
/// compiled without its names.
///
/// The standard library tells these only of a value. They are read where the runtime reads them: swift/ABI/Metadata.h,
/// `TargetEnumDescriptor`, and swift/RemoteInspection/Records.h, `FieldDescriptor`.
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
    // Three words of 32 bits, of which the last is the name.
    guard size >= 12 else { return nil }
    var names: [String] = []
    for number in 0..<Int(emptyCases) {
        guard let name = unsafe relative(fields + 16 + number * size + 8) else { return nil }
        names.append(unsafe String(cString: name.assumingMemoryBound(to: CChar.self)))
    }
    return names
}

/// What a 32-bit distance points at; nil for none.
private func relative(_ place: UnsafeRawPointer) -> UnsafeRawPointer? {
    let distance = unsafe place.load(as: Int32.self)
    return unsafe distance == 0 ? nil : place + Int(distance)
}
