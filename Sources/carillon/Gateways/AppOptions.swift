import PushGateways
import PushModel
import PushTransport

/// The options by which a verb is told which app it is about: one of the configuration, or one that flags describe.
enum AppOptions {
    static let options: [Option] =
        [
            Option("app", "APP", "an app of the configuration; may be left out where there is but one"),
            Option("config", "FILE", "the configuration (carillon.json5 here or in /etc/carillon)"),
        ] + flags

    /// Without a configuration.
    private static let flags: [Option] = [
        Option("topic", "BUNDLE", "instead of --app: the app's bundle id, and with it"),
        Option("environment", "NAME", "production or sandbox"),
        Option("key", "FILE", "a provider key (.p8), or the key that belongs to --certificate"),
        Option("key-id", "ID", "of the provider key (what the name of its file says)"),
        Option("team-id", "ID", "of the provider key"),
        Option("certificate", "FILE", "a push certificate, .p12 or .pem"),
        Option("password-file", "F", "a file with the password of the certificate alone in it"),
        Option("host", "H", "a simulator or a private service, instead of Apple's"),
        Option("port", "P", "(443; 2195 with --binary)"),
        Option("trust", "CA", "the authority of that host (PEM), or 'system' for a public one"),
        Option("binary", "the legacy protocol, which Apple ended in 2021"),
    ]

    struct Chosen: Sendable {
        let app: Configuration.App
        /// What the configuration warns of.
        let warnings: [String]
    }

    /// What the app is called that flags describe: no configuration knows it.
    static let flagsName = AppID("flags")!

    static func choose(_ arguments: Arguments) throws(Failure) -> Chosen {
        let given = flags.map(\.name).filter { arguments.has($0) }
        guard let first = given.first else { return try configured(arguments) }
        for option in ["app", "config"] where arguments.has(option) {
            throw Failure(
                .usage, "'--\(option)' goes without '--\(first)': either the configuration says it all, or the flags do"
            )
        }
        return Chosen(app: try described(arguments), warnings: [])
    }

    private static func configured(_ arguments: Arguments) throws(Failure) -> Chosen {
        let name = arguments.text("app")
        let (file, parsed): (String, Configuration.Parsed)
        do {
            (file, parsed) = try Configuration.load(file: arguments.text("config"))
        } catch {
            guard name == nil, arguments.text("config") == nil,
                error.description == ConfigurationFile.notFound().description
            else { throw error }
            throw Failure(error.code, "\(error); or say it by flags: --topic, --environment, --key or --certificate")
        }
        let app = try find(name, in: parsed.configuration.apps, of: file)
        return Chosen(app: app, warnings: parsed.warnings.map(\.description))
    }

    /// The app of that name; without a name the only one.
    static func find(
        _ name: String?, in apps: [Configuration.App], of file: String
    ) throws(Failure) -> Configuration.App {
        let names = apps.map(\.id.name)
        guard let name else {
            if apps.count == 1 { return apps[0] }
            throw Failure(.usage, "which app? --app with one of \(names.joined(separator: ", "))")
        }
        if let app = apps.first(where: { $0.id.name == name }) { return app }
        let nearest = Spelling.nearest(to: name, in: names)
        throw Failure(
            .badInput,
            "there is no app \"\(PlainText.line(name, limit: 64))\" in \(file)"
                + (nearest.map { "; did you mean \"\($0)\"?" } ?? "; there are \(names.joined(separator: ", "))"))
    }

    // MARK: Flags

    private static func described(_ arguments: Arguments) throws(Failure) -> Configuration.App {
        guard let topic = arguments.text("topic") else {
            throw Failure(
                .usage, "'--topic' is needed: the app's bundle id, com.example.shop; or --app with a configuration")
        }
        guard !topic.isEmpty, topic.utf8.count <= 155, topic.utf8.allSatisfy(isOfBundleID) else {
            throw Failure(
                .usage,
                "'--topic \(PlainText.line(topic, limit: 80))' is no bundle id: up to 155 letters, digits, '.', '-' and '_'"
            )
        }
        let environment = try environment(arguments.text("environment"))
        var gateway = Configuration.Gateway()
        if arguments.has("binary") { gateway.wireProtocol = .binary }
        let endpoint = try endpoint(arguments, environment, gateway.wireProtocol)
        let credential = try credential(arguments, gateway.wireProtocol)
        let place = HostPort(host: endpoint.host, port: endpoint.port)
        return Configuration.App(
            id: flagsName, topic: topic, environment: environment, credential: credential, gateway: gateway,
            endpoint: endpoint,
            broadcast: Configuration.Broadcast(
                send: place, manage: endpoint.isApple ? environment.broadcastManagement : place))
    }

