import PushLoop
import PushTransport

/// `carillon keys curve`: a new pair of CURVE keys, for a Carillon or for one of its clients.
enum KeysCurveVerb {
    static let verb = Verb(
        name: "keys curve", summary: "make a pair of CURVE keys for ZeroMQ, for a Carillon or a client of it",
        words: [Word("FILE", "where to write the pair; the secret key in it is readable by you alone")],
        options: [
            Option("force", "replace the file if there is one"), Option("json", "say the public key as JSON"),
        ],
        examples: [
            ("carillon keys curve server.curve", "then security: { curve: { secret_key_file: \"server.curve\" } }"),
            ("carillon keys curve orders.curve", "for a client; its public key goes into security.clients"),
        ]
    ) { arguments in
        let path = arguments.word("FILE")
        let keys = try CurveKeyPair.generate()
        try NewFile.write(CurveKeyFile.text(keys), to: path, replacing: arguments.has("force"))
        let publicKey = keys.publicKey.z85
        Terminal.output.write(
            arguments.has("json")
                ? String(decoding: ControlAnswer.json(["public_key": publicKey, "file": path]).body, as: UTF8.self)
                : """
                Wrote \(path), readable by you alone. Its public key, which is no secret:
                  \(publicKey)

                For a Carillon: security: { curve: { secret_key_file: \(KeysVerb.quoted(path)) } }
                For a client:   security: { clients: { NAME: { public_key: \(KeysVerb.quoted(publicKey)), push: ["APP"] } } }

                """)
        return .done
    }
}
