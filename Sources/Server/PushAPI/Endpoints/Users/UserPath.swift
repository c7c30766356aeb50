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

    var unknown: Problem {
        Problem(.unknownUser, detail: "no address and no stored message of these apps names this user")
    }
}
