import PushAPI
import PushConfiguration
import PushModel
import PushText
import PushWire

/// `carillon devices`: manages the registry of a running Carillon.
enum DevicesVerb {
    static let verb = Verb(
        name: "devices", summary: "add, show, list, deactivate, reactivate, remove, import and export",
        verbs: [add, show, list, deactivate, DevicesReactivate.verb, remove, DevicesImport.verb, DevicesExport.verb])

    static let options = ControlOptions.options + [ControlOptions.json]

    private static let kinds = AddressKind.allCases.map(\.rawValue).joined(separator: ", ")

    private static let add = Verb(
        name: "devices add", summary: "register a device, or update its properties",
        words: [
            Word("APP", about: "an app of the configuration"),
            Word(
                "TOKEN", about: "the device token: hexadecimal, as an app or a log shows it, or base64",
                isOptional: true),
        ],
        options: [
            TokenOptions.fileOption,
            Option("kind", value: "KIND", about: "what the address is for: \(kinds); alert by default"),
            Option("activity", value: "NAME", about: "the Live Activity that an address of kind activity updates"),
            Option("activity-type", value: "NAME", about: "the type of the Live Activities of the address"),
            Option(
                "installation", value: "NAME",
                about: "the installation of the app, whose addresses share user, tags, locale and time zone"),
            Option("user", value: "NAME", about: "the user of the device"),
            Option("tag", value: "TAG", about: "a tag; may be given several times", mayRepeat: true),
            Option("locale", value: "NAME", about: "the locale, as in de-CH"),
            Option("time-zone", value: "NAME", about: "the time zone, as in Europe/Berlin"),
            Option("platform", value: "NAME", about: "the platform, as in ios"),
            Option("app-version", value: "TEXT", about: "the version of the app, as in 4.2.1"),
            Option("replaces", value: "TOKEN", about: "the previous token of the device, whose user and tags are kept"),
            Option(
                "replaces-file", value: "FILE", about: "read the previous token from a file, or - for standard input"),
        ] + options,
        examples: [
            ("carillon devices add shop 1f2e… --user ada --tag beta", "register a device with its user and a tag"),
            ("carillon devices add shop --token-file token.txt", "register without showing the token to other users"),
            ("carillon devices add shop 1f2e… --replaces 77aa…", "replace the token of a device by a new one"),
        ]
    ) { arguments in
        var input = DeviceInput()
        input.app = arguments.word("APP")
        let (token, replaced) = try tokens(arguments)
        let codec = token.codec
        (input.token, input.replaces) = (token.text, replaced?.text)
        (input.kind, input.activity) = (arguments.text("kind"), arguments.text("activity"))
        input.activityType = arguments.text("activity-type")
        (input.installation, input.timeZone) = (arguments.text("installation"), arguments.text("time-zone"))
        input.user = arguments.text("user")
        input.tags = arguments.has("tag") ? arguments.texts("tag") : nil
        input.locale = arguments.text("locale")
        input.platform = arguments.text("platform")
        input.appVersion = arguments.text("app-version")
        let device: DeviceRegistration
        do {
            device = try input.checked { _ in codec }
        } catch {
            throw Failure(.badInput, "\(error)")
        }
        let client = try ControlOptions.client(arguments)
        let answer = try await client.ask(
            "POST", at: "/v1/devices", body: device.json(codec).bytes, for: RegistrationAnswer.self)
        if arguments.has("json") {
            ControlOptions.write(answer)
        } else {
            let what =
                switch answer.change {
                case "registered": "was registered"
                case "reactivated": "was inactive and is active again"
                default: "was already registered and was updated"
                }
            Terminal.output.write("The device \(PlainText.line(answer.id ?? "?")) of \(device.app) \(what).\n")
        }
        return .done
    }

    /// Returns the token of a device to add, and the token that it replaces.
    private static func tokens(_ arguments: Arguments) throws(Failure) -> (token: GivenAddress, replaced: GivenAddress?)
    {
        let (word, replaces) = (arguments.wordIfGiven("TOKEN"), arguments.text("replaces"))
        caution(arguments, token: word, replaces: replaces)
        if arguments.text("token-file") == "-", arguments.text("replaces-file") == "-" {
            throw Failure(
                .usage, "'--token-file -' cannot be combined with '--replaces-file -': standard input is read once")
        }
        guard let token = try TokenOptions.one(arguments, word: "TOKEN", text: word) else {
            throw Failure(
                .usage, "TOKEN or --token-file FILE is missing; 'carillon devices add --help' shows examples")
        }
        return (
            token,
            try TokenOptions.one(
                arguments, word: "--replaces", text: replaces, option: "replaces-file", by: token.codec)
        )
    }

