import PushLoop
import PushModel
import PushTransport
import PushWire

/// `carillon send --via`: hands one message to a running Carillon over ZeroMQ, as a producer does: it waits for the ack,
/// and asks again under the same id.
struct SendVia {
    static let options: [Option] = [
        Option("via", "ENDPOINT", "hand it to the Carillon whose intake listens there, tcp://127.0.0.1:5560; and then"),
        Option("device", "ID", "a device id of the registry, instead of --token", mayRepeat: true),
        Option("user", "ID", "all devices of a user", mayRepeat: true),
        Option("tags", "JSON", "all devices with these tags: '{\"all\":[\"beta\",{\"not\":\"ios\"}]}'"),
        Option("all", "every device of the app"),
        Option("again", "with a known id: once more to those who have joined the audience since"),
        Option("server-key", "Z85", "the public key of that Carillon, where it asks for keys; and with it"),
        Option("key-file", "FILE", "this client's keys, from 'carillon keys curve'"),
    ]

    static let examples: [(command: String, about: String)] = [
        (
            "carillon send --via tcp://127.0.0.1:5560 --app shop --token 00fc13… --title Hello --id order-4711",
            "to a running Carillon; asked again under that id, nobody gets it twice"
        ),
        (
            "carillon send --via tcp://push.example.com:5560 --server-key 'rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7' \\\n"
                + "      --key-file orders.curve --app shop --user ada --user grace --title Hello",
            "where it asks for keys"
        ),
    ]

    /// What says where a push service is, which is that Carillon's business.
    private static let direct = [
        "config", "topic", "environment", "key", "key-id", "team-id", "certificate", "password-file", "host", "port",
        "trust", "binary", "channel", "apns-id", "anyway",
    ]

    /// Without `--via`.
    static func refuse(_ arguments: Arguments) throws(Failure) {
        if let option = options.map(\.name).first(where: { arguments.has($0) }) {
            throw Failure(.usage, "'--\(option)' goes with '--via': it is for a running Carillon")
        }
    }

    private let endpoint: String
    private let id: MessageID
    private let app: AppID
    private let envelope: [UInt8]
    private let payload: [UInt8]
    private let security: ZMQSecurity
    private let timeout: Duration
    private let isJSON: Bool
    private let isDryRun: Bool

    init(_ arguments: Arguments) throws(Failure) {
        if let option = Self.direct.first(where: { arguments.has($0) }) {
            throw Failure(.usage, "'--\(option)' goes without '--via': that Carillon knows its apps and where they are")
        }
        let endpoint = arguments.text("via") ?? ""
        guard ["tcp://", "ipc://"].contains(where: { endpoint.hasPrefix($0) && endpoint.count > $0.count }) else {
            throw Failure(.usage, "'--via' wants an endpoint: tcp://127.0.0.1:5560 or ipc:///run/carillon/intake")
        }
        self.endpoint = endpoint
        timeout = try .timeout(arguments)
        isJSON = arguments.has("json")
        isDryRun = arguments.has("dry-run")
        guard let app = arguments.text("app").flatMap({ AppID($0) }) else {
            throw Failure(.usage, "to which app? --app with its name in the configuration of that Carillon")
        }
        guard let id = MessageID(arguments.text("id") ?? "send-\(Hex.encode(SendOrder.random()))") else {
            throw Failure(.badInput, "'--id' is no message id: 1 to 128 bytes without control characters")
        }
        (self.app, self.id) = (app, id)
        let type = try SendOrder.pushType(arguments, isBroadcast: false)
        guard let payload = try PayloadOptions.read(arguments) ?? (type == .background ? SendOrder.wakeUp : nil) else {
            throw Failure(.usage, "what is to be sent? --title and --body, or --payload '{…}'; --help lists more")
        }
        self.payload = payload
        security = try Self.security(arguments)
        var members: [String: JSONValue] = [
            "id": .string(id.text), "app": .string(app.name), "to": try Self.audience(arguments),
            "push_type": .string(type.rawValue),
        ]
        members["priority"] = try SendOrder.priority(arguments).map { .integer(Int64($0.rawValue)) }
        members["expires_at"] = try SendOrder.expiresAt(arguments, now: .current()).map { .integer($0) }
        members["collapse_id"] = .text(arguments.text("collapse-id"))
        if arguments.has("again") { members["again"] = true }
        envelope = JSONValue.object(members).bytes
    }

