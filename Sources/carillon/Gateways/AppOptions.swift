import APNs
import FoundationEssentials
import PushConfiguration
import PushGateways
import PushModel
import PushText
import PushWire

/// The options that select the app of a verb: an app of the configuration, or one described by flags.
enum AppOptions {
    static let options: [Option] =
        [
            Option("app", value: "APP", about: "an app of the configuration; may be left out if there is only one"),
            Option("config", value: "FILE", about: "the configuration (carillon.json5 here or in /etc/carillon)"),
        ] + flags

    /// The flags that describe an app without a configuration.
    private static let flags: [Option] = [
        Option("topic", value: "BUNDLE", about: "the app's bundle id, instead of --app; with the next options"),
        Option("environment", value: "NAME", offers: .choice(PushEnvironment.self), about: "production or sandbox"),
        Option("key", value: "FILE", about: "a provider key (.p8), or the private key of --certificate"),
        Option("key-id", value: "ID", about: "the id of the provider key (taken from its file name)"),
        Option("team-id", value: "ID", about: "the team of the provider key"),
        Option("certificate", value: "FILE", about: "a push certificate, .p12 or .pem"),
        Option("password-file", value: "FILE", about: "a file that contains only the password of the certificate"),
        Option("host", value: "H", about: "a simulator or a private service, instead of Apple's"),
        Option("port", value: "P", about: "the port of that host (443; 2195 with --binary)"),
        Option(
            "trust", value: "CA", offers: .files,
            about: "the CA certificate for that host (PEM), or 'system' for a public CA"),
        Option("binary", about: "use the legacy protocol, which Apple ended in 2021"),
    ]

    struct Chosen: Sendable {
        let app: Configuration.App
        /// The warnings about the configuration.
        let warnings: [String]
    }

    /// The id of an app that is described by flags.
    static let flagsName = AppID("flags")!

    static func choose(_ arguments: Arguments) throws(Failure) -> Chosen {
        let given = flags.map(\.name).filter { arguments.has($0) }
        guard let first = given.first else { return try configured(arguments) }
        for option in ["app", "config"] where arguments.has(option) {
            throw Failure(
                .usage, "'--\(option)' cannot be combined with '--\(first)': use the configuration or the flags"
            )
        }
        return Chosen(app: try described(arguments), warnings: [])
    }

    private static func configured(_ arguments: Arguments) throws(Failure) -> Chosen {
        let name = arguments.text("app")
        let isWithoutFile =
            arguments.text("config") == nil
            && ConfigurationFile.locate(flag: nil, environment: ProcessInfo.processInfo.environment) == nil
        let advice = "or describe the app with --topic, --environment, and --key or --certificate"
        let (file, parsed) = try Failure.converting(advice: name == nil && isWithoutFile ? advice : nil) {
            () throws(StartError) in try Configuration.load(file: arguments.text("config"))
        }
        let app = try find(name, in: parsed.configuration.apps, of: file)
        return Chosen(app: app, warnings: parsed.warnings.map(\.description))
    }

    /// Returns the app with that name; without a name, the only app.
    static func find(
        _ name: String?, in apps: [Configuration.App], of file: String
    ) throws(Failure) -> Configuration.App {
        let names = apps.map(\.id.name)
        guard let name else {
            if apps.count == 1 { return apps[0] }
            throw Failure(.usage, "no app: give --app with one of \(names.joined(separator: ", "))")
        }
        if let app = apps.first(where: { $0.id.name == name }) { return app }
        let nearest = NearestWord.to(name, in: names)
        throw Failure(
            .badInput,
            "unknown app \"\(PlainText.line(name, limit: 64))\" in \(file)"
                + (nearest.map { "; did you mean \"\($0)\"?" } ?? "; the apps are \(names.joined(separator: ", "))"))
    }

    // MARK: Flags

    private static func described(_ arguments: Arguments) throws(Failure) -> Configuration.App {
        guard let topic = arguments.text("topic") else {
            throw Failure(
                .usage, "'--topic' is needed: the app's bundle id, com.example.shop; or --app with a configuration")
        }
        guard let bundle = BundleID(topic) else {
            throw Failure(
                .usage,
                "'--topic \(PlainText.line(topic, limit: 80))' is not a bundle id: up to 155 letters, digits, '.', '-' and '_'"
            )
        }
        let environment = try environment(arguments.text("environment"))
        let wireProtocol: APNsSettings.WireProtocol = arguments.has("binary") ? .binary : .http2
        let endpoint = try endpoint(arguments, environment: environment, wireProtocol: wireProtocol)
        let credential = try credential(arguments, for: wireProtocol)
        var apns = APNsSettings(
            topic: bundle, environment: environment, credential: credential,
            broadcast: BroadcastHosts(endpoint: endpoint.address, environment: environment))
        apns.wireProtocol = wireProtocol
        return Configuration.App(
            id: flagsName, service: .apns(apns), gateway: Configuration.Gateway(), endpoint: endpoint)
    }