    /// Warns of tokens on the command line, unless the output is JSON, which is for programs.
    private static func caution(_ arguments: Arguments, token: String?, replaces: String? = nil) {
        if arguments.has("json") { return }
        if token != nil {
            Terminal.error.write("carillon: \(TokenOptions.caution(about: "TOKEN", option: "token-file"))\n")
        }
        if replaces != nil {
            Terminal.error.write(
                "carillon: \(TokenOptions.caution(about: "the value of --replaces", option: "replaces-file"))\n")
        }
    }

    private static let show = Verb(
        name: "devices show", summary: "show a device (never its token)",
        words: [
            Word("DEVICE", about: "a device id: 32 hexadecimal digits; or an app, if a token follows"),
            Word("TOKEN", about: "the device token", isOptional: true),
        ], options: [TokenOptions.fileOption] + options,
        examples: [
            ("carillon devices show 4f1c9be2a07d55b3c2e8f6a91d304b7e", "by its id, as in events and logs"),
            ("carillon devices show shop --token-file -", "by app and token, to find its id"),
        ]
    ) { arguments in
        let first = arguments.word("DEVICE")
        caution(arguments, token: arguments.wordIfGiven("TOKEN"))
        let token = try TokenOptions.one(arguments, word: "TOKEN", text: arguments.wordIfGiven("TOKEN"))
        return try await ControlOptions.reading(arguments, for: "devices show") { client in
            try await show(first, token: token, from: client, with: arguments)
        }
    }

    private static func show(
        _ first: String, token: GivenAddress?, from client: ControlClient, with arguments: Arguments
    ) async throws -> ExitCode {
        let device: DeviceAnswer
        if let token {
            var input = DeviceInput()
            input.app = first
            input.token = token.text
            let body: [UInt8]
            do {
                body = try input.checked { _ in token.codec }.json(token.codec).bytes
            } catch {
                throw Failure(.badInput, "\(error)")
            }
            device = try await client.ask("POST", at: "/v1/devices/find", body: body)
        } else {
            device = try await client.ask("GET", at: "/v1/devices/\(try id(first))")
        }
        if arguments.has("json") {
            ControlOptions.write(device)
        } else {
            Terminal.output.write(DeviceTable(Terminal.output).one(device))
        }
        return .done
    }

    private static let list = Verb(
        name: "devices list", summary: "list devices (never their tokens)",
        options: filters + [
            Option("limit", value: "N", about: "the maximum number of devices (100)"), TableDetail.option,
        ] + options,
        examples: [
            ("carillon devices list --app shop --tag beta", "list the devices of an app with a tag"),
            (
                "carillon devices list --inactive --limit 1000 --json",
                "print inactive devices, one JSON object per line"
            ),
        ]
    ) { arguments in
        let limit = try arguments.number("limit", in: 1...1_000_000) ?? 100
        return try await ControlOptions.reading(arguments, for: "devices list") { client in
            try await list(from: client, limit: limit, with: arguments)
        }
    }

    private static func list(
        from client: ControlClient, limit: Int, with arguments: Arguments
    ) async throws -> ExitCode {
        var left = limit
        var cursor: String?
        var count = 0
        let table = DeviceTable(Terminal.output)
        let detail = TableDetail(.output, arguments)
        repeat {
            let page = try await client.ask(
                "GET",
                at: "/v1/devices" + (try query(arguments, after: cursor, limit: min(left, DeviceSearch.maxPageSize))),
                for: DeviceListAnswer.self)
            let text =
                arguments.has("json")
                ? page.devices.map { String(decoding: APIAnswer.json($0).body, as: UTF8.self) }.joined()
                : page.devices.isEmpty ? "" : table.list(page.devices, in: detail)
            guard Terminal.output.write(text) else { return .done }
            count += page.devices.count
            left -= page.devices.count
            cursor = page.next.text
        } while cursor != nil && left > 0
        if arguments.has("json") {
            // Notes go to the standard error, because a program reads the lines.
            if cursor != nil {
                Terminal.error.write("carillon devices list: there are more than \(limit); raise --limit\n")
            }
            return .done
        }
        if count == 0 { Terminal.output.write("There are no matching devices.\n") }
        if cursor != nil { Terminal.output.write("There are more than \(limit); raise --limit.\n") }
        return .done
    }

