import FoundationEssentials
import PushAPI
import PushLoop
import PushModel
import PushText
import PushTime
import PushTransport
import PushWire

/// `carillon activities`: starts, updates and ends one Live Activity, to try an app, and shows what became of it.
enum ActivitiesVerb {
    static let verb = Verb(
        name: "activities", summary: "start, update, end and show a Live Activity, to try an app",
        details: """
            Sends the messages of one Live Activity through the running Carillon, as a backend does, and shows the \
            events of all of them, and of the activity's addresses, in order. The activity has the name NAME in the \
            registrations of its update tokens: the app must report it so. A start with the default attributes gives \
            the name to the app in the attribute "name".
            """,
        verbs: [start, update, end, show])

    private static let word = Word("NAME", about: "the name of the activity, as the app reports it")
    private static let appOption = Option("app", value: "APP", about: "an app of the configuration; required")
    private static let alert = [
        Option("title", value: "TEXT", about: "the title of an alert"),
        Option("body", value: "TEXT", about: "the text of an alert"),
    ]
    private static let state = Option(
        "state", value: "JSON", about: "the content state, as the app declares it ({})")
    private static let sending = [appOption, state] + alert

    private static let start = Verb(
        name: "activities start", summary: "start an activity on the phones of a user", words: [word],
        options: [
            Option("type", value: "TYPE", about: "the type of the activity's attributes, such as DeliveryAttributes"),
            Option("user", value: "NAME", about: "the user whose phones start it"),
            Option(
                "device", value: "ID", offers: .devices, about: "instead of --user: an address of kind push_to_start"),
            Option(
                "attributes", value: "JSON", about: "the attributes, as the app declares them ({\"name\": NAME})"),
        ] + sending + DevicesVerb.options,
        examples: [
            (
                "carillon activities start order-4711 --app shop --type Delivery --user ada "
                    + "--title 'On its way' --state '{\"eta\": 20}'",
                "start it; Apple requires an alert"
            )
        ]
    ) { arguments in
        let name = try givenName(arguments)
        guard let type = arguments.text("type") else {
            throw Failure(.usage, "'--type' is missing: the type of the attributes that the app declares")
        }
        let (user, device) = (arguments.text("user"), arguments.text("device"))
        guard (user == nil) != (device == nil) else {
            throw Failure(.usage, "give '--user' or '--device': who gets the activity")
        }
        guard arguments.has("title") || arguments.has("body") else {
            throw Failure(.usage, "give '--title' or '--body': Apple starts an activity with an alert only")
        }
        var live = try content(arguments)
        live["type"] = .string(type)
        live["attributes"] = try object("attributes", of: arguments) ?? ["name": .string(name)]
        let to: JSONValue = user.map { ["users": [.string($0)]] } ?? ["devices": .texts([device ?? ""])]
        return try await send(.start, live, id: startID(name), to: to, with: arguments)
    }

    private static let update = Verb(
        name: "activities update", summary: "show a new state in the activity", words: [word],
        options: sending + DevicesVerb.options,
        examples: [
            (
                "carillon activities update order-4711 --app shop --state '{\"eta\": 5}'",
                "a newer state takes the place of one that waits"
            )
        ]
    ) { arguments in
        try await send(.update, try content(arguments), with: arguments)
    }

    private static let end = Verb(
        name: "activities end", summary: "end the activity with its last state", words: [word],
        options: sending + [
            Option("dismiss", about: "remove it from the lock screen now, not after up to four hours")
        ] + DevicesVerb.options,
        examples: [
            (
                "carillon activities end order-4711 --app shop --state '{\"eta\": 0}' --dismiss",
                "end it, and remove it from the lock screen"
            )
        ]
    ) { arguments in
        var live = try content(arguments)
        if arguments.has("dismiss") { live["dismiss_at"] = .integer(WallTime.current().seconds) }
        return try await send(.end, live, with: arguments)
    }

    private static let show = Verb(
        name: "activities show", summary: "show what became of the activity, as one story", words: [word],
        options: [
            appOption, Option("follow", about: "show new events, too, until all its addresses have ended, or Ctrl-C"),
        ] + ControlOptions.options + [Option("json", about: "print each event as stored, one JSON object per line")],
        examples: [
            (
                "carillon activities show order-4711 --app shop",
                "the events of its messages and addresses: sent, superseded, expired, ended"
            ),
            (
                "carillon activities show order-4711 --app shop --follow",
                "watch the activity from its start to its end"
            ),
        ]
    ) { arguments in
        let name = try givenName(arguments, upTo: DeviceInput.maxActivityLength)
        let subject = TraceTarget(.activity, text: name, app: try givenApp(arguments))
        // The app may have reported a name for which there is no such id.
        let start = MessageID(startID(name))?.text
        if arguments.has("follow") {
            let following = ActivityFollowing(
                subject, start: start, client: try ControlOptions.client(arguments), isJSON: arguments.has("json"))
            return try await Interruption.end {
                var following = following
                return try await following.run()
            }
        }
        return try await ControlOptions.reading(arguments, for: "activities show") { client in
            try await TraceVerb.show(subject, asking: [("message", start)], from: client, with: arguments)
        }
    }

