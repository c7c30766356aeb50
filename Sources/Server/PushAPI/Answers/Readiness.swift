/// Whether pushes can be sent now, app by app.
package struct Readiness: JSONAnswer, Equatable {
    package struct App: Codable, Sendable, Equatable {
        package let app: String
        package let ready: Bool
        /// The obstacle; left out if there is none.
        package var reason: String?
        /// The code of the connection's fault, from a closed set; left out if the app has a connection.
        package var code: String?

        package init(app: String, obstacle: String?, code: String? = nil) {
            self.app = app
            ready = obstacle == nil
            reason = obstacle
            self.code = obstacle == nil ? nil : code
        }
    }

    package let ready: Bool
    /// The obstacle that all apps share; left out if there is none.
    package var reason: String?
    package let apps: [App]
    /// Faults that do not prevent sending; left out if there are none.
    package var warnings: [String]?

    /// - Parameter obstacle: the reason why nothing can be accepted or stored, whatever the gateways say.
    package init(_ apps: [App], obstacle: String? = nil, warnings: [String] = []) {
        self.apps = apps
        // Without an app nothing can be sent.
        reason = obstacle ?? (apps.isEmpty ? Self.noApp : nil)
        self.warnings = warnings.isEmpty ? nil : warnings
        ready = reason == nil && apps.allSatisfy(\.ready)
    }

    /// What a new installation needs.
    private static let noApp =
        "there is no app: add one to apps in the configuration, with its topic, environment and credential, and reload"

    /// The state in one sentence, for people.
    package var sentence: String {
        if let reason { return "Not ready: \(reason)" }
        let count = apps.count == 1 ? "1 app" : "\(apps.count) apps"
        guard let first = apps.first(where: { !$0.ready }) else { return "Serving \(count)" }
        let waiting = apps.count { !$0.ready }
        return "Serving \(count), \(waiting) of them not ready: \(first.app): \(first.reason ?? "unknown")"
    }

    /// Returns the readiness of one app, whatever the state of the others; nil if there is no such app. What all apps
    /// share still counts.
    package func alone(_ name: String) -> Readiness? {
        guard let app = apps.first(where: { $0.app == name }) else { return nil }
        return Readiness([app], obstacle: reason)
    }
}
