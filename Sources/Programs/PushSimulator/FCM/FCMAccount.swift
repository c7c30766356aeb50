package import PushTransport

/// The service account that the simulated FCM accepts.
package struct FCMAccount: Sendable {
    package let project: String
    package let email: String
    package let keyID: String
    package let key: RS256PublicKey

    package init(project: String, email: String, keyID: String, key: RS256PublicKey) {
        self.project = project
        self.email = email
        self.keyID = keyID
        self.key = key
    }
}