    // MARK: Shared

    /// A start names no activity: the story finds it by this id.
    private static func startID(_ name: String) -> String { "\(name)-start" }

    /// - Parameter limit: The length in bytes. The ids of its messages begin with the name, and have at most 128.
    private static func givenName(_ arguments: Arguments, upTo limit: Int = 100) throws(Failure) -> String {
        let name = arguments.word("NAME")
        guard name.utf8.count <= limit, MessageID(name) != nil else {
            throw Failure(.usage, "NAME must have 1 to \(limit) bytes and no control characters")
        }
        return name
    }

    private static func givenApp(_ arguments: Arguments) throws(Failure) -> String {
        guard let app = arguments.text("app") else {
            throw Failure(.usage, "'--app' is missing: the app of the activity")
        }
        return app
    }

    /// Returns the members of `live_activity` that all messages have.
    private static func content(_ arguments: Arguments) throws(Failure) -> [String: JSONValue] {
        var live: [String: JSONValue] = ["content_state": try object("state", of: arguments) ?? [:]]
        let alert = ["title": arguments.text("title"), "body": arguments.text("body")].compactMapValues { $0 }
        if !alert.isEmpty { live["alert"] = .object(alert.mapValues { .string($0) }) }
        return live
    }

    private static func object(_ option: String, of arguments: Arguments) throws(Failure) -> JSONValue? {
        guard let text = arguments.text(option) else { return nil }
        guard let document = try? JSONDocument(Array(text.utf8)), document.kind(document.root) == .object else {
            throw Failure(.usage, "'--\(option)' must be a JSON object, as in '{\"eta\": 20}'")
        }
        return document.value(at: document.root)
    }

    private static func send(
        _ event: ActivityPart.Event, _ live: [String: JSONValue], id: String? = nil, to: JSONValue? = nil,
        with arguments: Arguments
    ) async throws -> ExitCode {
        let (name, app) = (try givenName(arguments), try givenApp(arguments))
        let id = id ?? "\(name)-\(event)-\(Hex.encode(SendOrder.random()))"
        let envelope: JSONValue = [
            "id": .string(id), "app": .string(app), "to": to ?? ["activities": [.string(name)]],
            "live_activity": .object(live.merging(["event": .string("\(event)")]) { $1 }),
        ]
        let answer = try await ControlOptions.client(arguments).send("POST", to: "/v1/messages", body: envelope.bytes)
        guard let ack = try? JSONDecoder().decode(ActivityAck.self, from: Data(answer.body)) else {
            throw ControlClient.refusal(answer)
        }
        if let fault = ack.fault { throw Failure(ControlClient.refusal(answer).code, "the \(event) \(fault)") }
        if arguments.has("json") {
            ControlOptions.write(ack)
        } else {
            let what = ack.status == "duplicate" ? "was accepted before and is not sent again" : "is accepted"
            let shown = [name, app].map { PlainText.line($0, limit: 128) }
            Terminal.output.write(
                "The \(event) of \(shown[0]) \(what), as the message \(PlainText.line(id, limit: 128)).\n"
                    + "Follow it: carillon activities show \(shown[0]) --app \(shown[1])\n")
        }
        return .done
    }
}

/// The ack of a message of an activity.
private struct ActivityAck: Codable {
    let id: String
    let status: String
    let seq: UInt64?
    let detail: String?
    let retryAfterMilliseconds: Int64?

    private enum CodingKeys: String, CodingKey {
        case id, status, seq, detail
        case retryAfterMilliseconds = "retry_after_ms"
    }

    /// Why the message is not accepted; nil if it is.
    var fault: String? {
        switch status {
        case "accepted", "duplicate": return nil
        case "busy":
            let wait = retryAfterMilliseconds.map { " in \(DurationText.write(.milliseconds(max(0, $0))))" } ?? ""
            return "is not accepted: Carillon is busy; try again\(wait). If it stays so, its log names the limit"
        default: return "is not accepted: \(PlainText.line(detail ?? status, limit: 500))"
        }
    }
}
