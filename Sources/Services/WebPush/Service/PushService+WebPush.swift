package import PushModel
package import PushWire

extension PushService {
    package static let webPush = PushService(.webPush, reasons: .webPush, codec: WebPushCodec()) { path, _, _ in
        try VAPIDKey(file: path).description(of: path)
    }
}

extension ServiceDescription {
    package static let webPush = ServiceDescription(
        owner: "the browser's push service", address: "subscription",
        accepted: "the push service of the browser accepted the message; it does not report delivery",
        providerID: "message-id",
        renewal: "make another key with 'carillon keys vapid', and let the pages subscribe again with it",
        misdirection: "check that the page subscribes with the public key of the app")
}

extension VAPIDKey {
    /// Describes the content of the file with that path.
    fileprivate func description(of path: String) -> CredentialFileDescription {
        CredentialFileDescription(
            content: "a VAPID key (PEM)",
            facts: [
                .text("public key", publicKey), .text("expires", "never"),
                .text("fingerprint", "SHA-256 \(fingerprint.hex)"),
            ],
            next: """
                name it in the configuration of an app, and give the public key to the page as applicationServerKey:
                  service: "webpush", credential: { vapid: \(CredentialFileDescription.quoted(path)), \
                subject: "mailto:…" }
                """,
            members: [
                "holds": "vapid", "format": "PEM", "public_key": .string(publicKey),
                "credential": .object(["kind": "vapid", "fingerprint": .string(fingerprint.hex)]),
            ])
    }
}
