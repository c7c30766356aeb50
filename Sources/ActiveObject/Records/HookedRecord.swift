/// A record that has a part in its being saved and removed.
///
/// ```swift
/// struct Person: HookedRecord {
///     mutating func willSave(in transaction: Transaction) throws { name = name.lowercased() }
/// }
/// ```
///
/// It is a protocol of its own so that other types do not pay for hooks that do nothing: methods of these names in a
/// type that is only an `ActiveRecord` are never called. All run in the transaction, and may save and remove other
/// records through it. What they throw undoes the verb that they are part of, with all that they did: of an array, the
/// whole array.
public protocol HookedRecord: ActiveRecord {
    /// Before the record is validated and written. What it changes is saved.
    mutating func willSave(in transaction: Transaction) throws
    /// After the record was written; `objectId` is set. What it changes is not saved.
    mutating func didSave(in transaction: Transaction) throws
    func willRemove(in transaction: Transaction) throws
    /// After the row was removed; not if it was gone already.
    func didRemove(in transaction: Transaction) throws
}

extension HookedRecord {
    public mutating func willSave(in transaction: Transaction) throws {}
    public mutating func didSave(in transaction: Transaction) throws {}
    public func willRemove(in transaction: Transaction) throws {}
    public func didRemove(in transaction: Transaction) throws {}
}

/// The hooks of a type, for code that only knows that it is a record.
struct Hooks<Record> {
    let willSave: (inout Record, Transaction) throws -> Void
    let didSave: (inout Record, Transaction) throws -> Void
    let willRemove: (Record, Transaction) throws -> Void
    let didRemove: (Record, Transaction) throws -> Void
}

/// Nil if the type has none.
func hooks<Record: ActiveRecord>(of type: Record.Type) -> Hooks<Record>? {
    func make<Hooked: HookedRecord>(_ type: Hooked.Type) -> Any {
        Hooks<Hooked>(
            willSave: { try $0.willSave(in: $1) }, didSave: { try $0.didSave(in: $1) },
            willRemove: { try $0.willRemove(in: $1) }, didRemove: { try $0.didRemove(in: $1) })
    }
    // `Hooked` is `Record`, which the compiler cannot know.
    return (type as? any HookedRecord.Type).flatMap { make($0) as? Hooks<Record> }
}
