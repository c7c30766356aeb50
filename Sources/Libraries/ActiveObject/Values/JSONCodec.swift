import FoundationEssentials

/// The codec of a nested value, as JSON text.
enum JSONCodec<Value: Codable>: ColumnCodec {
    static var valueClass: ValueClass { .text }

    static func bind(_ value: Value, to statement: Statement, at index: Int32) throws(ColumnFault) {
        try statement.bind(try text(value), at: index)
    }

    static func read(from statement: Statement, at index: Int32) throws(ColumnFault) -> Value {
        let text = try statement.text(index)
        do {
            return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
        } catch {
            throw .unreadable(type: "\(Value.self)")
        }
    }

    static func stored(_ value: Value) throws(ColumnFault) -> SQLValue { .text(try text(value)) }

    private static func text(_ value: Value) throws(ColumnFault) -> String {
        do {
            return try canonicalJSON(value)
        } catch {
            throw .unwritable(type: "\(Value.self)")
        }
    }
}
