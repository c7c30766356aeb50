package import PushTransport

/// The settings of an app at FCM, besides those that apps of every push service have.
package struct FCMSettings: Sendable, Equatable {
    /// The file with the service account, which also names the project.
    package var serviceAccount: String
    /// The number of messages that the project may send in a minute.
    package var perMinute = defaultPerMinute

    /// What Google allows a project by default.
    package static let defaultPerMinute = 600_000

    package init(serviceAccount: String) {
        self.serviceAccount = serviceAccount
    }

    package static let endpoint = HostPort(host: "fcm.googleapis.com", port: 443)

    package static func isHostOfGoogle(_ host: String) -> Bool {
        let host = host.lowercased()
        return host == "googleapis.com" || host.hasSuffix(".googleapis.com")
    }
}
