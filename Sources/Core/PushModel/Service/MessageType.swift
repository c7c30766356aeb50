/// The type of a message in the terms of its push service, which alone knows what it means. The rest of Carillon stores it
/// and shows its word.
package struct MessageType: Hashable, Sendable {
    /// The number in records and hashes. A service never gives the number of a former type to another.
    package let number: UInt8
    /// The value of `push_type`.
    package let word: String
    /// The priority if the producer gives none.
    package let defaultPriority: PushPriority

    package init(_ number: UInt8, word: String, defaultPriority: PushPriority = .ten) {
        self.number = number
        self.word = word
        self.defaultPriority = defaultPriority
    }

    /// What every push service has, and a message is unless it says otherwise: it shows something to a person.
    package static let alert = MessageType(0, word: "alert")
}
