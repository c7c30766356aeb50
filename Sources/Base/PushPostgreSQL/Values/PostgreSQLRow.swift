/// A row of a result. Its readers check the type, the size and the presence of values.
package struct PostgreSQLRow: Sendable {
    let result: PostgreSQLResult
    let index: Int

    /// Returns the value of a column, which must not be null.
    package func value<Value: PostgreSQLReadable>(
        _ column: Int, as type: Value.Type = Value.self
    ) throws(PostgreSQLValueError) -> Value {
        guard let value = try optional(column, as: type) else {
            throw PostgreSQLValueError(message: "column \(column) (\(result.name(ofColumn: column))) is null")
        }
        return value
    }

    /// Returns the value of a column; nil if it is null.
    package func optional<Value: PostgreSQLReadable>(
        _ column: Int, as type: Value.Type = Value.self
    ) throws(PostgreSQLValueError) -> Value? {
        try check(column, accepts: Value.postgreSQLTypes)
        return unsafe try result.withValue(row: index, column: column) { bytes throws(PostgreSQLValueError) in
            guard let bytes = unsafe bytes else { return nil }
            guard let value = unsafe Value(postgreSQL: bytes) else {
                throw PostgreSQLValueError(
                    message: "column \(column) (\(result.name(ofColumn: column))) of type "
                        + "\(result.type(ofColumn: column)) has an invalid value of \(bytes.count) bytes")
            }
            return value
        }
    }

    /// Calls `body` with the bytes of a `bytea` or text, without copying them.
    package func withBytes<Result>(
        _ column: Int, _ body: (UnsafeRawBufferPointer) -> Result
    ) throws(PostgreSQLValueError) -> Result {
        try check(column, accepts: [.bytea, .text])
        return unsafe try result.withValue(row: index, column: column) { bytes throws(PostgreSQLValueError) in
            guard let bytes = unsafe bytes else {
                throw PostgreSQLValueError(message: "column \(column) (\(result.name(ofColumn: column))) is null")
            }
            return unsafe body(bytes)
        }
    }

    /// Calls `body` with each element of a `bytea[]`, without copying them.
    package func forEachBytes(
        _ column: Int, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(PostgreSQLValueError) {
        try check(column, accepts: [.byteaArray])
        unsafe try result.withValue(row: index, column: column) { bytes throws(PostgreSQLValueError) in
            guard let bytes = unsafe bytes, var reader = unsafe ArrayReader(bytes, of: [.bytea]) else {
                throw PostgreSQLValueError(
                    message: "column \(column) (\(result.name(ofColumn: column))) is not an array of bytea")
            }
            while let element = unsafe reader.next() { unsafe body(element) }
            guard unsafe reader.isComplete else {
                throw PostgreSQLValueError(
                    message: "column \(column) (\(result.name(ofColumn: column))) has a null or malformed element")
            }
        }
    }

    private func check(_ column: Int, accepts types: [PostgreSQLType]) throws(PostgreSQLValueError) {
        guard (0..<result.columnCount).contains(column) else {
            throw PostgreSQLValueError(
                message: "the result has \(result.columnCount) columns; there is no column \(column)")
        }
        let type = result.type(ofColumn: column)
        guard types.contains(type) else {
            throw PostgreSQLValueError(
                message: "column \(column) (\(result.name(ofColumn: column))) has the type \(type); expected "
                    + types.map(\.description).joined(separator: " or "))
        }
    }
}