    private static let remove = Verb(
        name: "devices remove", summary: "erase devices with token, user and tags; past events keep the id",
        words: [Word("DEVICE", about: "a device id: 32 hexadecimal digits", mayRepeat: true)], options: options,
        examples: [
            ("carillon devices remove 4f1c9be2a07d55b3c2e8f6a91d304b7e", "erase a device at the request of its user")
        ]
    ) { arguments in
        let ids = try arguments.words("DEVICE").map { try id($0) }
        let client = try ControlOptions.client(arguments)
        return try await each(ids, of: "remove", arguments) { id in
            let device = try await client.ask("GET", at: "/v1/devices/\(id)", for: DeviceAnswer.self)
            let answer = try await client.ask(
                "DELETE", at: "/v1/apps/\(APIQuery.escaped(device.app))/devices/\(id)", for: RemovalAnswer.self)
            return (answer, "was erased")
        }
    }

    private static let deactivate = Verb(
        name: "devices deactivate", summary: "stop sending to devices until they register again",
        words: [Word("DEVICE", about: "a device id: 32 hexadecimal digits", mayRepeat: true)],
        options: [Option("reason", value: "TEXT", about: "the reason, stored in the event and the registry (by_hand)")]
            + options,
        examples: [
            (
                "carillon devices deactivate 4f1c9be2a07d55b3c2e8f6a91d304b7e --reason 'lost phone'",
                "deactivate a device with a reason"
            )
        ]
    ) { arguments in
        let ids = try arguments.words("DEVICE").map { try id($0) }
        let body = JSONValue.object(["reason": .string(arguments.text("reason") ?? "by_hand")]).bytes
        let client = try ControlOptions.client(arguments)
        return try await each(ids, of: "deactivate", arguments) { id in
            let answer = try await client.ask(
                "POST", at: "/v1/devices/\(id)/deactivate", body: body, for: DeactivationAnswer.self)
            return (answer, answer.deactivated ? "was deactivated" : "was already inactive")
        }
    }

    // MARK: Shared by all verbs

    /// Changes the devices one after the other. An unknown id does not prevent the others from being handled.
    ///
    /// - Parameter change: Returns the answer, and what happened as the end of a sentence.
    private static func each<Answer: JSONAnswer>(
        _ ids: [DeviceID], of verb: String, _ arguments: Arguments,
        change: (DeviceID) async throws -> (Answer, outcome: String)
    ) async throws -> ExitCode {
        var code = ExitCode.done
        for id in ids {
            do {
                let (answer, outcome) = try await change(id)
                if arguments.has("json") {
                    ControlOptions.write(answer)
                } else {
                    Terminal.output.write("\(id) \(outcome)\n")
                }
            } catch let failure as Failure where failure.code == .badInput {
                Terminal.error.write("carillon devices \(verb): \(failure)\n")
                code = failure.code
            }
        }
        return code
    }

    static let filters = [
        Option("app", value: "APP", about: "only devices of this app"),
        Option("user", value: "NAME", about: "only devices of this user"),
        Option("tag", value: "TAG", about: "only devices with this tag"),
        Option("kind", value: "KIND", about: "only addresses of this kind; one that was not stated counts as alert"),
        Option("installation", value: "NAME", about: "only addresses of this installation"),
        Option("activity", value: "NAME", about: "only addresses of this Live Activity"),
        Option("active", about: "only active devices"),
        Option("inactive", about: "only inactive devices"),
    ]

    static func query(_ arguments: Arguments, after cursor: String?, limit: Int) throws -> String {
        let active = try isActive(arguments)
        return APIQuery.encoded([
            ("app", arguments.text("app")), ("user", arguments.text("user")), ("tag", arguments.text("tag")),
            ("kind", arguments.text("kind")), ("installation", arguments.text("installation")),
            ("activity", arguments.text("activity")),
            ("active", active.map { "\($0)" }), ("after", cursor), ("limit", "\(limit)"),
        ])
    }

    private static func isActive(_ arguments: Arguments) throws(Failure) -> Bool? {
        switch (arguments.has("active"), arguments.has("inactive")) {
        case (true, true): throw Failure(.usage, "'--active' cannot be combined with '--inactive'")
        case (true, false): true
        case (false, true): false
        case (false, false): nil
        }
    }

    private static func id(_ text: String) throws(Failure) -> DeviceID {
        guard let id = DeviceID(text.lowercased()) else {
            throw Failure(
                .usage,
                "DEVICE is not a device id: 32 hexadecimal digits; 'carillon devices show APP TOKEN' finds the id of a "
                    + "token")
        }
        return id
    }
}
