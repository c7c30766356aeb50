import PushModel

/// A user, in one app or in all apps of the caller.
package struct UserPath: EndpointInput {
    let user: String
    let app: AppID?

    package init(_ read: inout InputReader) {
        user = read.path("user", as: .text(1...1024), about: "The user, percent-encoded.")
        app = read.query("app", as: .app, about: "Only this app; otherwise all apps of the key.")
    }

    /// Returns the apps of the request; nil for all.
    func apps(of caller: Caller, in catalog: AppCatalog) throws(Problem) -> [AppID]? {
        guard let app else { return caller.apps }
        try caller.check(app)
        try catalog.check(app)
        return [app]
    }

    /// Returns what is recorded of a request of this kind: in each app of a caller that is limited to some, so that those
    /// who may see these apps see it.
    func changes(
        _ kind: EventKind, in apps: [AppID], of found: String, after: String? = nil
    ) -> [OperatorChange] {
        if apps.isEmpty { return [OperatorChange(kind, of: found, after: after)] }
        // Those who may see one app do not learn how much there is in another.
        let what = apps.count == 1 ? found : "a user in \(apps.count) apps"
        return apps.map { OperatorChange(kind, app: $0, of: what, after: after) }
    }

    var unknown: Problem {
        Problem(.unknownUser, detail: "no address and no stored message of these apps names this user")
    }
}
