public import FoundationEssentials

/// The properties of a type with the times when a row was inserted and last saved.
///
/// Both are the time of the transaction, ``Transaction/now``. `created` is written when the row is inserted and never
/// changed after that; `insert` keeps it if it is already set. `updated` is written by each save.
public struct Timestamps<Record> {
    let created: WritableKeyPath<Record, Date?>?
    let updated: WritableKeyPath<Record, Date?>?

    /// Creates timestamps.
    ///
    /// - Parameters:
    ///   - created: The property with the time of the insert; nil for none.
    ///   - updated: The property with the time of the last save; nil for none.
    public init(
        created: WritableKeyPath<Record, Date?>? = nil, updated: WritableKeyPath<Record, Date?>? = nil
    ) {
        self.created = created
        self.updated = updated
    }
}
