/// What a column does with values of another class than its own, by the type that was declared for it.
///
/// In a STRICT table it refuses them. Elsewhere it may turn them into its own class, and what was saved would come back
/// as something else: <https://sqlite.org/datatype3.html>, section 3.1.
enum Affinity: Equatable {
    case integer, real, text, numeric
    /// Keeps each value as it is.
    case none
    /// Takes only its own class.
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

    /// Whether what a codec saves can be read by it again.
    func keeps(_ codec: any ColumnCodec.Type) -> Bool {
        switch (self, codec.valueClass) {
        case (.strict(let own), let valueClass): own == valueClass
        case (.none, _), (_, .blob), (_, .null): true
        case (.text, .text), (.real, .real), (.integer, .integer), (.numeric, .integer): true
        // A whole number becomes an integer, which the reader of a real takes too. Only -0.0 loses its sign.
        case (.integer, .real), (.numeric, .real): true
        // "007" would become 7.
        case (.integer, .text), (.numeric, .text), (.real, .text): codec.neverLooksNumeric
        case (.real, .integer), (.text, .integer), (.text, .real): false
        }
    }
}
