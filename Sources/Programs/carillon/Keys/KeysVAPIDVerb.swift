import PushAPI
import PushTransport
import WebPush

/// `carillon keys vapid`: creates the key pair that identifies an app to the push services of browsers.
enum KeysVAPIDVerb {
    static let verb = Verb(
        name: "keys vapid", summary: "create a VAPID key for an app for browsers",
        words: [Word("FILE", about: "the file to write, readable only by you; an existing file is never overwritten")],
        options: [Option("json", about: "print the public key as JSON")],
        examples: [
            ("carillon keys vapid vapid.pem", "create a key; its public half is what pages subscribe with")
        ]
    ) { arguments in
        let path = arguments.word("FILE")
        let key = try ES256PrivateKey.generate()
        let publicKey = VAPIDKey(key).publicKey
        var pem = Array(key.pem.utf8)
        defer { wipe(&pem) }
        // All subscriptions end with the key, so there is no option to overwrite it.
        guard try NewSecretFile.create(path, pem) else {
            throw Failure(
                .notPermitted,
                "\(path) already exists; subscriptions belong to its key, so give another name or remove it yourself")
        }
        Terminal.output.write(
            arguments.has("json")
                ? String(decoding: APIAnswer.json(["public_key": publicKey, "file": path]).body, as: UTF8.self)
                : """
                Wrote \(path), readable only by you. The public key, which is not secret:
                  \(publicKey)

                In the page: pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: "…" })
                In the configuration of an app:
                  service: "webpush", credential: { vapid: \(KeysVerb.quoted(path)), subject: "mailto:…" }

                """)
        return .done
    }
}