    private static func environment(_ word: String?) throws(Failure) -> PushEnvironment {
        guard let word else {
            throw Failure(.usage, "'--environment' is needed: production, or sandbox for builds from Xcode")
        }
        guard let environment = PushEnvironment(rawValue: word == "development" ? "sandbox" : word) else {
            throw Failure(
                .usage, "'--environment' must be production or sandbox, not '\(PlainText.line(word, limit: 40))'")
        }
        return environment
    }

    private static func endpoint(
        _ arguments: Arguments, environment: PushEnvironment,
        wireProtocol: APNsSettings.WireProtocol
    ) throws(Failure) -> Configuration.Endpoint {
        guard let host = arguments.text("host") else {
            for option in ["port", "trust"] where arguments.has(option) {
                throw Failure(.usage, "'--\(option)' needs '--host'; without it, Apple's host is used")
            }
            guard wireProtocol == .http2 else {
                throw Failure(
                    .usage,
                    "'--binary' needs '--host' with a simulator or a private service: Apple ended the legacy protocol"
                )
            }
            return Configuration.Endpoint(environment.endpoint)
        }
        guard Configuration.Endpoint.isHost(host) else {
            throw Failure(
                .usage,
                "'--host \(PlainText.line(host, limit: 80))' is not a host: a name or an IP address, without scheme and port"
            )
        }
        let port = try number("port", in: arguments)
        var endpoint = Configuration.Endpoint(host: host, port: port ?? (wireProtocol == .binary ? 2195 : 443))
        switch arguments.text("trust") {
        case "system": endpoint.trust = .system
        case let file?: endpoint.trust = .file(file)
        case nil where PushEnvironment.isHostOfApple(host): endpoint.trust = .system
        case nil:
            throw Failure(
                .usage,
                "'--trust' is needed: the CA certificate for \(host) (PEM), or system for a public CA")
        }
        if PushEnvironment.isHostOfApple(host), !environment.hosts.contains(host.lowercased()) {
            throw Failure(
                .usage, "'--host \(host)' does not serve \(environment.rawValue); use \(environment.hosts[0])")
        }
        return endpoint
    }

    private static func number(_ name: String, in arguments: Arguments) throws(Failure) -> UInt16? {
        guard let text = arguments.text(name) else { return nil }
        guard let port = UInt16(text), port > 0 else {
            throw Failure(
                .usage, "'--\(name)' must be a port from 1 to 65535, not '\(PlainText.line(text, limit: 20))'")
        }
        return port
    }

    private static func credential(
        _ arguments: Arguments, for wireProtocol: APNsSettings.WireProtocol
    ) throws(Failure) -> CredentialFiles {
        let (key, password) = (arguments.text("key"), arguments.text("password-file"))
        if let certificate = arguments.text("certificate") {
            for option in ["key-id", "team-id"] where arguments.has(option) {
                throw Failure(.usage, "'--\(option)' needs a provider key; it cannot be combined with '--certificate'")
            }
            return .certificate(certificate, key: key, passwordFile: password)
        }
        guard let key else {
            throw Failure(
                .usage,
                "a credential is needed: --key AuthKey_….p8 with --key-id and --team-id, or --certificate push.p12")
        }
        guard wireProtocol == .http2 else {
            throw Failure(.usage, "'--binary' needs '--certificate': the legacy protocol has no provider tokens")
        }
        guard password == nil else {
            throw Failure(.usage, "'--password-file' needs '--certificate'; a .p8 file has no password")
        }
        guard let keyID = arguments.text("key-id") ?? ProviderKeyName.keyID(in: key) else {
            throw Failure(
                .usage, "'--key-id' is needed: the file name \(key) does not contain it, as AuthKey_KEYID.p8 does")
        }
        guard let teamID = arguments.text("team-id") else {
            throw Failure(.usage, "'--team-id' is needed: it is on the membership page of Apple's developer site")
        }
        return .key(path: key, keyID: keyID, teamID: teamID)
    }
}

extension AppGateway {
    /// Creates the gateway of an app. Faults of its credential or trust become configuration failures.
    static func load(_ app: Configuration.App) throws(Failure) -> AppGateway {
        do {
            return try AppGateway(app)
        } catch {
            throw Failure(.configuration, "\(error)")
        }
    }
}

extension Duration {
    /// The default of `--timeout` for verbs that connect to a push service.
    static let usualTimeout: Duration = .seconds(20)

    static func timeout(_ arguments: Arguments) throws(Failure) -> Duration {
        guard let text = arguments.text("timeout") else { return usualTimeout }
        guard let time = DurationText.read(text), (.milliseconds(100) ... .seconds(600)).contains(time) else {
            throw Failure(
                .usage,
                "'--timeout' must be a time from 100ms to 10m, such as 20s, not '\(PlainText.line(text, limit: 20))'")
        }
        return time
    }
}
