/// What must hold of a record before it is saved.
///
/// ```swift
/// static var rules: [Rule<Person>] {
///     [
///         .notEmpty(\.name), .range(\.age, 0...150), .unique(\.name),
///         Rule(\.email, "must hold an @") { $0.contains("@") },
///         Rule("age and birthdate", "must agree") { $0.age >= 18 || $0.birthdate != nil },
///     ]
/// }
/// ```
///
/// A message never holds the value: it is logged, shown and sent where the column may not be.
public struct Rule<Record> {
    enum Check {
        /// Nil if it holds, else what is wrong.
        case value((Record) -> String?)
        /// No other row has these values.
        case unique
    }

    /// What it is about; nil if `place` says it.
    let keyPaths: [PartialKeyPath<Record>]
    let place: String?
    let check: Check

    init(_ keyPaths: [PartialKeyPath<Record>], place: String? = nil, _ check: Check) {
        self.keyPaths = keyPaths
        self.place = place
        self.check = check
    }

    /// Of one property.
    ///
    /// - Parameter message: what the rule says, as part of a sentence behind the column's name: "must not be empty".
    public init<Value>(
        _ keyPath: KeyPath<Record, Value>, _ message: String, _ holds: @escaping (Value) -> Bool
    ) {
        self.init([keyPath], .value { holds($0[keyPath: keyPath]) ? nil : message })
    }

    /// Of several properties, or of the whole record.
    ///
    /// - Parameter place: stands where the column's name would: "age and birthdate".
    public init(_ place: String, _ message: String, _ holds: @escaping (Record) -> Bool) {
        self.init([], place: place, .value { holds($0) ? nil : message })
    }
}
