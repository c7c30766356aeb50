/// The durable store of devices, as the pipeline uses it.
package protocol DeviceRegistry: AnyObject, Sendable {
    /// Returns one page of the active devices of an audience that messages for a kind of address may be sent to. `after`
    /// is the cursor of the previous page. Each device appears at most once. Throws ``AudienceFault`` if the audience can
    /// never be resolved; any other error may be temporary.
    ///
    /// - Parameter wording: The forms of the message, if its words depend on the device. Each device of the page then
    ///   has its variant. Devices that the registry does not know get the first form.
    func page(
        of audience: Audience, app: AppID, kind: AddressKind, wording: Wording?, after: AudienceCursor?, limit: Int
    ) async throws -> AudiencePage

    /// Returns such a page for messages that start Live Activities of one type: of the devices, only those whose address
    /// starts activities of this type.
    func page(
        of audience: Audience, app: AppID, kind: AddressKind, activityType: String?, after: AudienceCursor?, limit: Int
    ) async throws -> AudiencePage

    /// Returns the page that ``page(of:app:kind:wording:after:limit:)`` would return for each look-up, all of one state of
    /// the registry. Nil stands for a user or a tag with more than ``AudienceLookUp/mostDevices`` devices, and for a look-up
    /// that this registry answers only alone. Throws an error if it answers none.
    ///
    /// - Parameter lookUps: At most ``AudienceLookUp/atOnce``.
    func pages(of lookUps: [AudienceLookUp]) async throws -> [AudiencePage?]

    /// Returns those of these devices whose user has an active address in one of these apps, if the audience includes
    /// that address.
    func outranked(
        _ devices: [DeviceID], of audience: Audience, by preferred: [PreferredApp]
    ) async throws -> Set<DeviceID>

    /// Calls the observer whenever an address of a Live Activity was registered here, or on another node. Any thread
    /// may call it.
    func observeActivities(_ observer: @escaping @Sendable (ActivityRegistration) -> Void)

    /// Returns what was last heard of the devices; nil for devices that are unknown.
    func sightings(of devices: [DeviceID]) async throws -> [Sighting?]

    /// Marks devices as inactive before the event that deactivates them is published. Whether they stay inactive is
    /// decided when the event is applied. Returns the devices that were not marked before.
    @discardableResult
    func hold(_ devices: [DeviceID]) -> [DeviceID]

    /// Undoes ``hold(_:)`` for the devices that it returned, if the event was not published after all.
    func release(_ devices: [DeviceID]) async

    /// Notes that the push service has taken an update for these addresses of Live Activities, which therefore end
    /// later. Returns at once; any thread may call it.
    func updated(_ devices: [DeviceID])

    /// The devices that must not be sent to. The set is shared, and a look-up is cheap.
    var inactive: any DeviceSet { get }

    /// Those of them whose users were erased.
    var erased: any DeviceSet { get }

    /// The devices that have another owner, or none, since they were found.
    var ownerChanges: any OwnerChanges { get }

    /// The devices that are stated to be of another kind than ``AddressKind/alert``.
    var ofOtherKinds: any DeviceSet { get }
}

extension DeviceRegistry {
    /// For registries without Live Activities.
    package func page(
        of audience: Audience, app: AppID, kind: AddressKind, activityType: String?, after: AudienceCursor?, limit: Int
    ) async throws -> AudiencePage {
        try await page(of: audience, app: app, kind: kind, after: after, limit: limit)
    }

    /// For registries that answer each look-up alone.
    package func pages(of lookUps: [AudienceLookUp]) async throws -> [AudiencePage?] { lookUps.map { _ in nil } }

    /// For registries without users.
    package func outranked(
        _ devices: [DeviceID], of audience: Audience, by preferred: [PreferredApp]
    ) async throws -> Set<DeviceID> { [] }

    package func observeActivities(_ observer: @escaping @Sendable (ActivityRegistration) -> Void) {}

    package var erased: any DeviceSet { NoDevices() }
    package var ownerChanges: any OwnerChanges { NoOwnerChanges() }

    /// Returns one page of the active devices of an audience, for no message in particular.
    package func page(
        of audience: Audience, app: AppID, kind: AddressKind, after cursor: AudienceCursor?, limit: Int
    ) async throws -> AudiencePage {
        try await page(of: audience, app: app, kind: kind, wording: nil, after: cursor, limit: limit)
    }

    package func hold(_ devices: [DeviceID]) -> [DeviceID] { [] }
    package func release(_ devices: [DeviceID]) async {}
    package func updated(_ devices: [DeviceID]) {}
}

/// A set of devices that all threads may read.
package protocol DeviceSet: AnyObject, Sendable {
    var isEmpty: Bool { get }
    func contains(_ device: DeviceID) -> Bool
}

/// The set of no devices.
package final class NoDevices: DeviceSet {
    package init() {}

    package var isEmpty: Bool { true }
    package func contains(_ device: DeviceID) -> Bool { false }
}

/// The end of a page, in a form that only the registry interprets.
package struct AudienceCursor: Sendable, Equatable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }
}

/// The error for a cursor that does not come from a previous page: the caller made a mistake.
package struct BadCursor: Error, Sendable, Equatable, CustomStringConvertible {
    package init() {}

    package var description: String { "invalid cursor for this list of devices: list again without a cursor" }
}

/// The error for an audience that no registry of this kind can ever resolve.
package struct AudienceFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong with the audience.
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

package struct AudiencePage: Sendable {
    package struct Device: Sendable {
        package let id: DeviceID
        package let token: Address
        /// The variant of the message that the device gets; 0 for messages that are the same for all devices.
        package let variant: UInt32
        /// Whether an earlier turn of the message may have been that of the device. If it has the message, nothing is said
        /// about it again.
        package private(set) var mayHave = false

        package init(id: DeviceID, token: Address, variant: UInt32 = 0) {
            self.id = id
            self.token = token
            self.variant = variant
        }

        /// The same device, which may have the message.
        package var again: Device {
            var device = self
            device.mayHave = true
            return device
        }
    }

    package let devices: [Device]
    /// The inactive devices among named device ids, and those of erased users. Their deliveries are suppressed.
    package let inactive: [DeviceID]
    /// The unknown ids among named device ids. Their deliveries are suppressed.
    package let unknown: [DeviceID]
    /// The devices among named ones that are stated to be of another kind. Their deliveries are rejected.
    package let ofOtherKinds: [Device]
    /// The number of devices that were left out because their users get the message in a preferred app.
    package let outranked: Int
    /// The cursor of the next page; nil on the last page.
    package let next: AudienceCursor?

    package init(
        devices: [Device], inactive: [DeviceID] = [], unknown: [DeviceID] = [], ofOtherKinds: [Device] = [],
        outranked: Int = 0, next: AudienceCursor?
    ) {
        self.devices = devices
        self.inactive = inactive
        self.unknown = unknown
        self.ofOtherKinds = ofOtherKinds
        self.outranked = outranked
        self.next = next
    }

    /// Returns the page without these devices.
    package func without(_ devices: Set<DeviceID>) -> AudiencePage {
        let left = self.devices.filter { !devices.contains($0.id) }
        return AudiencePage(
            devices: left, inactive: inactive, unknown: unknown, ofOtherKinds: ofOtherKinds,
            outranked: self.devices.count - left.count, next: next)
    }
}
