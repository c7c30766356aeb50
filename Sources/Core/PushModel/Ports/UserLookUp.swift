/// A question for the active devices of one user, of which a registry answers several at once.
package struct UserLookUp: Sendable {
    /// The number of look-ups that are asked together, and the number of devices of a user up to which the answer has
    /// them. A registry therefore reads about as much for all of them as for one page.
    package static let atOnce = 64
    package static let mostDevices = 16

    package let user: String
    package let app: AppID
    package let kind: AddressKind
    /// The forms of the message, if its words depend on the device.
    package let wording: Wording?

    /// Returns nil for an audience other than one user, and for a user who was erased: what is left of the devices of
    /// such a user takes another question.
    package init?(_ audience: Audience, app: AppID, kind: AddressKind, wording: Wording?) {
        guard case .users(let users) = audience, users.count == 1, !UserErasure.isPseudonym(users[0]) else {
            return nil
        }
        (user, self.app, self.kind, self.wording) = (users[0], app, kind, wording)
    }
}
