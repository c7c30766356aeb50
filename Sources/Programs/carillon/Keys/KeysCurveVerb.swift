import PushAPI
import PushConfiguration
import PushLoop
import PushTransport

/// `carillon keys curve`: creates a CURVE key pair, for a server or a client.
enum KeysCurveVerb {
    static let verb = Verb(
        name: "keys curve", summary: "create a CURVE key pair for ZeroMQ, for a server or a client",
        words: [Word("FILE", about: "the file to write; its secret key is readable only by you")],
        options: [
            Option("force", about: "overwrite an existing file"), Option("json", about: "print the public key as JSON"),
        ],
        examples: [
            (
                "carillon keys curve server.curve",
                "for a server; then set security: { curve: { secret_key_file: \"server.curve\" } }"
            ),
            ("carillon keys curve orders.curve", "for a client; then add its public key to security.clients"),
        ]
    ) { arguments in
        let path = arguments.word("FILE")
        let keys = try CurveKeyPair.generate()
        try NewFile.write(CurveKeyFile.text(keys), to: path, replacing: arguments.has("force"))
        let publicKey = keys.publicKey.z85
        Terminal.output.write(
            arguments.has("json")
                ? String(decoding: APIAnswer.json(["public_key": publicKey, "file": path]).body, as: UTF8.self)
                : """
                Wrote \(path), readable only by you. The public key, which is not secret:
                  \(publicKey)

                For a server: security: { curve: { secret_key_file: \(KeysVerb.quoted(path)) } }
                For a client: security: { clients: { NAME: { public_key: \(KeysVerb.quoted(publicKey)), push: ["APP"] } } }

                """)
        return .done
    }
}
