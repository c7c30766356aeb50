import PushAPI
import PushConfiguration
import PushLoop
import PushModel
import PushText
import PushTransport
import PushWire

/// `carillon send --via`: submits one message to a running Carillon over ZeroMQ, as a producer does. It waits for the ack
/// and resends the message with the same id if no ack arrives.
struct SendVia {
    static let options: [Option] = [
        Option(
            "via", value: "ENDPOINT",
            about: "submit to the Carillon with this intake, as in tcp://127.0.0.1:5560 (with one of the next "
                + "six options, intake.router of the configuration)"),
        Option(
            "device", value: "ID", offers: .devices, about: "a device id of the registry, instead of --token",
            mayRepeat: true),
        Option("user", value: "ID", about: "all devices of a user", mayRepeat: true),
        Option(
            "tag", value: "TAG", about: "all devices with this tag; if given again, with all these tags",
            mayRepeat: true),
        Option(
            "tags", value: "JSON",
            about: "all devices with these tags: beta, or '{\"all\":[\"beta\",{\"not\":\"ios\"}]}'"),
        Option("all", about: "all devices of the app"),
        Option(
            "prefer", value: "APP",
            about: "of a family: each user gets it only in the first of these apps that reaches them", mayRepeat: true),
        Option(
            "at-local", value: "TIME",
            about: "send at this time on the clock of each device, as in 2026-12-01T09:00"),
        Option(
            "time-zone", value: "ZONE",
            about: "with --at-local: the zone of devices without one, as in Europe/Berlin"),
        Option("late", value: "send|drop", about: "with --at-local: what happens where the time has passed (send)"),
        Option("again", about: "with a known id: send to devices that have joined the audience since"),
        Option(
            "server-key", value: "Z85", about: "the public key of the server, if it has security.curve; with --key-file"
        ),
        Option("key-file", value: "FILE", about: "this client's keys, from 'carillon keys curve'"),
    ]

    static let examples: [(command: String, about: String)] = [
        (
            "carillon send --app shop --user ada --title Hello",
            "through the running Carillon of the configuration, to all devices of a user"
        ),
        (
            "carillon send --via tcp://127.0.0.1:5560 --app shop --token 00fc13… --title Hello --id order-4711",
            "through a running Carillon; a repetition with the same id sends nothing twice"
        ),
        (
            "carillon send --via tcp://push.example.com:5560 --server-key 'rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7' "
                + "--key-file orders.curve --app shop --user ada --user grace --title Hello",
            "through a Carillon with security.curve"
        ),
    ]

    /// Options for a direct connection to a push service, which a running Carillon takes from its own configuration.
    private static let direct =
        ["config"] + APNsOptions.describing.map(\.name) + APNsOptions.sending.map(\.name) + ["anyway"]

    /// Options that need a running Carillon: audiences of the registry, `--again`, and a local time.
    private static let meant = ["device", "user", "tag", "tags", "all", "again", "at-local"]

    /// Whether the message goes to a running Carillon: the one that `--via` names, or that of the configuration.
    static func isSelected(by arguments: Arguments) -> Bool {
        arguments.has("via") || meant.contains { arguments.has($0) }
    }

    /// Rejects the options of this type in a command without `--via`.
    static func refuse(_ arguments: Arguments) throws(Failure) {
        if let option = options.map(\.name).first(where: { arguments.has($0) }) {
            throw Failure(.usage, "'--\(option)' needs '--via': it is for a running Carillon")
        }
    }

    private let endpoint: String
    /// Checks whether the audience has devices; nil if the target is not the Carillon of the configuration.
    private let audience: AudienceHints?
    /// The data directory if the message goes to the Carillon of the configuration, which must run. Another one may be
    /// starting.
    private let ownDirectory: String?
    private let id: MessageID
    private let app: AppID
    /// The members of the envelope, of which those of the audience are counted; nil for tokens.
    private let counted: [String: JSONValue]?
    private let envelope: [UInt8]
    /// The envelope without the digits of tokens, for output.
    private let shownEnvelope: [UInt8]
    /// The payload, if it is a frame of its own. Plain fields are in the envelope.
    private let payload: [UInt8]?
    private let security: ZMQSecurity
    private let timeout: Duration
    private let isJSON: Bool
    private let isDryRun: Bool

