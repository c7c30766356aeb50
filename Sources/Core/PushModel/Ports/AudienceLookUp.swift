/// A question for the active devices of one user, or of those with one tag, of which a registry answers several at once.
package struct AudienceLookUp: Sendable {
    package enum Subject: Sendable {
        case user(String)
        case tag(String)
    }

    /// The number of look-ups that are asked together, and the number of devices of a user or with a tag up to which the
    /// answer has them. A registry therefore reads about as much for all of them as for one page.
    package static let atOnce = 64
    package static let mostDevices = 16

    package let subject: Subject
    package let app: AppID
    package let kind: AddressKind
    /// The forms of the message, if its words depend on the device.
    package let wording: Wording?

    /// Returns nil for an audience other than one user or one tag, and for a user who was erased: what is left of the
    /// devices of such a user takes another question.
    package init?(_ audience: Audience, app: AppID, kind: AddressKind, wording: Wording?) {
        switch audience {
        case .users(let users):
            guard users.count == 1, !UserErasure.isPseudonym(users[0]) else { return nil }
            subject = .user(users[0])
        case .tags(let expression):
            guard let tag = expression.onlyTag else { return nil }
            subject = .tag(tag)
        default: return nil
        }
        (self.app, self.kind, self.wording) = (app, kind, wording)
    }
}

extension TagExpression {
    /// The tag that the devices have which match, and no others; nil if the expression says more.
    fileprivate var onlyTag: String? {
        switch self {
        case .tag(let tag): tag
        case .all(let parts), .any(let parts): parts.count == 1 ? parts[0].onlyTag : nil
        case .not: nil
        }
    }
}
