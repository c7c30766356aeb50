import PushAPI
import PushModel
import PushText
import PushTime
import PushWire

/// `carillon keys api rotate`: replaces the secret of an API key.
enum KeysAPIRotateVerb {
    private static let defaultOverlap = Duration.seconds(3600)

    static let verb = Verb(
        name: "keys api rotate", summary: "replace an API key by one with the same rights and a new secret",
        words: [KeysAPIVerb.name],
        options: [
            Option(
                "overlap", value: "TIME",
                about: "how long the earlier key id and secret stay valid; 1h if left out, and 0s ends them at once")
        ] + KeysAPIVerb.options,
        examples: [
            ("carillon keys api rotate orders --overlap 1h", "give the new secret to the client within an hour"),
            ("carillon keys api rotate orders --overlap 0s", "the earlier secret was disclosed"),
        ]
    ) { arguments in
        let overlap = try KeysAPIVerb.duration("overlap", of: arguments) ?? defaultOverlap
        let body = JSONValue.object(["overlap_ms": .integer(overlap.wholeMilliseconds)]).bytes
        let (made, isRunning) = try await KeyStore(arguments).ask(
            .post, at: KeysAPIVerb.path(of: arguments.word("NAME"), action: "rotate"), body: body,
            for: MadeKeyAnswer.self)
        KeysAPIVerb.show(made, event: "Rotated", isRunning: isRunning, with: arguments)
        if !arguments.has("json") {
            Terminal.output.write(
                overlap == .zero
                    ? "The earlier secret is no longer valid.\n"
                    : "The earlier secret is valid for another \(DurationText.write(overlap)).\n")
        }
        return .done
    }
}

/// `carillon keys api revoke`: ends an API key.
enum KeysAPIRevokeVerb {
    static let verb = Verb(
        name: "keys api revoke", summary: "end an API key at once, with its connections and streams",
        words: [KeysAPIVerb.name], options: KeysAPIVerb.options,
        examples: [("carillon keys api revoke orders", "also ends an earlier secret that is still valid")]
    ) { arguments in
        let (list, isRunning) = try await KeyStore(arguments).ask(
            .post, at: KeysAPIVerb.path(of: arguments.word("NAME"), action: "revoke"), for: KeyListAnswer.self)
        if arguments.has("json") {
            ControlOptions.write(list)
        } else {
            let ids = list.keys.map { PlainText.line($0.keyID, limit: 60) }.joined(separator: ", ")
            Terminal.output.write("Revoked the key \(PlainText.line(arguments.word("NAME"), limit: 80)) (\(ids)).\n")
            if !isRunning { Terminal.output.write(KeyStore.stoppedNote) }
        }
        return .done
    }
}
