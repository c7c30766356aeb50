import PushAPI
import PushConfiguration
import PushTransport

/// `carillon keys webhook`: creates the secret that signs the requests of a webhook.
enum KeysWebhookVerb {
    static let verb = Verb(
        name: "keys webhook", summary: "create the secret of a webhook",
        words: [Word("FILE", about: "the file to write, readable only by you; an existing file is never overwritten")],
        options: [Option("json", about: "print the name of the file as JSON")],
        examples: [("carillon keys webhook billing.hook", "create a secret; the receiver gets the same line")]
    ) { arguments in
        let path = arguments.word("FILE")
        var line = Array(WebhookSecrets.new().utf8)
        defer { wipe(&line) }
        guard try NewSecretFile.create(path, line) else {
            throw Failure(
                .notPermitted, "\(path) already exists; give another name, or write the new secret as its first line")
        }
        Terminal.output.write(
            arguments.has("json")
                ? String(decoding: APIAnswer.json(["file": path]).body, as: UTF8.self)
                : """
                Wrote \(path), readable only by you. Its line whsec_… is the secret that the receiver verifies with.

                In the configuration:
                  webhooks: { NAME: { url: "https://…", prefixes: ["delivery/"], secret_file: \(KeysVerb.quoted(path)) } }

                """)
        return .done
    }
}
