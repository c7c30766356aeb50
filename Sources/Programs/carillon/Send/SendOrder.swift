import APNs
import PushConfiguration
import PushLoop
import PushModel
import PushText
import PushTransport
import PushWire

/// The message and the target of `carillon send`.
struct SendOrder: Sendable {
    enum Target: Sendable {
        case device(Address, DeliveryID)
        case channel(ChannelID)
    }

    static let options: [Option] =
        TokenOptions.options + [
            APNsOptions.sending[0],
            Option(
                "push-type", value: "TYPE", offers: .words(PushServices.messageTypes.map(\.word)),
                about: "the push type (alert; background if it only wakes the app; liveactivity with --channel)"),
            Option(
                "priority", value: "N", offers: .words(["10", "5", "1"]),
                about: "10, 5 or 1 (the default of the push type)"),
            Option("expires-at", value: "SECONDS", about: "expiry in seconds since 1970; 0: one attempt, not stored"),
            Option("ttl", value: "TIME", about: "expiry relative to now: 1h, 30m; 0: one attempt"),
            Option("collapse-id", value: "ID", about: "a notification replaces earlier ones with the same collapse id"),
            Option("id", value: "ID", about: "the message id, from which the apns-id is derived (random)"),
            APNsOptions.sending[1],
        ]

    let message: Message
    let target: Target
    let findings: [PayloadFinding]

    init(_ arguments: Arguments, for app: Configuration.App, now: WallTime) throws(Failure) {
        let channel = try Self.channel(arguments)
        let type = try Self.messageType(arguments, isBroadcast: channel != nil, among: app.codec.types.all)
        guard let id = MessageID(arguments.text("id") ?? "send-\(Hex.encode(Self.random()))") else {
            throw Failure(.badInput, "'--id' is not a message id: 1 to 128 bytes without control characters")
        }
        let collapse = arguments.text("collapse-id")
        let priority = try Self.priority(arguments)
        let expiresAt = try Self.expiresAt(arguments, now: now) ?? (channel == nil ? nil : 0)
        let options = MessageOptions(
            type: type, priority: priority, expiry: Expiry(expiresAt: expiresAt),
            collapseID: collapse.flatMap { CollapseID($0) })
        guard let payload = try Self.payload(arguments, for: app, options: options) else {
            throw Failure(.usage, "no content: give --title and --body, or --payload '{…}'; --help lists more")
        }
        message = Message(
            id: id, app: app.id, type: type, priority: priority, expiry: options.expiry, collapseID: options.collapseID,
            payload: payload)
        if let apns = app.apns {
            findings = Self.judged(message, collapseID: collapse, isBroadcast: channel != nil, of: apns, at: now)
        } else {
            findings = []
            if !arguments.has("anyway") { try Self.judge(payload, by: app.codec, for: options) }
        }
        if collapse != nil, message.collapseID == nil, arguments.has("anyway") {
            throw Failure(.badInput, "'--collapse-id' is invalid, even with --anyway: use 1 to 64 bytes of text")
        }
        if let channel {
            target = .channel(channel)
        } else {
            let token = try Self.token(arguments, of: app)
            target = .device(token, try Self.deliveryID(arguments) ?? .derived(app: app.id, message: id, token: token))
        }
    }

    var refusedFindings: [PayloadFinding] { findings.filter { $0.severity == .refused } }

    static func random() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<8).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    // MARK: Single options

    private static func token(_ arguments: Arguments, of app: Configuration.App) throws(Failure) -> Address {
        guard TokenOptions.isGiven(arguments) else {
            throw Failure(.usage, "no target: give --token-file FILE, --token HEX, or --channel ID for a broadcast")
        }
        guard arguments.texts("token").count <= 1 else {
            throw Failure(.usage, "'--token' was given twice: several devices need '--via'")
        }
        let tokens = try TokenOptions.read(arguments, by: app.codec)
        guard tokens.count == 1 else {
            throw Failure(.badInput, "'--token-file' contains \(tokens.count) tokens: several devices need '--via'")
        }
        return tokens[0].address
    }

    static func messageType(
        _ arguments: Arguments, isBroadcast: Bool, among types: [MessageType]
    ) throws(Failure) -> MessageType {
        let usual = isBroadcast ? broadcastType : PayloadOptions.isBackground(arguments) ? backgroundType : .alert
        guard let word = arguments.text("push-type") else { return usual }
        guard let type = types.first(where: { $0.word == word }) else {
            let words = types.map(\.word)
            throw Failure(
                .usage,
                "'--push-type \(PlainText.line(word, limit: 40))' is not one of \(words.joined(separator: ", "))"
                    + (NearestWord.to(word, in: words).map { "; did you mean '\($0)'?" } ?? ""))
        }
        guard !isBroadcast || type == broadcastType else {
            throw Failure(.usage, "'--channel' supports Live Activities only: leave '--push-type' out")
        }
        return type
    }

    static func priority(_ arguments: Arguments) throws(Failure) -> PushPriority? {
        guard let text = arguments.text("priority") else { return nil }
        guard let priority = UInt8(text).flatMap({ PushPriority(rawValue: $0) }) else {
            throw Failure(.usage, "'--priority' must be 10, 5 or 1, not '\(PlainText.line(text, limit: 20))'")
        }
        return priority
    }

    static func expiresAt(_ arguments: Arguments, now: WallTime) throws(Failure) -> Int64? {
        let (moment, time) = (arguments.text("expires-at"), arguments.text("ttl"))
        if moment != nil, time != nil {
            throw Failure(.usage, "'--expires-at' cannot be combined with '--ttl': both set the expiry")
        }
        if let moment {
            guard let seconds = Int64(moment), seconds >= 0 else {
                throw Failure(
                    .usage,
                    "'--expires-at' must be seconds since 1970, or 0, not '\(PlainText.line(moment, limit: 40))'")
            }
            return seconds
        }
        guard let time else { return nil }
        if time == "0" { return 0 }
        guard let duration = DurationText.read(time) else {
            throw Failure(
                .usage,
                "'--ttl' must be a time such as 30m, 1h or 7d, or 0, not '\(PlainText.line(time, limit: 40))'")
        }
        return duration == .zero ? 0 : now.seconds + duration.components.seconds
    }
}
