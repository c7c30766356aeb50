import APNs
import PushConfiguration
import PushModel
import PushText
import PushTransport

/// The options of verbs that only APNs has. A further push service has a file like this one.
enum APNsOptions {
    /// The options that describe an app without a configuration.
    static let describing: [Option] = [
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

    /// The options of `send` that choose what only APNs sends.
    static let sending: [Option] = [
        Option("channel", value: "ID", about: "a broadcast to this channel, instead of --token"),
        Option("apns-id", value: "UUID", about: "the apns-id, instead of --id"),
    ]

    /// Returns the app that the options describe.
    static func app(_ arguments: Arguments) throws(Failure) -> Configuration.App {
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
            id: AppOptions.flagsName, service: .apns(apns), gateway: Configuration.Gateway(), endpoint: endpoint)
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
