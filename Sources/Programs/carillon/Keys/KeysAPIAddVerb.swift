import PushAPI
import PushModel
import PushText
import PushTime
import PushWire

/// `carillon keys api add`: creates an API key.
enum KeysAPIAddVerb {
    static let verb = Verb(
        name: "keys api add", summary: "create an API key, and show its secret once",
        words: [KeysAPIVerb.name],
        options: [
            Option(
                "role", value: "ROLE", offers: .choice(Role.self),
                about: "\(Role.allCases.map(\.rawValue).joined(separator: ", ")); may be given several times. operate "
                    + "includes observe, and admin includes operate; neither includes push or register",
                mayRepeat: true),
            Option(
                "app", value: "APP",
                about: "an app that the key may act for; may be given several times; all if left out",
                mayRepeat: true),
            Option(
                "from", value: "CIDR",
                about: "a range of addresses that may use the key, such as 10.0.0.0/8; may be given several times",
                mayRepeat: true),
            Option("expires", value: "TIME", about: "how long the key is valid, such as 90d; forever if left out"),
            Option(
                "bearer",
                about: "the secret itself may be sent instead of a signature, over TLS or from this machine: for "
                    + "Prometheus and similar tools"),
            Option("rate", value: "N/s", about: "the maximum number of requests in a second, such as 100/s"),
        ] + KeysAPIVerb.options,
        examples: [
            ("carillon keys api add orders --role push --app shop", "a backend that sends for one app"),
            (
                "carillon keys api add prometheus --role observe --bearer --from 10.1.0.0/16",
                "a monitor that cannot sign requests"
            ),
            ("carillon keys api add phones --role register --app shop --rate 100/s", "the registration of devices"),
        ]
    ) { arguments in
        guard !arguments.texts("role").isEmpty else {
            throw Failure(
                .usage,
                "'--role' is missing: \(Role.allCases.map(\.rawValue).joined(separator: ", ")); "
                    + "'carillon keys api add --help' explains them")
        }
        for role in arguments.texts("role") where Role(rawValue: role) == nil {
            let names = Role.allCases.map(\.rawValue)
            let nearest = NearestWord.to(role, in: names).map { "; did you mean '\($0)'?" } ?? ""
            throw Failure(
                .usage,
                "'--role' must be one of \(names.joined(separator: ", ")), not "
                    + "'\(PlainText.line(role, limit: 60))'\(nearest)")
        }
        let lifetime = try KeysAPIVerb.duration("expires", of: arguments)
        var members: [String: JSONValue] = [
            "name": .string(arguments.word("NAME")), "roles": .texts(arguments.texts("role")),
        ]
        if !arguments.texts("app").isEmpty { members["apps"] = .texts(arguments.texts("app")) }
        if !arguments.texts("from").isEmpty { members["from"] = .texts(arguments.texts("from")) }
        if let lifetime { members["expires_in_ms"] = .integer(lifetime.wholeMilliseconds) }
        if arguments.has("bearer") { members["bearer"] = .bool(true) }
        if let text = arguments.text("rate") { members["rate"] = .integer(try rate(text)) }
        let (made, isRunning) = try await KeyStore(arguments).ask(
            .post, at: "/v1/keys", body: JSONValue.object(members).bytes, for: MadeKeyAnswer.self)
        KeysAPIVerb.show(made, event: "Created", isRunning: isRunning, with: arguments)
        return .done
    }

    /// Parses a rate such as `100/s`, or a number alone.
    static func rate(_ text: String) throws(Failure) -> Int64 {
        let digits = text.hasSuffix("/s") ? text.dropLast(2) : text[...]
        guard digits.utf8.allSatisfy({ (48...57).contains($0) }), let rate = Int64(digits),
            (1...Int64(APIKey.maxRate)).contains(rate)
        else {
            throw Failure(
                .usage,
                "'--rate' must be a number of requests in a second from 1/s to \(APIKey.maxRate)/s, such as 100/s, not "
                    + "'\(PlainText.line(text, limit: 60))'")
        }
        return rate
    }
}
