package import PushTime

/// What the registry last heard of a device.
package struct Sighting: Sendable, Equatable {
    /// When the device was last registered or seen.
    package let seen: WallTime?
    /// The address under which it is registered; nil if only its end is known.
    package let address: Address?

    package let timeZone: String?

    package init(seen: WallTime?, address: Address?, timeZone: String? = nil) {
        self.seen = seen
        self.address = address
        self.timeZone = timeZone
    }
}
