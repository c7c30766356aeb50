/// A device as the registry knows it.
package struct DeviceRecord: Sendable, Equatable {
    package let id: DeviceID
    package let app: AppID
    /// Nil for one that only feedback told of: it is remembered as gone, and nothing more.
    package var token: DeviceToken?
    package var user: String?
    /// In order, each once.
    package var tags: [String]
    package var locale: String?
    package var platform: String?
    package var appVersion: String?
    /// Times are milliseconds since 1970. Nil: never registered.
    package var registeredAt: Int64?
    package var seenAt: Int64?
    package var deactivatedAt: Int64?
    /// Why, in the word of the event that did it.
    package var reason: String?

    package var isActive: Bool { deactivatedAt == nil }

    package init(id: DeviceID, app: AppID, token: DeviceToken?, tags: [String] = []) {
        self.id = id
        self.app = app
        self.token = token
        self.tags = tags
    }
}

/// What an app's backend, or its operator, says of a device. What is nil stays as it was.
package struct DeviceRegistration: Sendable, Equatable {
    package let app: AppID
    package let token: DeviceToken
    package var user: String?
    package var tags: [String]?
    package var locale: String?
    package var platform: String?
    package var appVersion: String?
    /// The token that this one takes the place of: the same device, its user and tags go with it.
    package var replaces: DeviceToken?

    package init(app: AppID, token: DeviceToken) {
        self.app = app
        self.token = token
    }
}

package struct RegisteredDevice: Sendable, Equatable {
    package enum Change: String, Sendable {
        /// Never seen before.
        case registered
        /// Known and active: seen again.
        case known
        /// It was gone, and is back.
        case reactivated
    }

    package let id: DeviceID
    package let change: Change

    package init(id: DeviceID, change: Change) {
        self.id = id
        self.change = change
    }
}

/// Which devices to list. All that is given must be so.
package struct DeviceFilter: Sendable, Equatable {
    package var app: AppID?
    package var user: String?
    package var tag: String?
    package var isActive: Bool?

    package init() {}
}
