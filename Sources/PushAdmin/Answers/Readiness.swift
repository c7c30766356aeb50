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
        reason = obstacle
        self.warnings = warnings.isEmpty ? nil : warnings
        // Without an app nothing can be sent.
        ready = obstacle == nil && !apps.isEmpty && apps.allSatisfy(\.ready)
    }

    /// Returns the readiness of one app, whatever the state of the others; nil if there is no such app. What all apps
    /// share still counts.
    package func alone(_ name: String) -> Readiness? {
        guard let app = apps.first(where: { $0.app == name }) else { return nil }
        return Readiness([app], obstacle: reason)
    }
}
