public import FoundationEssentials

/// Which properties of a type hold when a row was inserted and when it was last saved.
///
/// Both are the time of the transaction, `Transaction.now`. `created` is written with the row and never again, whatever
/// the record holds later; `insert` leaves one alone that is set already. `updated` is written by each save.
public struct Timestamps<Record> {
    let created: WritableKeyPath<Record, Date?>?
    let updated: WritableKeyPath<Record, Date?>?

    public init(
        created: WritableKeyPath<Record, Date?>? = nil, updated: WritableKeyPath<Record, Date?>? = nil
    ) {
        self.created = created
        self.updated = updated
    }
}
