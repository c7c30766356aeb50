/// A right of a caller.
package enum Role: String, CaseIterable, Codable, Sendable {
    /// The caller may register, refresh and remove devices by their tokens, and report what was displayed.
    case register
    case push
    case observe
    /// The caller may observe, and change what is running.
    case operate
    /// The caller may operate, and manage keys.
    case admin

    /// The roles that this one includes.
    package var included: Set<Role> {
        switch self {
        case .register, .push, .observe: [self]
        case .operate: [.operate, .observe]
        case .admin: [.admin, .operate, .observe]
        }
    }
}
