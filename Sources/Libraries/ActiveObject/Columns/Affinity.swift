/// The behavior of a column for values of another class than its own, derived from its declared type.
///
/// A STRICT table rejects such values. Any other table may convert them to the column's class, so a saved value could
/// be read back as a different one: <https://sqlite.org/datatype3.html>, section 3.1.
enum Affinity: Equatable {
    case integer, real, text, numeric
    /// Stores each value as it is.
    case none
    /// Accepts only its own class.
    case strict(ValueClass)

    init(declaredType: String, isStrict: Bool) {
        let type = declaredType.uppercased()
        if isStrict {
            switch type {
            case "INT", "INTEGER": self = .strict(.integer)
            case "REAL": self = .strict(.real)
            case "TEXT": self = .strict(.text)
            case "BLOB": self = .strict(.blob)
            default: self = .none
            }
        } else if type.contains("INT") {
            self = .integer
        } else if ["CHAR", "CLOB", "TEXT"].contains(where: type.contains) {
            self = .text
        } else if type.isEmpty || type.contains("BLOB") {
            self = .none
        } else if ["REAL", "FLOA", "DOUB"].contains(where: type.contains) {
            self = .real
        } else {
            self = .numeric
        }
    }

    /// Returns whether the codec can read back the values that it saves.
    func keeps(_ codec: any ColumnCodec.Type) -> Bool {
        switch (self, codec.valueClass) {
        case (.strict(let own), let valueClass): own == valueClass
        case (.none, _), (_, .blob), (_, .null): true
        case (.text, .text), (.real, .real), (.integer, .integer), (.numeric, .integer): true
        // A real without a fraction becomes an integer, which the codec for reals accepts. Only -0.0 loses its sign.
        case (.integer, .real), (.numeric, .real): true
        // "007" would become 7.
        case (.integer, .text), (.numeric, .text), (.real, .text): codec.neverLooksNumeric
        case (.real, .integer), (.text, .integer), (.text, .real): false
        }
    }
}