    init(_ arguments: Arguments) throws(Failure) {
        if let option = Self.direct.first(where: { arguments.has($0) && ($0 != "config" || arguments.has("via")) }) {
            throw Failure(
                .usage,
                arguments.has("via")
                    ? "'--\(option)' cannot be combined with '--via': the running Carillon has its own configuration"
                    : "'--\(option)' needs '--token' or '--channel': a running Carillon has its own configuration")
        }
        timeout = try .timeout(arguments)
        isJSON = arguments.has("json")
        isDryRun = arguments.has("dry-run")
        guard let app = arguments.text("app").flatMap({ AppID($0) }) else {
            throw Failure(.usage, "no app: give --app with its name in the configuration of the running Carillon")
        }
        let kind = try Self.audienceKind(arguments)
        let tokens = TokenOptions.isGiven(arguments) ? try TokenOptions.read(arguments) : []
        let to =
            tokens.isEmpty
            ? try Self.audience(kind, from: arguments) : ["tokens": .texts(tokens.map(\.text))]
        let target = try SendTarget(arguments)
        (endpoint, ownDirectory) = (target.endpoint, target.isOwn ? target.directory : nil)
        audience = target.directory.map { AudienceHints(arguments, app: app, dataDirectory: $0) }
        guard let id = MessageID(arguments.text("id") ?? "send-\(Hex.encode(SendOrder.random()))") else {
            throw Failure(.badInput, "'--id' is not a message id: 1 to 128 bytes without control characters")
        }
        (self.app, self.id) = (app, id)
        let type = try SendOrder.messageType(arguments, isBroadcast: false, among: PushServices.messageTypes)
        let plain = try PayloadOptions.plainFields(arguments)
        payload =
            plain == nil ? try PayloadOptions.read(arguments) ?? SendOrder.payload(withoutContent: type) : nil
        guard plain != nil || payload != nil else {
            throw Failure(.usage, "no content: give --title and --body, or --payload '{…}'; --help lists more")
        }
        security = target.security
        var members: [String: JSONValue] = [
            "id": .string(id.text), "app": .string(app.name), "to": to,
            "push_type": .string(type.word),
        ]
        members["priority"] = try SendOrder.priority(arguments).map { .integer(Int64($0.rawValue)) }
        members["expires_at"] = try SendOrder.expiresAt(arguments, now: .current()).map { .integer($0) }
        members["collapse_id"] = .text(arguments.text("collapse-id"))
        if arguments.has("prefer") { members["prefer"] = .texts(arguments.texts("prefer")) }
        if arguments.has("again") { members["again"] = true }
        members.merge(Self.localTime(arguments).merging(plain ?? [:]) { first, _ in first }) { first, _ in first }
        envelope = JSONValue.object(members).bytes
        counted = tokens.isEmpty ? members : nil
        if !tokens.isEmpty { members["to"] = ["tokens": .texts(tokens.map(\.address.size))] }
        shownEnvelope = JSONValue.object(members).bytes
    }

    func run() async throws -> ExitCode {
        if isDryRun { return await preview() }
        if let ownDirectory, await audience?.isAlone == true {
            throw Failure(
                .tryAgain,
                "nothing was sent: no Carillon runs on the data directory \(ownDirectory); start it with 'carillon "
                    + "serve', or name the intake of another one with --via")
        }
        let loop = EventLoop(name: "producer")
        let context: ZMQContext
        do {
            context = try ZMQContext()
        } catch {
            await loop.shutDown()
            throw error
        }
        let begun = MonotonicTime.current()
        let frames = [Array("push/1".utf8), envelope, payload].compactMap(\.self)
        let producer = SendViaProducer(on: loop, id: id.text, frames: frames)
        let end: Result<SendViaProducer.End, ZMQError>
        do throws(ZMQError) {
            end = .success(try await producer.run(in: context, to: endpoint, security: security, within: timeout))
        } catch {
            end = .failure(error)
        }
        await producer.close()
        await context.terminate()
        await loop.shutDown()
        switch end {
        case .success(let end):
            var report = SendViaReport(end, id: id, app: app, endpoint: endpoint, took: MonotonicTime.current() - begun)
            if report.isAccepted { report.notes = await audience?.notes() ?? [] }
            return show(report)
        case .failure(let error): throw Failure(.usage, "'--via': \(error)")
        }
    }

