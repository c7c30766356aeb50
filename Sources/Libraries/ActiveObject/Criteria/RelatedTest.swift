/// A test of the rows that a relation connects with the current row.
struct RelatedTest<Record: ActiveRecord>: Sendable {
    /// Appends the test or its negation.
    let append:
        @Sendable (_ text: inout SQLText, _ isNegated: Bool, _ table: Table<Record>, SQLText.Depth) throws -> Void
}
