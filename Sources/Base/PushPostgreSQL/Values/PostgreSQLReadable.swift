/// A type that is read from the binary form of some types of the server.
package protocol PostgreSQLReadable {
    static var postgreSQLTypes: [PostgreSQLType] { get }

    /// Returns nil if the bytes are not a value of the type.
    init?(postgreSQL bytes: UnsafeRawBufferPointer)
}

extension Bool: PostgreSQLReadable {
    package static var postgreSQLTypes: [PostgreSQLType] { [.bool] }

    package init?(postgreSQL bytes: UnsafeRawBufferPointer) {
        guard let byte: UInt8 = unsafe bytes.onlyInteger(), byte <= 1 else { return nil }
        self = byte == 1
    }
}

extension Int32: PostgreSQLReadable {
    package static var postgreSQLTypes: [PostgreSQLType] { [.int4] }

    package init?(postgreSQL bytes: UnsafeRawBufferPointer) {
        guard let value: Int32 = unsafe bytes.onlyInteger() else { return nil }
        self = value
    }
}

extension Int64: PostgreSQLReadable {
    package static var postgreSQLTypes: [PostgreSQLType] { [.int8, .int4, .int2] }

    package init?(postgreSQL bytes: UnsafeRawBufferPointer) {
        switch bytes.count {
        case 8: unsafe self = bytes.integer(at: 0, as: Int64.self)
        case 4: unsafe self = Int64(bytes.integer(at: 0, as: Int32.self))
        case 2: unsafe self = Int64(bytes.integer(at: 0, as: Int16.self))
        default: return nil
        }
    }
}

extension Double: PostgreSQLReadable {
    package static var postgreSQLTypes: [PostgreSQLType] { [.float8] }

    package init?(postgreSQL bytes: UnsafeRawBufferPointer) {
        guard let pattern: UInt64 = unsafe bytes.onlyInteger() else { return nil }
        self = Double(bitPattern: pattern)
    }
}

extension String: PostgreSQLReadable {
    package static var postgreSQLTypes: [PostgreSQLType] { [.text, .varchar, .name] }

    package init?(postgreSQL bytes: UnsafeRawBufferPointer) {
        unsafe self.init(validating: bytes, as: UTF8.self)
    }
}

extension PostgreSQLTimestamp: PostgreSQLReadable {
    package static var postgreSQLTypes: [PostgreSQLType] { [.timestamptz] }

    package init?(postgreSQL bytes: UnsafeRawBufferPointer) {
        guard let value: Int64 = unsafe bytes.onlyInteger() else { return nil }
        self.init(microseconds: value)
    }
}

/// The elements of an array, and the bytes of a `bytea`, which is an array of bytes here.
extension Array: PostgreSQLReadable where Element: PostgreSQLElement {
    package static var postgreSQLTypes: [PostgreSQLType] { Element.containers }

    package init?(postgreSQL bytes: UnsafeRawBufferPointer) {
        guard let values = unsafe Element.elements(of: bytes) else { return nil }
        self = values
    }
}

/// A type whose arrays can be read.
package protocol PostgreSQLElement {
    /// The types of the server that contain elements of this type.
    static var containers: [PostgreSQLType] { get }

    /// Returns nil if the bytes are not an array of this type, or an element is null.
    static func elements(of bytes: UnsafeRawBufferPointer) -> [Self]?
}

extension UInt8: PostgreSQLElement {
    package static var containers: [PostgreSQLType] { [.bytea] }

    package static func elements(of bytes: UnsafeRawBufferPointer) -> [UInt8]? { unsafe Array(bytes) }
}

extension PostgreSQLElement where Self: PostgreSQLReadable {
    package static func elements(of bytes: UnsafeRawBufferPointer) -> [Self]? {
        guard var reader = unsafe ArrayReader(bytes, of: postgreSQLTypes) else { return nil }
        var values: [Self] = []
        while let element = unsafe reader.next() {
            guard let value = unsafe Self(postgreSQL: element) else { return nil }
            values.append(value)
        }
        return unsafe reader.isComplete ? values : nil
    }
}

extension Int32: PostgreSQLElement {
    package static var containers: [PostgreSQLType] { [.int4Array] }
}

extension Int64: PostgreSQLElement {
    package static var containers: [PostgreSQLType] { [.int8Array, .int4Array] }
}

extension String: PostgreSQLElement {
    package static var containers: [PostgreSQLType] { [.textArray] }
}

extension Array: PostgreSQLElement where Element == UInt8 {
    package static var containers: [PostgreSQLType] { [.byteaArray] }
}
