import APNs
import PushGateways
import PushModel
import PushText
import PushWire

/// `carillon channels`: manages the broadcast channels of an app.
enum ChannelsVerb {
    static let verb = Verb(
        name: "channels", summary: "create, list, show and delete broadcast channels",
        verbs: [create, list, show, delete])

    private static let options =
        AppOptions.options + [
            Option("timeout", value: "TIME", about: "the limit for the whole command (20s)"),
            Option("json", about: "print one JSON object"),
        ]

    private static let idWord = Word("ID", about: "the channel id from 'carillon channels create'")

    private static let create = Verb(
        name: "channels create", summary: "create a channel",
        options: [
            Option(
                "keep", value: "WHAT", offers: .words(["newest", "none"]),
                about: "for offline devices: the 'newest' message, or 'none' (newest)")
        ]
            + options,
        examples: [
            ("carillon channels create --app shop", "create a channel that keeps its newest message for up to 8 hours")
        ]
    ) { arguments in
        try await run(arguments) { channels in
            let policy = try policy(arguments.text("keep"))
            return await channels.call(.management) { client, bundle, token in
                try await client.create(policy, of: bundle, token: token)
            }.map { id in
                Answer(
                    members: ["channel": .string(id.text), "keep": .string(word(policy))],
                    text: "Created the channel \(id.text) of \(channels.bundle).\n\n"
                        + "Next: carillon send --channel \(id.text) --payload update.json, with the same app.\n")
            }
        }
    }

    private static let list = Verb(
        name: "channels list", summary: "list the channels of an app", options: options,
        examples: [("carillon channels list --app shop --json", "list them as JSON")]
    ) { arguments in
        try await run(arguments) { channels in
            await channels.call(.management) { client, bundle, token in
                try await client.list(of: bundle, token: token)
            }.map { ids in
                let table = Terminal.output.table(["channel"], rows: ids.map { [$0.text] })
                return Answer(
                    members: ["channels": .texts(ids.map(\.text))],
                    text: ids.isEmpty
                        ? "\(channels.bundle) has no channels; 'carillon channels create' creates one.\n"
                        : "\(channels.bundle) has \(ids.count) channel\(ids.count == 1 ? "" : "s"):\n" + table)
            }
        }
    }

    private static let show = Verb(
        name: "channels show", summary: "show a channel", words: [idWord], options: options,
        examples: [("carillon channels show dHN0LXNyY2gtY2hubA== --app shop", "show what the channel keeps")]
    ) { arguments in
        let id = try id(arguments)
        return try await run(arguments) { channels in
            await channels.call(.management) { client, bundle, token in
                try await client.read(id, of: bundle, token: token)
            }.map { description in
                let keeps = word(description.policy)
                return Answer(
                    members: [
                        "channel": .string(id.text), "keep": .string(keeps), "push_type": .string(description.pushType),
                    ],
                    text: Terminal.output.table(
                        ["channel", "keeps", "push type"],
                        rows: [[id.text, keeps, PlainText.line(description.pushType, limit: 60)]]))
            }
        }
    }

    private static let delete = Verb(
        name: "channels delete", summary: "delete a channel", words: [idWord], options: options,
        examples: [("carillon channels delete dHN0LXNyY2gtY2hubA== --app shop", "delete a channel that is not used")]
    ) { arguments in
        let id = try id(arguments)
        return try await run(arguments) { channels in
            await channels.call(.management) { client, bundle, token in
                try await client.delete(id, of: bundle, token: token)
            }.map { Answer(members: ["channel": .string(id.text)], text: "Deleted the channel \(id.text).\n") }
        }
    }

    // MARK: Shared by all verbs

    private struct Answer: Sendable {
        let members: [String: JSONValue?]
        let text: String
    }

    private static func run(
        _ arguments: Arguments, work: (AppChannels) async throws -> Result<Answer, VerdictError>
    ) async throws -> ExitCode {
        let isJSON = arguments.has("json")
        do {
            let chosen = try AppOptions.choose(arguments)
            let channels = try AppChannels(chosen.app, timeout: try .timeout(arguments))
            if !isJSON {
                for warning in chosen.warnings + channels.gateway.warnings {
                    Terminal.error.write("carillon channels: warning: \(warning)\n")
                }
            }
            switch try await work(channels) {
            case .success(let answer):
                let members: [String: JSONValue?] = ["outcome": "accepted", "exit_code": 0]
                Terminal.output.write(
                    isJSON ? MachineLine.text(members.merging(answer.members) { $1 }) : answer.text)
                return .done
            case .failure(let error):
                let verdict = error.verdict
                if isJSON {
                    Terminal.output.write(
                        MachineLine.text(verdict.members(of: channels.gateway.app.serviceDescription)))
                } else {
                    Terminal.error.write(
                        verdict.headline(on: Terminal.error) + (verdict.advice.map { "Next: \($0).\n" } ?? ""))
                }
                return verdict.kind.code
            }
        } catch let failure as Failure where isJSON && failure.code != .usage {
            Terminal.output.write(MachineLine.text(failure))
            return failure.code
        }
    }

    private static func id(_ arguments: Arguments) throws(Failure) -> ChannelID {
        guard let id = ChannelID(arguments.word("ID")) else {
            throw Failure(.badInput, "ID is not a channel id: use the base64 id from 'carillon channels create'")
        }
        return id
    }

    private static func policy(_ word: String?) throws(Failure) -> ChannelPolicy {
        switch word {
        case nil, "newest": return .newestStored
        case "none": return .notStored
        case let other?:
            throw Failure(.usage, "'--keep' must be newest or none, not '\(PlainText.line(other, limit: 40))'")
        }
    }

    private static func word(_ policy: ChannelPolicy) -> String {
        switch policy {
        case .newestStored: "newest"
        case .notStored: "none"
        default: "policy \(policy.rawValue)"
        }
    }
}
