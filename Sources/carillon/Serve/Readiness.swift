/// Whether a push would go out now, app by app.
struct Readiness: Codable, Sendable, Equatable {
    struct App: Codable, Sendable, Equatable {
        let app: String
        let ready: Bool
        /// What keeps it.
        var reason: String?
    }

    let ready: Bool
    /// What keeps all of them.
    var reason: String?
    let apps: [App]

    /// - Parameter obstacle: why nothing could be taken in or kept, whatever the gateways say.
    init(_ served: [ServedStatus], obstacle: String? = nil) {
        reason = obstacle
        apps = served.map { status in
            let obstacle = status.obstacle
            return App(app: status.app.id.name, ready: obstacle == nil, reason: obstacle)
        }
        // With no app nothing would go out either.
        ready = obstacle == nil && !apps.isEmpty && apps.allSatisfy(\.ready)
    }
}
