/// What must hold of a record before it is saved.
public struct Rule<Record> {
    let keyPath: PartialKeyPath<Record>
    let message: String
    let holds: (Record) -> Bool

    /// - Parameter message: what the rule says, as part of a sentence behind the column's name: "must not be empty".
    public init<Value>(
        _ keyPath: KeyPath<Record, Value>, _ message: String, _ holds: @escaping (Value) -> Bool
    ) {
        self.keyPath = keyPath
        self.message = message
        self.holds = { holds($0[keyPath: keyPath]) }
    }
}
