import PushAPI
import PushText
import PushTime
import PushWire

/// `carillon keys api`: the API keys of programs that use Carillon over HTTP.
enum KeysAPIVerb {
    static let verb = Verb(
        name: "keys api", summary: "create, list, rotate and revoke API keys for HTTP",
        verbs: [KeysAPIAddVerb.verb, KeysAPIListVerb.verb, KeysAPIRotateVerb.verb, KeysAPIRevokeVerb.verb])

    static let options =
        [
            Option("data", value: "DIR", about: "the data directory of Carillon, which may be running or stopped"),
            Option(
                "config", value: "FILE",
                about: "the configuration with the data directory (else CARILLON_CONFIG, or the usual places)"),
            ControlOptions.json,
        ]

    static let name = Word("NAME", about: "the name of the key: 1 to 64 letters, digits, '.', '_' and '-'")

    /// Parses the duration of an option.
    static func duration(_ option: String, of arguments: Arguments) throws(Failure) -> Duration? {
        guard let text = arguments.text(option) else { return nil }
        guard let duration = DurationText.read(text) else {
            throw Failure(
                .usage, "'--\(option)' must be a duration such as 1h or 90d, not '\(PlainText.line(text, limit: 60))'")
        }
        return duration
    }

    static func path(of name: String, action: String) -> String {
        "/v1/keys/\(APIQuery.escaped(name))/\(action)"
    }

    /// Prints a new key and its secret.
    static func show(_ made: MadeKeyAnswer, event: String, isRunning: Bool, with arguments: Arguments) {
        if arguments.has("json") { return ControlOptions.write(made) }
        let key = made.key
        let id = PlainText.line(key.keyID, limit: 60)
        let secret = PlainText.line(made.secret, limit: 100)
        let bearer = key.bearer ? "\nAs a bearer secret: Authorization: Bearer \(id).\(secret)\n" : ""
        Terminal.output.write(
            """
            \(event) the key \(PlainText.line(key.name, limit: 80)): \(KeyTable.rights(key)).

              key id  \(id)
              secret  \(secret)
            \(bearer)
            The secret is shown this once. Keep it where only the client can read it.

            """)
        if !isRunning { Terminal.output.write(KeyStore.stoppedNote) }
    }
}
