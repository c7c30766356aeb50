package import PushTime

/// An API key without its secret: its names, its rights and its life.
package struct APIKey: Sendable, Equatable {
    /// The state of a key at a point in time.
    package enum State: String, Sendable {
        case active
        /// The key was replaced by ``APIKeyStore/rotate(_:until:at:make:)`` and is valid for the rest of the overlap.
        case rotated
        /// The overlap is over.
        case replaced
        case expired
        case revoked
    }

    package let id: APIKeyID
    package let name: APIKeyName
    package let roles: RoleSet
    /// The apps to which the key is limited; nil for all apps.
    package let apps: [AppID]?
    /// The addresses from which the key may be used; empty for all addresses.
    package let from: [AddressRange]
    package let createdAt: WallTime
    package let expiresAt: WallTime?
    /// Whether the secret itself may be sent in place of a signature.
    package let allowsBearer: Bool
    /// The maximum number of requests in a second; nil for no limit.
    package let rate: Int?
    /// The end of the overlap, after another key took over the name.
    package var rotatedUntil: WallTime?
    package var revokedAt: WallTime?

    package static let maxRate = 1_000_000
    package static let maxApps = 100
    package static let maxRanges = 100

    package init(
        id: APIKeyID, name: APIKeyName, roles: RoleSet, apps: [AppID]? = nil, from: [AddressRange] = [],
        createdAt: WallTime, expiresAt: WallTime? = nil, allowsBearer: Bool = false, rate: Int? = nil
    ) {
        self.id = id
        self.name = name
        self.roles = roles
        self.apps = apps
        self.from = from
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.allowsBearer = allowsBearer
        self.rate = rate
    }

    /// The time at which the rights of the key end; nil if they do not.
    package var endsAt: WallTime? {
        [expiresAt, rotatedUntil, revokedAt].compactMap { $0 }.min()
    }

    package func state(at now: WallTime) -> State {
        // A revocation is final, even if the clock is set back.
        if revokedAt != nil { return .revoked }
        if let expiresAt, expiresAt <= now { return .expired }
        guard let rotatedUntil else { return .active }
        return now < rotatedUntil ? .rotated : .replaced
    }

    /// Returns whether requests with the key are accepted.
    package func isValid(at now: WallTime) -> Bool {
        switch state(at: now) {
        case .active, .rotated: true
        case .replaced, .expired, .revoked: false
        }
    }

    package func allows(_ address: IPAddress) -> Bool {
        from.isEmpty || from.contains { $0.contains(address) }
    }

    package func allows(_ app: AppID) -> Bool { apps?.contains(app) ?? true }
}
