public import FoundationEssentials

/// Which properties of a type hold when a row was inserted and when it was last saved.
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
