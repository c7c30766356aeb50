package import PushTime

/// The order to forget a user: the addresses are erased, and messages that wait name a pseudonym in place of the user.
///
/// The pseudonym is random, so that it says nothing about the user. It lets a message that names it find which addresses
/// it has lost.
package struct UserErasure: Sendable {
    package let user: String
    /// The apps in which the user is forgotten; nil for all.
    package let apps: Set<AppID>?
    package let pseudonym: String
    /// Messages that were accepted later are for a new user of this name.
    package let time: WallTime

    package init(of user: String, in apps: [AppID]?, at time: WallTime) {
        self.user = user
        self.apps = apps.map { Set($0) }
        self.time = time
        let words = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
        pseudonym = "\(Self.mark)\(DeviceID(high: words.0, low: words.1))"
    }

    /// Creates an order that another node has given.
    package init(of user: String, in apps: [AppID]?, at time: WallTime, pseudonym: String) {
        self.user = user
        self.apps = apps.map { Set($0) }
        (self.time, self.pseudonym) = (time, pseudonym)
    }

    /// Returns the order with the pseudonym of an earlier one of the same user, which it continues.
    package func continued(as pseudonym: String) -> UserErasure {
        UserErasure(of: user, in: apps.map { Array($0) }, at: time, pseudonym: pseudonym)
    }

    /// With this begins each pseudonym. A user who has such a name costs one more look-up, and nothing else.
    private static let mark = "erased:"

    package static func isPseudonym(_ user: String) -> Bool { user.utf8.starts(with: mark.utf8) }

    package func concerns(_ app: AppID) -> Bool { apps?.contains(app) ?? true }

    /// Returns an audience that names the pseudonym in place of the user; nil if it does not name the user.
    package func applied(to audience: Audience) -> Audience? {
        guard case .users(let users) = audience, users.contains(where: { $0.isExactly(user) }) else { return nil }
        return .users(users.map { $0.isExactly(user) ? pseudonym : $0 })
    }
}

/// What the erasure of a user has changed.
package struct ErasedUser: Sendable, Equatable {
    /// The number of addresses.
    package var devices = 0
    /// The number of stored messages that named the user.
    package var messages = 0
    /// Whether earlier attempts had not ended, so that there may have been more.
    package var isContinued = false

    package init(devices: Int = 0, messages: Int = 0) {
        (self.devices, self.messages) = (devices, messages)
    }
}

/// An erasure that has failed.
package struct ErasureFault: Error, Sendable {
    /// What it has changed.
    package let erased: ErasedUser
    package let cause: any Error

    package init(_ cause: any Error, after erased: ErasedUser) {
        (self.cause, self.erased) = (cause, erased)
    }
}
