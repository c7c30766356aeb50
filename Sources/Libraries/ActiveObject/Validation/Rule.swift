/// A condition that a record must satisfy before it is saved.
///
/// ```swift
/// static var rules: [Rule<Person>] {
///     [
///         .notEmpty(\.name), .range(\.age, in: 0...150), .unique(\.name),
///         Rule(\.email, message: "must hold an @") { $0.contains("@") },
///         Rule("age and birthdate", message: "must agree") { $0.age >= 18 || $0.birthdate != nil },
///     ]
/// }
/// ```
///
/// A message never contains the value, because it may be logged, shown or sent where the column must not be.
public struct Rule<Record> {
    enum Check {
        /// Returns nil if the condition holds, or else the message.
        case value((Record) -> String?)
        /// No other row has the same values.
        case unique
    }

    /// The properties that the rule is about; empty if `subject` names it.
    let keyPaths: [PartialKeyPath<Record>]
    let subject: String?
    let check: Check

    init(_ keyPaths: [PartialKeyPath<Record>], subject: String? = nil, check: Check) {
        self.keyPaths = keyPaths
        self.subject = subject
        self.check = check
    }

    /// Creates a rule about one property.
    ///
    /// - Parameters:
    ///   - keyPath: The property.
    ///   - message: The rule as the end of a sentence after the column's name: "must not be empty".
    ///   - holds: Returns whether a value satisfies the rule.
    public init<Value>(
        _ keyPath: KeyPath<Record, Value>, message: String, holds: @escaping (Value) -> Bool
    ) {
        self.init([keyPath], check: .value { holds($0[keyPath: keyPath]) ? nil : message })
    }

    /// Creates a rule about several properties or the whole record.
    ///
    /// - Parameters:
    ///   - subject: The text that messages show instead of a column's name: "age and birthdate".
    ///   - message: The rule as the end of a sentence: "must agree".
    ///   - holds: Returns whether a record satisfies the rule.
    public init(_ subject: String, message: String, holds: @escaping (Record) -> Bool) {
        self.init([], subject: subject, check: .value { holds($0) ? nil : message })
    }
}
