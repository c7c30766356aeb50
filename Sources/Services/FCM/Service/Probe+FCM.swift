package import PushGateways
package import PushModel

extension Probe {
    /// Asks FCM to judge a message to a topic of the project and to deliver nothing. The answer shows whether the account
    /// may send for the project.
    package static func fcm(of app: AppID) -> Probe {
        Probe(validation(of: app)) { outcome in
            guard case .accepted = outcome else { return nil }
            var verdict = Verdict(
                .accepted, "service account, role and project are accepted; nothing was delivered (validate_only)")
            verdict.isAnswered = true
            return verdict
        }
    }

    private static func validation(of app: AppID) -> Delivery? {
        guard let id = MessageID("check"), let address = Address(bytes: Array("check".utf8)) else { return nil }
        let message = Message(
            id: id, app: app, type: .validation, expiry: .singleAttempt, payload: Array("{}".utf8))
        return Delivery(
            ticket: 1, message: message, token: address, deliveryID: .derived(app: app, message: id, token: address))
    }
}
