import APNs
import FCM
import PushModel
import PushTransport
import PushWire
import WebPush

/// The configuration in `Config/carillon.json5`: all defaults, and apps, clients and files that show each setting.
struct ConfigurationExample {
    /// The settings outside of apps and clients.
    let draft: ConfigurationDraft
    let clients: [(name: String, draft: ClientDraft)]
    let apps: [(name: String, comment: String, draft: AppDraft)]
    let families: [(name: String, draft: FamilyDraft)]
    let webhooks: [(name: String, draft: WebhookDraft)]

    init() {
        var draft = ConfigurationDraft(Configuration())
        draft.values.data = "./data"
        draft.tls = ConfigurationDraft.TLS(
            certificate: "server.pem", key: "server.key", passwordFile: "server.password")
        draft.curveKeyFile = "server.curve"
        draft.values.store = try? Configuration.Store("postgres://carillon@db1,db2/carillon")
        draft.cluster.node = NodeID("a")
        draft.cluster.advertise = draft.cluster.listen
        draft.legacy = ConfigurationDraft.LegacyRegistration(
            app: "shop", path: Configuration.HTTP.LegacyRegistration.defaultPath)
        draft.gorush = Self.gorush
        draft.values.receipts.roots = "roots.pem"
        draft.values.receipts.sharedSecretFile = "shared.secret"
        self.draft = draft
        clients = Self.someClients
        var everywhere = FamilyDraft()
        everywhere.members = ["shop", "android"]
        families = [("everywhere", everywhere)]
        webhooks = [("billing", Self.billing)]
        apps = [
            ("shop", "An app with a key that signs provider tokens.", Self.shop),
            ("news", "An app with a certificate and its key in one file, PKCS#12 or PEM.", Self.news),
            (
                "classic",
                """
                An app with certificate and key in separate files, and with the legacy binary protocol. Apple has \
                ended that protocol, so the app needs its own endpoint, such as `carillon simulate`.
                """, Self.classic
            ),
            (
                "android", "An app at Firebase Cloud Messaging, with the service account that sends for its project.",
                Self.android
            ),
            (
                "web", "An app for browsers, with the VAPID key with whose public half its pages subscribe.", Self.web
            ),
        ]
    }

    private static var someClients: [(name: String, draft: ClientDraft)] {
        [
            (
                "orders",
                ClientDraft(
                    publicKey: try? CurvePublicKey(z85: "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"),
                    push: ["shop", "news"], observe: false)
            ),
            (
                "grafana",
                ClientDraft(
                    publicKey: try? CurvePublicKey(z85: "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"), observe: true)
            ),
        ]
    }

    private static var gorush: ConfigurationDraft.Gorush {
        ConfigurationDraft.Gorush(Configuration.Doors.Gorush(ios: AppID("shop"), android: AppID("android")))
    }

    private static var billing: WebhookDraft {
        var draft = WebhookDraft()
        draft.url = "https://billing.example.com/carillon"
        draft.prefixes = ["delivery/shop/rejected", "device/"]
        draft.secretFile = "billing.hook"
        return draft
    }

    private static var android: AppDraft {
        var draft = AppDraft()
        draft.service = .fcm
        draft.credential = AppDraft.Credential(serviceAccount: "firebase.json")
        draft.perMinute = FCMSettings.defaultPerMinute
        return draft
    }

    private static var web: AppDraft {
        var draft = AppDraft()
        draft.service = .webpush
        draft.credential = AppDraft.Credential(
            vapid: "vapid.pem", formerVAPID: "vapid-before.pem", subject: "mailto:ops@example.com")
        draft.webPush = AppDraft.WebPush(
            origins: OriginRules.browsers, privateNetworks: [], navigate: "https://shop.example.com/", title: "Shop")
        return draft
    }

    private static var shop: AppDraft {
        let environment = PushEnvironment.production
        var draft = AppDraft()
        draft.topic = BundleID("com.example.shop")
        draft.environment = environment
        draft.timeZone = "Europe/Berlin"
        draft.credential = AppDraft.Credential(
            key: "AuthKey_ABC123DEFG.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        draft.connections = AppDraft.Connections(
            min: draft.gateway.connections.lowerBound, max: draft.gateway.connections.upperBound)
        let broadcast = BroadcastHosts(endpoint: environment.endpoint, environment: environment)
        draft.broadcast = AppDraft.Broadcast(send: broadcast.send, manage: broadcast.manage)
        draft.appAppleID = 1_234_567_890
        return draft
    }

    private static var news: AppDraft {
        var draft = AppDraft()
        draft.topic = BundleID("com.example.news")
        draft.environment = .sandbox
        draft.credential = AppDraft.Credential(certificate: "push.p12", passwordFile: "push.password")
        return draft
    }

    private static var classic: AppDraft {
        var draft = AppDraft()
        draft.topic = BundleID("com.example.classic")
        draft.environment = .production
        draft.credential = AppDraft.Credential(key: "key.pem", certificate: "cert.pem")
        draft.wireProtocol = .binary
        let feedback = FeedbackSettings(host: "127.0.0.1")
        draft.feedback = AppDraft.Feedback(host: feedback.host, port: feedback.port, interval: feedback.interval)
        draft.endpoint = AppDraft.Endpoint(host: "127.0.0.1", port: 2195, trust: .file("simulator/ca.pem"))
        return draft
    }

    /// The comment at the top of the file.
    static let introduction = """
        // All settings of Carillon. A setting with a default has it here as its value.
        //
        // `carillon serve` reads the first of these: the file that `--config FILE`
        // names, the file that CARILLON_CONFIG names, ./carillon.json5, and
        // /etc/carillon/carillon.json5.
        //
        // The file is JSON5: it may have comments, trailing commas, and keys without
        // quotes. An unknown key is an error. Paths are relative to this file.
        // Durations are "250ms", "5s", "10m", "2h" or "7d"; sizes are "512KiB", "64MiB"
        // or "1GiB".
        //
        // A flag overrides the environment, and the environment overrides this file. A
        // variable is CARILLON_ and the path of the setting in capitals, for example
        // CARILLON_INTAKE_ROUTER or CARILLON_APPS_SHOP_GATEWAY_CONNECTIONS_MAX. In the
        // name of an app, `_` replaces each character that is not a letter or a digit.
        // Lists are written with commas. Paths in variables are relative to the working
        // directory.
        //
        // This file does not start as it is, because it names files that you have to
        // create; `carillon check` lists the missing ones. Carillon needs an app with
        // its credential, and nothing else: leave out store, cluster, http.tls, security,
        // receipts, families, webhooks and the apps that you do not have.
        //
        // SIGHUP reloads this file. A changed setting applies
        // - at once [live],
        // - to connections that are opened from then on [connection], or
        // - after a restart [restart]; until then the old value stays, and the log
        //   reports it.

        """
}
