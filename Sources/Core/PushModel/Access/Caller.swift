/// The authenticated sender of a request.
package struct Caller: Sendable, Equatable {
    /// The key; nil for a client without one.
    package let key: APIKey?
    /// Whether the client may do everything without a key.
    private let isLocal: Bool

    package init(_ key: APIKey) {
        self.key = key
        isLocal = false
    }

    private init(isLocal: Bool) {
        key = nil
        self.isLocal = isLocal
    }

    /// A client of the control socket, which has all rights. The mode of the socket file decides who may open it.
    package static let local = Caller(isLocal: true)
    /// A client without a key, which may do what is open to all.
    package static let anyone = Caller(isLocal: false)

    /// The name for logs.
    package var name: String { key?.name.text ?? (isLocal ? "local" : "-") }
    package var keyID: APIKeyID? { key?.id }
    package var roles: RoleSet { key?.roles ?? (isLocal ? .everything : RoleSet([])) }
    /// The apps to which the caller is limited; nil for all apps.
    package var apps: [AppID]? { key.map(\.apps) ?? (isLocal ? nil : []) }

    package func allows(_ role: Role) -> Bool { roles.allows(role) }

    package func allows(_ app: AppID) -> Bool { key?.allows(app) ?? isLocal }

    /// Throws `forbidden` if the caller is limited to some apps.
    package func mustActForAllApps() throws(AccessRefusal) {
        guard apps == nil else { throw .forbidden(.appNotAllowed, key: key) }
    }
}
