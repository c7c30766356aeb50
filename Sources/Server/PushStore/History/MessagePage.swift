/// A page of messages, the latest first.
package struct MessagePage: Codable, Sendable, Equatable {
    package var messages: [MessageSummary]
    /// The value of `after` for the page with older messages; left out if there are none.
    package var next: String?
}
