package import PushTime

/// A device in the registry.
package struct DeviceRecord: Sendable, Equatable {
    package let id: DeviceID
    package let app: AppID
    /// The token; nil for a device that is known from the feedback service only and kept as inactive.
    package var token: Address?
    package var user: String?
    /// The tags in ascending order, each once.
    package var tags: [String]
    package var locale: String?
    package var platform: String?
    package var appVersion: String?
    package var place = AddressPlace()
    package var timeZone: String?
    /// When the device first registered; nil if it never did.
    package var registeredAt: WallTime?
    package var seenAt: WallTime?
    package var deactivatedAt: WallTime?
    /// Why the device was deactivated: the reason of that event.
    package var reason: String?

    package var isActive: Bool { deactivatedAt == nil }

    package init(id: DeviceID, app: AppID, token: Address?, tags: [String] = []) {
        self.id = id
        self.app = app
        self.token = token
        self.tags = tags
    }
}

/// A registration of a device by an app's backend or an operator. Fields that are nil keep their value.
package struct DeviceRegistration: Sendable, Equatable {
    package let app: AppID
    package let token: Address
    // A property that is nil keeps its value, and an empty text removes it.
    package var user: String?
    package var tags: [String]?
    package var locale: String?
    package var platform: String?
    package var appVersion: String?
    package var place = AddressPlace()
    package var timeZone: String?
    /// The former token of the same device; its user and tags are carried over.
    package var replaces: Address?
    /// Whether the device itself is there now, or only its properties change.
    package var purpose = Purpose.registration

    package enum Purpose: Sendable {
        /// The device registers: it is created or activated if necessary, and was seen.
        case registration
        /// A known device registers. It is not created.
        case refresh
        /// An operator changes the properties of a known device. It stays inactive if it is, and was not seen.
        case change
    }

    package init(app: AppID, token: Address) {
        self.app = app
        self.token = token
    }
}

package struct RegisteredDevice: Sendable, Equatable {
    package enum Change: String, Sendable {
        /// The device was unknown.
        case registered
        /// The device was known and active; its last-seen time is updated.
        case known
        /// The device was inactive and is active again.
        case reactivated
        /// There is no such device, and the registration does not create it.
        case missing
        /// The installation has as many addresses as it may have. Nothing was changed.
        case tooMany = "too_many"
    }

    package let id: DeviceID
    package let change: Change

    package init(id: DeviceID, change: Change) {
        self.id = id
        self.change = change
    }
}

/// The criteria of a device list. A device must meet all that are given.
package struct DeviceFilter: Sendable, Equatable {
    package var app: AppID?
    package var user: String?
    package var tag: String?
    /// A kind that was not stated counts as ``AddressKind/alert``.
    package var kind: AddressKind?
    package var installation: String?
    package var activity: String?
    package var isActive: Bool?

    package init() {}
}
