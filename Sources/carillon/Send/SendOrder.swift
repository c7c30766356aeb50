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
            Option("channel", value: "ID", about: "a broadcast to this channel, instead of --token"),
            Option(
                "push-type", value: "TYPE", offers: .choice(PushType.self),
                about: "the push type (alert; background if it only wakes the app; liveactivity with --channel)"),
            Option(
                "priority", value: "N", offers: .words(["10", "5", "1"]),
                about: "10, 5 or 1 (the default of the push type)"),
            Option("expires-at", value: "SECONDS", about: "expiry in seconds since 1970; 0: one attempt, not stored"),
            Option("ttl", value: "TIME", about: "expiry relative to now: 1h, 30m; 0: one attempt"),
            Option("collapse-id", value: "ID", about: "a notification replaces earlier ones with the same collapse id"),
            Option("id", value: "ID", about: "the message id, from which the apns-id is derived (random)"),
            Option("apns-id", value: "UUID", about: "the apns-id, instead of --id"),
        ]

    let message: Message
    let target: Target
    let findings: [PayloadFinding]

    init(_ arguments: Arguments, for app: Configuration.App, now: WallTime) throws(Failure) {
        let channel = try Self.channel(arguments)
        let type = try Self.pushType(arguments, isBroadcast: channel != nil)
        guard let id = MessageID(arguments.text("id") ?? "send-\(Hex.encode(Self.random()))") else {
            throw Failure(.badInput, "'--id' is not a message id: 1 to 128 bytes without control characters")
        }
        let collapse = arguments.text("collapse-id")
        let priority = try Self.priority(arguments)
        let expiresAt = try Self.expiresAt(arguments, now: now) ?? (channel == nil ? nil : 0)
        guard let payload = try PayloadOptions.read(arguments) ?? (type == .background ? Self.wakeUp : nil) else {
            throw Failure(.usage, "no content: give --title and --body, or --payload '{…}'; --help lists more")
        }
        message = Message(
            id: id, app: app.id, type: MessageType(type), priority: priority, expiry: Expiry(expiresAt: expiresAt),
            collapseID: collapse.flatMap { CollapseID($0) }, payload: payload)
        var options = PushOptions(
            message, topic: Topic(app.apns.topic, for: type), now: now)
        options.collapseID = collapse
        if channel != nil { options.target = .broadcast }
        findings = PayloadRules.findings(in: payload, for: options)
        if collapse != nil, message.collapseID == nil, arguments.has("anyway") {
            throw Failure(.badInput, "'--collapse-id' is invalid, even with --anyway: use 1 to 64 bytes of text")
        }
        if let channel {
            target = .channel(channel)
        } else {
            let token = try Self.token(arguments)
            target = .device(token, try Self.deliveryID(arguments) ?? .derived(app: app.id, message: id, token: token))
        }
    }

    var refusedFindings: [PayloadFinding] { findings.filter { $0.severity == .refused } }

    static let wakeUp = Payload(aps: .background).encoded()

    static func random() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<8).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    // MARK: Single options

    private static func channel(_ arguments: Arguments) throws(Failure) -> ChannelID? {
        guard let text = arguments.text("channel") else { return nil }
        for option in ["token", "token-file", "collapse-id", "apns-id"] where arguments.has(option) {
            throw Failure(.usage, "'--\(option)' cannot be combined with '--channel': a broadcast has no device")
        }
        guard let channel = ChannelID(text) else {
            throw Failure(
                .badInput, "'--channel' is not a channel id: use the base64 id from 'carillon channels create'")
        }
        return channel
    }

    private static func token(_ arguments: Arguments) throws(Failure) -> Address {
        guard TokenOptions.isGiven(arguments) else {
            throw Failure(.usage, "no target: give --token-file FILE, --token HEX, or --channel ID for a broadcast")
        }
        guard arguments.texts("token").count <= 1 else {
            throw Failure(.usage, "'--token' was given twice: several devices need '--via'")
        }
        let tokens = try TokenOptions.read(arguments)
        guard tokens.count == 1 else {
            throw Failure(.badInput, "'--token-file' contains \(tokens.count) tokens: several devices need '--via'")
        }
        return tokens[0]
    }

    static func pushType(_ arguments: Arguments, isBroadcast: Bool) throws(Failure) -> PushType {
        guard let word = arguments.text("push-type") else {
            if isBroadcast { return .liveactivity }
            return PayloadOptions.isBackground(arguments) ? .background : .alert
        }
        guard let type = PushType(rawValue: word) else {
            let words = PushType.allCases.map(\.rawValue)
            throw Failure(
                .usage,
                "'--push-type \(PlainText.line(word, limit: 40))' is not one of \(words.joined(separator: ", "))"
                    + (NearestWord.to(word, in: words).map { "; did you mean '\($0)'?" } ?? ""))
        }
        guard !isBroadcast || type == .liveactivity else {
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

    private static func deliveryID(_ arguments: Arguments) throws(Failure) -> DeliveryID? {
        guard let text = arguments.text("apns-id") else { return nil }
        if arguments.has("id") {
            throw Failure(.usage, "'--apns-id' cannot be combined with '--id', from which it is derived")
        }
        guard let id = DeliveryID(text) else {
            throw Failure(
                .badInput,
                "'--apns-id \(PlainText.line(text, limit: 60))' is not a UUID: 8-4-4-4-12 hexadecimal digits")
        }
        return id
    }
}