    private static func isOfBundleID(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func environment(_ word: String?) throws(Failure) -> PushEnvironment {
        guard let word else {
            throw Failure(.usage, "'--environment' is needed: production, or sandbox for builds from Xcode")
        }
        guard let environment = PushEnvironment(rawValue: word == "development" ? "sandbox" : word) else {
            throw Failure(
                .usage, "'--environment' is production or sandbox, not '\(PlainText.line(word, limit: 40))'")
        }
        return environment
    }

    private static func endpoint(
        _ arguments: Arguments, _ environment: PushEnvironment,
        _ wireProtocol: Configuration.Gateway.WireProtocol
    ) throws(Failure) -> Configuration.Endpoint {
        guard let host = arguments.text("host") else {
            for option in ["port", "trust"] where arguments.has(option) {
                throw Failure(.usage, "'--\(option)' goes with '--host'; without it Apple's is used")
            }
            guard wireProtocol == .http2 else {
                throw Failure(
                    .usage,
                    "'--binary' goes with '--host': Apple ended the legacy protocol, so it needs a simulator or a private service"
                )
            }
            return environment.endpoint
        }
        guard (1...253).contains(host.utf8.count),
            SocketAddress(ip: host, port: 0) != nil || host.utf8.allSatisfy(isOfBundleID)
        else {
            throw Failure(
                .usage,
                "'--host \(PlainText.line(host, limit: 80))' is no host: a name or an IP address, without scheme and port"
            )
        }
        let port = try number("port", arguments)
        var endpoint = Configuration.Endpoint(host: host, port: port ?? (wireProtocol == .binary ? 2195 : 443))
        switch arguments.text("trust") {
        case "system": endpoint.trust = .system
        case let file?: endpoint.trust = .file(file)
        case nil where endpoint.isApple: endpoint.trust = .system
        case nil:
            throw Failure(
                .usage,
                "'--trust' is needed: the PEM file of the authority that \(host) shows, or system for a public one")
        }
        if endpoint.isApple, !environment.hosts.contains(host.lowercased()) {
            throw Failure(
                .usage, "'--host \(host)' does not serve \(environment.rawValue): that is \(environment.hosts[0])")
        }
        return endpoint
    }

    private static func number(_ name: String, _ arguments: Arguments) throws(Failure) -> UInt16? {
        guard let text = arguments.text(name) else { return nil }
        guard let port = UInt16(text), port > 0 else {
            throw Failure(.usage, "'--\(name)' wants a port from 1 to 65535, not '\(PlainText.line(text, limit: 20))'")
        }
        return port
    }

    private static func credential(
        _ arguments: Arguments, _ wireProtocol: Configuration.Gateway.WireProtocol
    ) throws(Failure) -> Configuration.Credential {
        let (key, password) = (arguments.text("key"), arguments.text("password-file"))
        if let certificate = arguments.text("certificate") {
            for option in ["key-id", "team-id"] where arguments.has(option) {
                throw Failure(.usage, "'--\(option)' goes with a provider key, not with '--certificate'")
            }
            return key.map { .certificate(certificate: certificate, key: $0, passwordFile: password) }
                ?? .bundle(certificate: certificate, passwordFile: password)
        }
        guard let key else {
            throw Failure(
                .usage,
                "a credential is needed: --key AuthKey_….p8 with --key-id and --team-id, or --certificate push.p12")
        }
        guard wireProtocol == .http2 else {
            throw Failure(.usage, "'--binary' knows no provider tokens; it needs '--certificate'")
        }
        guard password == nil else {
            throw Failure(.usage, "'--password-file' goes with '--certificate'; a .p8 has none")
        }
        guard let keyID = arguments.text("key-id") ?? ProviderKeyName.keyID(in: key) else {
            throw Failure(.usage, "'--key-id' is needed: the name of \(key) does not say it, as AuthKey_KEYID.p8 would")
        }
        guard let teamID = arguments.text("team-id") else {
            throw Failure(.usage, "'--team-id' is needed: it is on the membership page of Apple's developer site")
        }
        return .token(key: key, keyID: keyID, teamID: teamID)
    }
}

extension AppGateway {
    /// For verbs: every fault of credential and trust is one of the configuration.
    static func load(_ app: Configuration.App) throws(Failure) -> AppGateway {
        do {
            return try AppGateway(app)
        } catch {
            throw Failure(.configuration, "\(error)")
        }
    }
}

extension Duration {
    /// `--timeout` of the verbs that talk to a push service.
    static let usualTimeout: Duration = .seconds(20)

    static func timeout(_ arguments: Arguments) throws(Failure) -> Duration {
        guard let text = arguments.text("timeout") else { return usualTimeout }
        guard let time = DurationText.read(text), (.milliseconds(100) ... .seconds(600)).contains(time) else {
            throw Failure(
                .usage,
                "'--timeout' wants a time from 100ms to 10m, such as 20s, not '\(PlainText.line(text, limit: 20))'")
        }
        return time
    }
}
