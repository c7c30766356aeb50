package import PushModel
package import PushWire

extension PushService {
    package static let fcm = PushService(.fcm, reasons: .fcm, codec: FCMCodec()) { path, _, _ in
        try ServiceAccount(file: path).description(of: path)
    }
}

extension ServiceDescription {
    package static let fcm = ServiceDescription(
        owner: "Google", address: "registration token or installation id",
        accepted: "FCM accepted the message; it does not report delivery", providerID: "message-id",
        renewal: "make another key in the Firebase console, replace the file, and run 'carillon reload'",
        misdirection: "check that the service account belongs to the Firebase project of the app")
}

extension ServiceAccount {
    /// Describes the content of the file with that path.
    fileprivate func description(of path: String) -> CredentialFileDescription {
        var facts: [CredentialFileDescription.Fact] = [.text("project", project.text), .text("account", email)]
        if let keyID { facts.append(.text("key id", keyID)) }
        facts += [
            .text("tokens from", tokenAddress.description), .text("expires", "never, unless the key is deleted"),
            .text("key", key.kind), .text("fingerprint", "SHA-256 \(fingerprint.hex)"),
        ]
        var members: [String: JSONValue] = [
            "holds": "service_account", "format": "JSON", "project": .string(project.text),
            "key_kind": .string(key.kind),
        ]
        var credential: [String: JSONValue] = [
            "kind": "service_account", "subject": .string(email), "fingerprint": .string(fingerprint.hex),
        ]
        credential["key_id"] = keyID.map { .string($0) }
        members["credential"] = .object(credential)
        return CredentialFileDescription(
            content: "a service account (JSON)", facts: facts,
            next: """
                name it in the configuration of an app:
                  service: "fcm", credential: { service_account: \(CredentialFileDescription.quoted(path)) }
                """, members: members)
    }
}
