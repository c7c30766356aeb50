import PushConfiguration
import PushText

/// The output of `keys show` for a file with CURVE keys. Never contains the secret key.
enum CurveKeyDescription {
    static func text(_ facts: CurveKeyFile.Facts, of path: String) -> String {
        let terminal = Terminal.output
        let name = KeysVerb.quoted(path)
        let holds = facts.hasSecretKey ? "a CURVE key pair for ZeroMQ" : "a public CURVE key for ZeroMQ"
        let client =
            "security: { clients: { NAME: { public_key: \(KeysVerb.quoted(facts.publicKey)), push: [\"APP\"] } } }"
        let next =
            facts.hasSecretKey
            ? """
            for this server, name the file in the configuration:
              security: { curve: { secret_key_file: \(name) } }
            for a client, name its public key in the configuration of the server:
              \(client)
            """
            : """
            name the key in the configuration of the server:
              \(client)
            """
        return terminal.colored(path, in: .bold) + " contains \(holds).\n\n"
            + PlainText.rows([("public key", facts.publicKey)], on: terminal) + "\nNext: \(next)\n"
    }

    static func json(_ facts: CurveKeyFile.Facts, of path: String) -> String {
        MachineLine.text([
            "file": .string(path), "holds": .string(facts.hasSecretKey ? "curve_key_pair" : "curve_public_key"),
            "format": "curve", "public_key": .string(facts.publicKey),
        ])
    }
}
