import PushModel
import PushText

/// The settings outside of apps and clients as they are written, before the rules that combine several of them.
struct ConfigurationDraft: Sendable {
    /// The settings that stand alone.
    var values: Configuration
    var tls = TLS()
    var curveKeyFile: String?
    var legacy = LegacyRegistration()
    var gorush = Gorush()
    var cluster = Cluster()

    /// `http.legacy_registration`, which is complete only with an app.
    struct LegacyRegistration: Sendable {
        var app: String?
        var path: String?
    }

    /// `http.tls`, which is complete only with a certificate.
    struct TLS: Sendable {
        var certificate: String?
        var key: String?
        var passwordFile: String?
    }

    init(_ configuration: Configuration) {
        values = configuration
        tls = TLS(
            certificate: configuration.http.tls?.certificate, key: configuration.http.tls?.key,
            passwordFile: configuration.http.tls?.passwordFile)
        curveKeyFile = configuration.security.curve?.secretKeyFile
        cluster = Cluster(configuration.cluster)
        legacy = LegacyRegistration(
            app: configuration.http.legacyRegistration?.app.name, path: configuration.http.legacyRegistration?.path)
        gorush = Gorush(configuration.doors.gorush)
    }

    var configuration: Configuration {
        var configuration = values
        configuration.http.tls = tls.certificate.map {
            Configuration.HTTP.TLS(certificate: $0, key: tls.key, passwordFile: tls.passwordFile)
        }
        configuration.http.legacyRegistration = legacy.app.flatMap { AppID($0) }.map {
            Configuration.HTTP.LegacyRegistration(
                app: $0, path: legacy.path ?? Configuration.HTTP.LegacyRegistration.defaultPath)
        }
        configuration.doors.gorush = gorush.door
        configuration.security.curve = curveKeyFile.map { Configuration.Security.Curve(secretKeyFile: $0) }
        configuration.cluster = cluster.configuration
        return configuration
    }

    static let data = Setting(
        "data", at: \ConfigurationDraft.values.data, as: .path, applies: .restart,
        documentation: """
            The data directory: the ledger (accepted messages, their outcomes, and the ids for deduplication), the \
            registry of devices, and the socket that the other verbs use. It is locked: one Carillon can use it at a \
            time.
            """)

    /// All settings outside of apps and clients, in the order of the file.
    static let settings: [Setting<ConfigurationDraft>] =
        [data, store] + cluster + intake + events + operators + http + doors + dedupe + log + receipts + security

    private static let intake: [Setting<ConfigurationDraft>] = [
        Setting(
            "intake.router", at: \.values.intake.router, as: .bind, applies: .restart,
            documentation: "Each message is acknowledged when it is on disk. Use this one."),
        Setting(
            "intake.pull", at: \.values.intake.pull, as: .bind, applies: .restart,
            documentation: """
                No acknowledgments: a message that cannot be accepted becomes a message.rejected event.
                """),
        Setting(
            "intake.expire_after", at: \.values.intake.expireAfter, as: .duration(in: .seconds(60)...(.days(366))),
            applies: .live,
            documentation: """
                How long a message without `expires_at` may wait, counted from its acceptance or its `not_before`, \
                whichever is later; then it expires. While a message waits, its id is remembered, whatever \
                dedupe.window says.
                """),
    ]

    private static let events: [Setting<ConfigurationDraft>] = [
        Setting(
            "events.publish", at: \.values.events.publish, as: .bind, applies: .restart,
            documentation: "Events as they happen, for SUB sockets."),
        Setting(
            "events.replay", at: \.values.events.replay, as: .bind, applies: .restart,
            documentation: "Events that a monitor missed, for DEALER sockets."),
        Setting(
            "events.retention.size", at: \.values.events.retention.size,
            as: .byteCount(in: ByteCount(1 << 20)...ByteCount(1 << 50)), applies: .live,
            documentation: "The size on disk."),
        Setting(
            "events.retention.age", at: \.values.events.retention.age, as: .duration(in: .seconds(60)...(.days(3660))),
            applies: .live, documentation: "The age of the oldest event."),
    ]

    private static let operators: [Setting<ConfigurationDraft>] = [
        Setting(
            "operators.retention", at: \.values.operators.retention, as: .duration(in: .days(1)...(.days(3660))),
            applies: .restart,
            documentation: "The age of the oldest of these events, of which at most 100,000 are kept.")
    ]

