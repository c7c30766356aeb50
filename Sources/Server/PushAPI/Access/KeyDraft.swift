package import PushModel

/// The properties of an API key that an operator chooses.
package struct KeyDraft: Sendable, Equatable {
    package var name: APIKeyName
    package var roles: RoleSet
    package var apps: [AppID]?
    package var from: [AddressRange] = []
    package var lifetime: Duration?
    package var allowsBearer = false
    package var rate: Int?

    package init(name: APIKeyName, roles: RoleSet) {
        self.name = name
        self.roles = roles
    }

    /// The draft of a key that replaces another one: with the same rights and the same lifetime, from now on.
    init(replacing key: APIKey) {
        name = key.name
        roles = key.roles
        apps = key.apps
        from = key.from
        lifetime = key.expiresAt.map { .milliseconds(max(1, $0.milliseconds(since: key.createdAt))) }
        allowsBearer = key.allowsBearer
        rate = key.rate
    }
}
