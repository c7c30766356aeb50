import PushAPI
import PushText

/// `carillon users`: what is stored about a person, and its erasure.
enum UsersVerb {
    static let verb = Verb(
        name: "users", summary: "export or erase what is stored about a user", verbs: [export, erase])

    private static let words = [Word("USER", about: "the user, as in registrations and messages")]
    private static let options =
        [Option("app", value: "APP", about: "only in this app; otherwise in all apps")] + ControlOptions.options + [
            ControlOptions.json
        ]

    private static let export = Verb(
        name: "users export", summary: "show the devices, the reports and the messages of a user, without tokens",
        words: words, options: options,
        examples: [("carillon users export ada --json", "everything that is stored about a user, as one JSON object")]
    ) { arguments in
        try await ControlOptions.reading(arguments, for: "users export") { client in
            let all = try await everything(of: arguments, from: client)
            if arguments.has("json") {
                ControlOptions.write(all)
            } else {
                Terminal.output.write(description(of: all))
            }
            return .done
        }
    }

    private static let erase = Verb(
        name: "users erase", summary: "erase a user: addresses, properties, and the name in stored messages",
        details: """
            Messages that wait do not go out to the user any more. The log of events keeps the names that it has until \
            its retention ends.
            """,
        words: words, options: options,
        examples: [("carillon users erase ada", "forget a user in all apps")]
    ) { arguments in
        let client = try ControlOptions.client(arguments, deadline: .seconds(600))
        let erased = try await client.ask("DELETE", at: path(arguments), for: UserErasureAnswer.self)
        if arguments.has("json") {
            ControlOptions.write(erased)
        } else {
            Terminal.output.write(
                "The user is erased: \(EventDescription.count(Int64(erased.devices), of: "device")), and the name in "
                    + "\(EventDescription.count(Int64(erased.messages), of: "stored message")).\n")
        }
        return .done
    }

    private static func path(_ arguments: Arguments, after cursor: String? = nil) -> String {
        "/v1/users/\(APIQuery.escaped(arguments.word("USER")))"
            + APIQuery.encoded([("app", arguments.text("app")), ("after", cursor)])
    }

    private static func everything(of arguments: Arguments, from client: ControlClient) async throws -> UserAnswer {
        var all = UserAnswer(arguments.word("USER"))
        var cursor: String?
        repeat {
            let page = try await client.ask("GET", at: path(arguments, after: cursor), for: UserAnswer.self)
            all.devices += page.devices
            all.reports += page.reports
            all.messages += page.messages
            cursor = page.next.text
        } while cursor != nil
        return all
    }

    private static func description(of user: UserAnswer) -> String {
        var text = EventDescription.count(Int64(user.devices.count), of: "device") + "\n"
        for device in user.devices {
            let state = device.active ? "active" : "inactive"
            let tags = device.tags.map { PlainText.line($0) }.joined(separator: " ")
            text += "  \(device.id)  \(device.app)  \(state)\(tags.isEmpty ? "" : "  \(tags)")\n"
        }
        text += EventDescription.count(Int64(user.reports.count), of: "report") + "\n"
        for report in user.reports {
            text += "  \(report.device)  \(report.app)  \(report.kind)  \(PlainText.line(report.message))\n"
        }
        text += EventDescription.count(Int64(user.messages.count), of: "message") + " in the kept events\n"
        for message in user.messages {
            text += "  \(message.app)  \(PlainText.line(message.id))  \(message.state.rawValue)\n"
        }
        return text
    }
}
