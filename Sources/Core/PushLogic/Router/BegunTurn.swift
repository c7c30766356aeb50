package import PushModel
package import PushTime

/// A turn that has begun.
package struct BegunTurn: Sendable {
    private let turn: LocalTurn
    private let at: UnixSeconds
    private let acceptedAt: WallTime

    /// How a turn concerns a device.
    package enum Share: Sendable {
        case none
        /// It is the turn of the device.
        case own
        /// An earlier turn may have been that of the device, or the device has missed its own one.
        case earlier
    }

    /// Returns nil if the message goes out at the same time everywhere.
    package init?(of accepted: AcceptedMessage) {
        guard let turn = accepted.message.turn, let at = accepted.message.notBefore else { return nil }
        (self.turn, self.at, acceptedAt) = (turn, at, accepted.acceptedAt)
    }

    /// Whether the turn was past when the message was accepted, and is not to be made up for.
    package var isDropped: Bool { turn.dropsLate && isLate(at) }

    private func isLate(_ time: UnixSeconds) -> Bool { WallTime(time) <= acceptedAt }

    /// Returns when the clock of a device shows the local time.
    ///
    /// - Parameter known: The moments of zones that were asked about before.
    private func moment(of sighting: Sighting?, in zones: TimeZones, _ known: inout [String: UnixSeconds])
        -> UnixSeconds
    {
        guard let zone = sighting?.timeZone else { return turn.fallback }
        if let moment = known[zone] { return moment }
        let moment = zones.instant(of: turn.local, in: zone) ?? turn.fallback
        known[zone] = moment
        return moment
    }

    /// Returns how the turn concerns a device that the registry knows, or does not.
    package func share(of sighting: Sighting?, in zones: TimeZones) -> Share {
        var known: [String: UnixSeconds] = [:]
        return share(of: sighting, whose: moment(of: sighting, in: zones, &known))
    }

    private func share(of sighting: Sighting?, whose own: UnixSeconds) -> Share {
        if own > at { return turn.isLast ? .own : .none }
        guard let after = turn.after, own <= after else { return .own }
        guard !isLate(at), !(turn.dropsLate && isLate(own)) else { return .none }
        // The time zone database may have changed since the acceptance, so that a device was in no turn. The claims
        // leave out those that have the message.
        if turn.isLast { return .earlier }
        // Who has moved east since the turn before may have missed the own one.
        guard let seen = sighting?.seen else { return .none }
        return seen >= max(WallTime(after), acceptedAt) ? .earlier : .none
    }

    /// Returns the part of a page that the turn concerns. What is said of named devices that nothing is sent to is said
    /// once, in the last turn.
    package func part(of page: AudiencePage, _ sightings: [Sighting?], in zones: TimeZones) -> AudiencePage {
        var devices: [AudiencePage.Device] = []
        var known: [String: UnixSeconds] = [:]
        for (device, sighting) in zip(page.devices, sightings) {
            switch share(of: sighting, whose: moment(of: sighting, in: zones, &known)) {
            case .none: break
            case .own: devices.append(device)
            case .earlier: devices.append(device.again)
            }
        }
        let isLast = turn.isLast
        return AudiencePage(
            devices: devices, inactive: isLast ? page.inactive : [], unknown: isLast ? page.unknown : [],
            ofOtherKinds: isLast ? page.ofOtherKinds : [], next: page.next)
    }
}
