package import PushModel

/// The sender of a request, and its rights.
package struct Caller: Sendable, Equatable {
    /// The name for logs and events: the name of a key.
    package let name: String
    package let roles: Set<Role>
    /// The apps of the caller; nil for all apps.
    package let apps: Set<AppID>?

    package init(name: String, roles: Set<Role>, apps: Set<AppID>? = nil) {
        self.name = name
        self.roles = roles.reduce(into: []) { $0.formUnion($1.included) }
        self.apps = apps
    }

    /// A caller on the control socket. The mode of the socket's file has decided that it may do everything.
    package static let local = Caller(name: "control socket", roles: Set(Role.allCases))
    /// A caller without a key, for what is open to all.
    package static let anyone = Caller(name: "-", roles: [])

    package func has(_ app: AppID) -> Bool { apps?.contains(app) ?? true }

    /// Throws unless the caller has rights for this app.
    package func check(_ app: AppID) throws(Problem) {
        guard has(app) else {
            throw Problem(.forbidden, detail: "the key \(name) has no right for the app \"\(app)\"")
        }
    }

    /// Returns the app to which a search is limited: the named one, or the only one of the caller.
    ///
    /// - Throws: `forbidden`, if the caller has no right for the app, or has several apps and names none.
    package func app(for named: AppID?) throws(Problem) -> AppID? {
        if let named {
            try check(named)
            return named
        }
        guard let apps else { return nil }
        guard apps.count == 1 else {
            throw Problem(.forbidden, detail: "the key \(name) has rights for several apps; name one with app=")
        }
        return apps.first
    }
}
