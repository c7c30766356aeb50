import PushAPI

/// `carillon keys api list`: lists the API keys.
enum KeysAPIListVerb {
    static let verb = Verb(
        name: "keys api list", summary: "list the API keys, without their secrets",
        options: [Option("all", about: "also list keys that have ended in the last 90 days")] + KeysAPIVerb.options,
        examples: [
            ("carillon keys api list", "the valid keys"),
            ("carillon keys api list --all --json", "all keys, one JSON object per line, such as to look up an id"),
        ]
    ) { arguments in
        let store = try KeyStore(arguments)
        var keys: [KeyAnswer] = []
        var next: String?
        repeat {
            let query = APIQuery.encoded([
                (name: "ended", value: arguments.has("all") ? "true" : nil), (name: "after", value: next),
                (name: "limit", value: "1000"),
            ])
            let page = try await store.ask(.get, at: "/v1/keys\(query)", for: KeyListAnswer.self).value
            keys += page.keys
            next = page.next.text
        } while next != nil
        if arguments.has("json") {
            for key in keys { ControlOptions.write(key) }
        } else {
            Terminal.output.write(KeyTable.text(keys, on: Terminal.output))
        }
        return .done
    }
}
