package import PushModel
import PushText

/// What the request of an operator has changed, in the words of its endpoint.
///
/// The texts have neither secrets nor addresses of devices, and no names of users: events outlive what they are about.
package struct OperatorChange: Sendable, Equatable {
    /// The maximum length of a text. Longer ones are cut.
    static let maxLength = 500

    /// A kind of the family `operator`.
    package let kind: EventKind
    package let app: AppID?
    /// The thing that was changed.
    package let what: String?
    /// How it was before; nil if that is not known, or says nothing.
    package let before: String?
    package let after: String?

    package init(
        _ kind: EventKind, app: AppID? = nil, of what: String? = nil, before: String? = nil, after: String? = nil
    ) {
        (self.kind, self.app) = (kind, app)
        self.what = what.map { PlainText.line($0, limit: Self.maxLength) }
        self.before = before.map { PlainText.line($0, limit: Self.maxLength) }
        self.after = after.map { PlainText.line($0, limit: Self.maxLength) }
    }

    /// The names of the members of its event.
    package static let members: [StaticName] = ["who", "roles", "from", "what", "before", "after"]

    package func event(by author: OperatorName) -> EventDraft {
        var event = EventDraft(kind, app: app)
        let texts = [author.who, author.roles, author.from, what, before, after]
        for (name, text) in zip(Self.members, texts) { event.add(name, text: text) }
        return event
    }
}