    func run() async throws -> ExitCode {
        if isDryRun { return preview() }
        let loop = EventLoop(name: "producer")
        let context: ZMQContext
        do {
            context = try ZMQContext()
        } catch {
            await loop.shutDown()
            throw error
        }
        let begun = MonotonicTime.current()
        let producer = SendViaProducer(on: loop, id: id.text, frames: [Array("push/1".utf8), envelope, payload])
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
            return tell(
                SendViaReport(end, id: id, app: app, endpoint: endpoint, took: MonotonicTime.current() - begun))
        case .failure(let error): throw Failure(.usage, "'--via': \(error)")
        }
    }

    private func tell(_ report: SendViaReport) -> ExitCode {
        Terminal.output.write(isJSON ? report.json : report.text(on: Terminal.output))
        return report.code
    }

    private func preview() -> ExitCode {
        let (shown, body) = (String(decoding: envelope, as: UTF8.self), String(decoding: payload, as: UTF8.self))
        Terminal.output.write(
            isJSON
                ? MachineLine.text(["outcome": "dry_run", "envelope": .string(shown), "payload": .string(body)])
                : "Nothing was sent. This would go to \(endpoint):\n\n  push/1\n  \(PlainText.line(shown, limit: 8192))\n  "
                    + "\(PlainText.line(body, limit: 8192))\n")
        return .done
    }

    // MARK: Whom it is for

    private static func audience(_ arguments: Arguments) throws(Failure) -> JSONValue {
        let kinds = ["token", "device", "user", "tags", "all"].filter { arguments.has($0) }
        guard kinds.count == 1 else {
            throw Failure(
                .usage,
                kinds.isEmpty
                    ? "to whom? --token HEX, --device ID, --user ID, --tags JSON or --all"
                    : "'--\(kinds[0])' goes without '--\(kinds[1])': a message has one kind of audience")
        }
        switch kinds[0] {
        case "token":
            var tokens: [JSONValue] = []
            for text in arguments.texts("token") { tokens.append(.string(try PastedToken.read(text).hex)) }
            return ["tokens": .array(tokens)]
        case "device":
            for text in arguments.texts("device") where DeviceID(text) == nil {
                throw Failure(
                    .badInput,
                    "'--device \(PlainText.line(text, limit: 40))' is no device id: 32 hexadecimal digits; "
                        + "a token goes with '--token'")
            }
            return ["devices": .texts(arguments.texts("device"))]
        case "user": return ["users": .texts(arguments.texts("user"))]
        case "tags":
            do throws(JSONError) {
                let document = try JSONDocument(Array((arguments.text("tags") ?? "").utf8))
                return ["tags": document.value(at: document.root)]
            } catch {
                throw Failure(.badInput, "'--tags' is not JSON \(error); as in --tags '{\"any\":[\"beta\",\"staff\"]}'")
            }
        default: return ["all": true]
        }
    }

    // MARK: Keys

    private static func security(_ arguments: Arguments) throws(Failure) -> ZMQSecurity {
        switch (arguments.text("server-key"), arguments.text("key-file")) {
        case (nil, nil): return .none
        case (nil, _?): throw Failure(.usage, "'--key-file' goes with '--server-key': whose intake it is")
        case (_?, nil): throw Failure(.usage, "'--server-key' goes with '--key-file': it wants to know who asks")
        case (let key?, let file?):
            let keys = try CurveKeyFile.read(file)
            do throws(ZMQError) {
                return .curveClient(keys: keys, serverKey: try CurvePublicKey(z85: key))
            } catch {
                throw Failure(.badInput, "'--server-key': \(error)")
            }
        }
    }
}
