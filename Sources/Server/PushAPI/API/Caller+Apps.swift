package import PushModel

extension Caller {
    package func has(_ app: AppID) -> Bool { allows(app) }

    /// Throws unless the caller has rights for this app.
    package func check(_ app: AppID) throws(Problem) {
        guard has(app) else {
            var problem = Problem(.forbidden, detail: "the key \(name) has no right for the app \"\(app)\"")
            problem.reason = .appNotAllowed
            throw problem
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
