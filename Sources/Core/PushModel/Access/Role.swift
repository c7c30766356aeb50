/// A right that an API key can have.
package enum Role: String, Sendable, CaseIterable, Codable {
    /// Registers, refreshes and removes devices of its apps by token, and reports what was displayed.
    case register
    /// Submits and cancels messages.
    case push
    /// Reads everything that holds no secret.
    case observe
    /// Observes, and changes gateways, devices and settings.
    case operate
    /// Operates, and manages API keys.
    case admin
}

/// A set of roles. `operate` includes `observe`, and `admin` includes `operate`; neither includes `push` or `register`.
package struct RoleSet: Hashable, Sendable, CustomStringConvertible {
    /// One bit for each role in the order of their declaration. The bits are stored, so the order never changes.
    package let bits: UInt8

    /// Creates a set of exactly these roles. Roles that they include are not part of ``granted``.
    package init(_ roles: some Sequence<Role>) {
        bits = roles.reduce(0) { $0 | Self.bit($1) }
    }

    /// Creates a set from stored bits; nil if it is empty or a bit has no meaning.
    package init?(bits: UInt8) {
        guard bits != 0, bits & ~Self.all == 0 else { return nil }
        self.bits = bits
    }

    package static let everything = RoleSet(Role.allCases)

    private static let all: UInt8 = Role.allCases.reduce(0) { $0 | bit($1) }

    private static func bit(_ role: Role) -> UInt8 {
        switch role {
        case .register: 1
        case .push: 2
        case .observe: 4
        case .operate: 8
        case .admin: 16
        }
    }

    /// The roles that were granted by name, in the order of their declaration.
    package var granted: [Role] { Role.allCases.filter { bits & Self.bit($0) != 0 } }

    /// Returns whether the set has the role or one that includes it.
    package func allows(_ role: Role) -> Bool {
        let sufficient: UInt8 =
            switch role {
            case .register: Self.bit(.register)
            case .push: Self.bit(.push)
            case .observe: Self.bit(.observe) | Self.bit(.operate) | Self.bit(.admin)
            case .operate: Self.bit(.operate) | Self.bit(.admin)
            case .admin: Self.bit(.admin)
            }
        return bits & sufficient != 0
    }

    package var description: String { granted.map(\.rawValue).joined(separator: ", ") }
}
