/// The result of dropping a backlog.
package struct DroppedAnswer: JSONAnswer, Equatable {
    package let app: String
    /// The number of messages that were dropped.
    package let messages: Int

    package static var about: [String: String] { ["messages": "The number of messages that were dropped."] }
}
