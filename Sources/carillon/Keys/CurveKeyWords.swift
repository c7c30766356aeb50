/// The output of `keys show` for a file with CURVE keys. Never contains the secret key.
enum CurveKeyWords {
    static func text(_ facts: CurveKeyFile.Facts, _ path: String) -> String {
        let terminal = Terminal.output
        let name = KeysVerb.quoted(path)
        let holds = facts.hasSecretKey ? "a pair of CURVE keys for ZeroMQ" : "a public CURVE key for ZeroMQ"
        let client =
            "security: { clients: { NAME: { public_key: \(KeysVerb.quoted(facts.publicKey)), push: [\"APP\"] } } }"
        let next =
            facts.hasSecretKey
            ? """
            name it in the configuration, if it is this Carillon's:
              security: { curve: { secret_key_file: \(name) } }
            or its public key, if it is a client's:
              \(client)
            """
            : """
            name it in the configuration of the Carillon whose client it is:
              \(client)
            """
        return terminal.coloured(path, .bold) + " holds \(holds).\n\n"
            + PlainText.rows([("public key", facts.publicKey)], on: terminal) + "\nNext: \(next)\n"
    }

    static func json(_ facts: CurveKeyFile.Facts, _ path: String) -> String {
        MachineLine.text([
            "file": .string(path), "holds": .string(facts.hasSecretKey ? "curve_key_pair" : "curve_public_key"),
            "format": "curve", "public_key": .string(facts.publicKey),
        ])
    }
}
