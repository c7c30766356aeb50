/// Whether a push would go out now, app by app.
struct Readiness: Codable, Sendable, Equatable {
    struct App: Codable, Sendable, Equatable {
        let app: String
        let ready: Bool
        /// What keeps it.
        var reason: String?
        /// Where it has no connection: why, from a closed set.
        var code: String?
    }

    let ready: Bool
    /// What keeps all of them.
    var reason: String?
    let apps: [App]
    /// What is wrong and keeps no push from going out; left out if nothing is.
    var warnings: [String]?

    /// - Parameter obstacle: why nothing could be taken in or kept, whatever the gateways say.
    init(_ served: [ServedStatus], obstacle: String? = nil, warnings: [String] = []) {
        reason = obstacle
        self.warnings = warnings.isEmpty ? nil : warnings
        apps = served.map { status in
            let obstacle = status.obstacle
            return App(
                app: status.app.id.name, ready: obstacle == nil, reason: obstacle,
                code: obstacle == nil ? nil : status.connectionFault?.code.rawValue)
        }
        // With no app nothing would go out either.
        ready = obstacle == nil && !apps.isEmpty && apps.allSatisfy(\.ready)
    }
}
