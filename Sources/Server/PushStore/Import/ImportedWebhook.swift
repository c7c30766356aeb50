/// A webhook of a single node, which goes on in a store where it stopped.
package struct ImportedWebhook: Sendable {
    let name: String
    /// The number of the last event that needs no delivery any more.
    let position: UInt64
    let standing: String
    /// The record of a part whose events up to a number need no delivery any more.
    private let record: @Sendable (UInt64) throws -> String

    package init(
        _ name: String, position: UInt64, standing: String, record: @escaping @Sendable (UInt64) throws -> String
    ) {
        self.name = name
        self.position = position
        self.standing = standing
        self.record = record
    }

    /// The records of all parts.
    func records(at places: [UInt64]) throws -> [(part: Int, record: String)] {
        try places.enumerated().map { (part: $0, record: try record($1)) }
    }
}