    private static let http: [Setting<ConfigurationDraft>] = [
        Setting(
            "http.listen", at: \.values.http.listen, as: .listen, applies: .restart,
            documentation: "The address and port, or \"off\"."),
        Setting(
            "http.connections", at: \.values.http.connections, as: .integer(in: 16...1_000_000), applies: .restart,
            documentation: """
                The maximum number of connections. The limit of open files may allow fewer, so that descriptors are \
                left for ZeroMQ, push services and files. At the limit, a new connection takes the place of the one \
                that has waited longest for a request; if there is none, it is answered 503.
                """),
        Setting(
            "http.signature_window", at: \.values.http.signatureWindow,
            as: .duration(in: .seconds(1)...(.seconds(3600))),
            applies: .restart,
            documentation: "The maximum difference between the clock of a client that signs its requests and this one."),
        Setting(
            "http.hosts", at: \.values.http.hosts, as: .texts, applies: .restart,
            documentation: """
                The names by which clients address this server, in the header Host. Addresses, localhost and the name \
                of this machine are always allowed. Others are refused, so that a web page of another site cannot \
                reach the API by a name of its own.
                """),
        Setting(
            "http.insecure", at: \.values.http.insecure, as: .boolean, applies: .restart,
            documentation: """
                true lets other machines reach the port without http.tls: signed requests stay genuine, but anyone on \
                the way can read them.
                """),
        Setting(
            "http.tls.certificate", atOptional: \.tls.certificate, as: .path, applies: .perConnection,
            requirement: ", such as \"server.pem\"; its key may be in the same file, or in key",
            documentation: "A PEM file with the certificate and its chain, or a PKCS#12 file."),
        Setting(
            "http.tls.key", atOptional: \.tls.key, as: .path, applies: .perConnection,
            documentation: "A PEM file with the key. Default: the key is in the file of the certificate."),
        Setting(
            "http.tls.password_file", atOptional: \.tls.passwordFile, as: .path, applies: .perConnection,
            documentation: "A file whose first line is the password of the key or PKCS#12 file. Default: no password."),
        Setting(
            "http.legacy_registration.app", atOptional: \.legacy.app, as: .text, applies: .restart,
            requirement: ": the app whose devices register, such as \"shop\"",
            documentation: "The app whose devices register."),
        Setting(
            "http.legacy_registration.path", atOptional: \.legacy.path, as: .text, applies: .restart,
            documentation: "The path of the endpoint."),
    ]

    private static let dedupe: [Setting<ConfigurationDraft>] = [
        Setting(
            "dedupe.window", at: \.values.dedupe.window, as: .duration(in: .seconds(60)...(.days(366))),
            applies: .live,
            documentation: """
                How long a message id is remembered for a device. Within it, no device receives a message twice, even \
                across restarts. A message takes 24 bytes on disk, and each device of a message for several devices \
                16 bytes.
                """),
        Setting(
            "dedupe.limit", at: \.values.dedupe.limit, as: .integer(in: 1000...2_000_000_000), applies: .live,
            documentation: """
                The maximum number of remembered message ids and deliveries; each takes 10 to 20 bytes of memory. \
                Above the limit, new messages are answered `busy` until older ones are forgotten.
                """),
    ]

    private static let log: [Setting<ConfigurationDraft>] = [
        Setting(
            "log.level", at: \.values.log.level, as: .logLevel, applies: .live,
            documentation: #""trace", "debug", "info", "notice", "warning" or "error"."#),
        Setting(
            "log.format", at: \.values.log.format, as: .choice, applies: .live,
            documentation: #""text", or "json" for one JSON object on each line."#),
    ]

    private static let security: [Setting<ConfigurationDraft>] = [
        Setting(
            "security.insecure", at: \.values.security.insecure, as: .boolean, applies: .restart,
            documentation: """
                With true, addresses that other machines can reach are bound without CURVE: everyone there may push \
                and observe.
                """),
        Setting(
            "security.ipc_mode", at: \.values.security.ipcMode, as: .choice, applies: .restart,
            documentation: """
                The permissions of the files of ipc sockets: "0600" for the user that Carillon runs as, or "0660" for \
                its group as well.
                """),
        Setting(
            "security.curve.secret_key_file", atOptional: \.curveKeyFile, as: .path, applies: .restart,
            requirement: "; `carillon keys curve` makes one",
            documentation: "The server's keys, from `carillon keys curve`."),
    ]
}