    private func show(_ report: SendViaReport) -> ExitCode {
        Terminal.output.write(isJSON ? report.json : report.text(on: Terminal.output))
        return report.code
    }

    private func preview() async -> ExitCode {
        var reached: AudienceAnswer?
        if let counted { reached = await audience?.count(counted) }
        let shown = String(decoding: shownEnvelope, as: UTF8.self)
        let body = payload.map { String(decoding: $0, as: UTF8.self) }
        guard !isJSON else {
            var members: [String: JSONValue] = ["outcome": "dry_run", "envelope": .string(shown)]
            members["payload"] = body.map { .string($0) }
            members["devices"] = reached.map { .integer(Int64($0.count)) }
            members["apps"] = reached?.counts
            Terminal.output.write(MachineLine.text(members))
            return .done
        }
        let frames = [shown, body].compactMap(\.self).map { "  \(PlainText.line($0, limit: 8192))\n" }
        Terminal.output.write(
            "Nothing was sent. The message to \(endpoint) would be:\n\n  push/1\n\(frames.joined())"
                + (reached?.text ?? ""))
        return .done
    }

    /// Returns the members of a message that goes out at a local time.
    private static func localTime(_ arguments: Arguments) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        members["at_local"] = .text(arguments.text("at-local"))
        members["time_zone"] = .text(arguments.text("time-zone"))
        members["late"] = .text(arguments.text("late"))
        return members
    }

    // MARK: The audience

    private static func audienceKind(_ arguments: Arguments) throws(Failure) -> String {
        let kinds = ["token", "token-file", "device", "user", "tag", "tags", "all"].filter { arguments.has($0) }
        guard kinds.count == 1 else {
            throw Failure(
                .usage,
                kinds.isEmpty
                    ? "no audience: give --token-file FILE, --token HEX, --device ID, --user ID, --tag TAG, --tags JSON "
                        + "or --all"
                    : "'--\(kinds[0])' cannot be combined with '--\(kinds[1])': a message has one kind of audience")
        }
        return kinds[0]
    }

    /// Returns the audience of a message that is not addressed by tokens.
    private static func audience(_ kind: String, from arguments: Arguments) throws(Failure) -> JSONValue {
        switch kind {
        case "device":
            for text in arguments.texts("device") where DeviceID(text) == nil {
                throw Failure(
                    .badInput,
                    "'--device \(PlainText.line(text, limit: 40))' is not a device id: 32 hexadecimal digits; "
                        + "use '--token' for a token")
            }
            return ["devices": .texts(arguments.texts("device"))]
        case "user": return ["users": .texts(arguments.texts("user"))]
        case "tag":
            let tags = arguments.texts("tag")
            return tags.count == 1 ? ["tags": .string(tags[0])] : ["tags": .object(["all": .texts(tags)])]
        case "tags":
            let text = arguments.text("tags") ?? ""
            // A single tag without quotation marks, as `devices list --tag` accepts it.
            if let first = text.first, !"{[\"".contains(first) { return ["tags": .string(text)] }
            do throws(JSONError) {
                let document = try JSONDocument(Array(text.utf8))
                return ["tags": document.value(at: document.root)]
            } catch {
                throw Failure(
                    .badInput, "'--tags' is not valid JSON \(error); as in --tags '{\"any\":[\"beta\",\"staff\"]}'")
            }
        default: return ["all": true]
        }
    }
}
