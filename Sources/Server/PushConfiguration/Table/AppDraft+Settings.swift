import PushLogic

extension AppDraft {
    /// All settings of an app, in the order of the file.
    static let settings: [Setting<AppDraft>] =
        identity + credentials + gateways + feedbacks + endpoints + browsers + broadcasts + quotas + limited
        + receipts

    private static let identity: [Setting<AppDraft>] = [
        // The devices of an app have addresses of its push service.
        Setting(
            "service", at: \.service, as: .choice, applies: .restart,
            documentation: """
                The push service: "apns" (Apple), "fcm" (Firebase Cloud Messaging), or "webpush" (browsers).
                """),
        // Apple binds a connection to the bundle ids of its credential (Documentation/Protocols.md, "TLS and
        // connections").
        Setting(
            "topic", atOptional: \.topic, as: .bundleID, applies: .perConnection,
            documentation: "The bundle id. Required for APNs, as is environment."),
        // Devices and their remembered deliveries belong to one environment.
        Setting(
            "environment", atOptional: \.environment, as: .choice, applies: .restart,
            documentation: #""production", or "sandbox" for builds from Xcode."#),
        Setting(
            "time_zone", atOptional: \.timeZone, as: .text, applies: .live,
            documentation: """
                The time zone of addresses that have none, for messages with `at_local`, such as Europe/Berlin.
                """),
    ]

    private static let credentials: [Setting<AppDraft>] = [
        Setting(
            "credential.key", atOptional: \.credential.key, as: .path, applies: .perConnection,
            documentation: """
                The .p8 file that signs provider tokens; or, with `certificate`, the PEM file with its private key.
                """),
        Setting(
            "credential.key_id", atOptional: \.credential.keyID, as: .text, applies: .perConnection,
            documentation: "The id that Apple assigned to the .p8 key."),
        Setting(
            "credential.team_id", atOptional: \.credential.teamID, as: .text, applies: .perConnection,
            documentation: "The id that Apple assigned to the team of the .p8 key."),
        Setting(
            "credential.certificate", atOptional: \.credential.certificate, as: .path, applies: .perConnection,
            documentation: "The push certificate, PKCS#12 or PEM."),
        Setting(
            "credential.password_file", atOptional: \.credential.passwordFile, as: .path, applies: .perConnection,
            documentation: "A file whose first line is the password of the certificate's key. Default: no password."),
        Setting(
            "credential.service_account", atOptional: \.credential.serviceAccount, as: .path, applies: .perConnection,
            documentation: "The JSON file of the service account that sends through FCM. It names the project."),
        Setting(
            "credential.vapid", atOptional: \.credential.vapid, as: .path, applies: .perConnection,
            documentation: "The PEM file with the VAPID key, for browsers. `carillon keys vapid FILE` makes one."),
        Setting(
            "credential.former_vapid", atOptional: \.credential.formerVAPID, as: .path, applies: .perConnection,
            documentation: """
                The PEM file with the VAPID key before, while there are subscriptions that were made with it. It serves \
                them, and those that do not name their key. Default: none.
                """),
        Setting(
            "credential.subject", atOptional: \.credential.subject, as: .text, applies: .perConnection,
            documentation: #"The contact that push services of browsers get, "mailto:…" or "https://…"."#),
    ]

    private static let gateways: [Setting<AppDraft>] = [
        Setting(
            "gateway.protocol", at: \.wireProtocol, as: .choice, applies: .restart,
            documentation: #""http2", or "binary" for the legacy protocol."#),
        Setting(
            "gateway.connections.min", atOptional: \.connections.min, as: .connections, applies: .live,
            documentation: "The number of connections that stay open."),
        Setting(
            "gateway.connections.max", atOptional: \.connections.max, as: .connections, applies: .live,
            documentation: "The number of connections under load."),
        Setting(
            "gateway.connects_per_minute", at: \.gateway.connectsPerMinute, as: .integer(in: 1...600), applies: .live,
            documentation: """
                The maximum number of new connections per minute. Apple treats frequent connecting as an attack. \
                There is no limit for a loopback endpoint.
                """),
        Setting(
            "gateway.connect_timeout", at: \.gateway.connectTimeout, as: .duration(in: .seconds(1)...(.seconds(300))),
            applies: .perConnection,
            documentation: "The time for look-up, TCP, TLS and the first SETTINGS together."),
        Setting(
            "gateway.answer_timeout", at: \.gateway.answerTimeout, as: .duration(in: .seconds(1)...(.seconds(600))),
            applies: .perConnection, documentation: "A connection is dead if a push is unanswered so long."),
        Setting(
            "gateway.ping_after", at: \.gateway.pingAfter, as: .duration(in: .seconds(5)...(.seconds(3600))),
            applies: .perConnection, documentation: "A PING is sent if nothing was received for so long."),
        Setting(
            "gateway.ping_timeout", at: \.gateway.pingTimeout, as: .duration(in: .seconds(1)...(.seconds(300))),
            applies: .perConnection, documentation: "A connection is dead if a PING is unanswered so long."),
        Setting(
            "gateway.idle", at: \.gateway.idle, as: .duration(in: .seconds(10)...(.days(7))), applies: .live,
            documentation: "A connection above `min` is closed if it is not needed for so long."),
    ]

    private static let feedbacks: [Setting<AppDraft>] = [
        Setting(
            "gateway.feedback.host", atOptional: \.feedback.host, as: .text, applies: .live,
            documentation: "Default: the host of the endpoint."),
        Setting(
            "gateway.feedback.port", atOptional: \.feedback.port, as: .port, applies: .live,
            documentation: "Default: 2196."),
        Setting(
            "gateway.feedback.interval", atOptional: \.feedback.interval,
            as: .duration(in: .seconds(60)...(.days(30))), applies: .live,
            documentation: "The time between two reads of the list; a read clears the list."),
    ]

    private static let endpoints: [Setting<AppDraft>] = [
        Setting(
            "endpoint.host", atOptional: \.endpoint.host, as: .host, applies: .perConnection,
            requirement: "; leave out endpoint to use that of the push service",
            documentation: "A name or an IP address. Required in an endpoint."),
        Setting(
            "endpoint.port", atOptional: \.endpoint.port, as: .port, applies: .perConnection,
            documentation: "Default: 443, or 2195 for the binary protocol."),
        Setting(
            "endpoint.trust", atOptional: \.endpoint.trust, as: .trust, applies: .perConnection,
            documentation: """
                A PEM file with the root certificates, or "system" for those of the system. Required for hosts other \
                than those of the push service.
                """),
    ]

    private static let browsers: [Setting<AppDraft>] = [
        Setting(
            "origins", atOptional: \.webPush.origins, as: .texts, applies: .perConnection,
            documentation: """
                The push services of browsers to which the app sends: host names, with `*.` in front for all names below, \
                and with a port if it is not 443. Default: those of Chrome, Firefox, Edge and Safari.
                """),
        Setting(
            "private_networks", atOptional: \.webPush.privateNetworks, as: .texts, applies: .perConnection,
            documentation: """
                The private networks in which origins may be, such as 10.0.0.0/8. Default: none.
                """),
        Setting(
            "navigate", atOptional: \.webPush.navigate, as: .text, applies: .perConnection,
            documentation: "The page that a notification without a link opens in a browser."),
        Setting(
            "title", atOptional: \.webPush.title, as: .text, applies: .perConnection,
            documentation: "The title of notifications in browsers that have none. Default: the name of the app."),
    ]

    // The verbs `channels` and `send` use these hosts, and read them when they start. Gateways do not connect to them.
    private static let broadcasts: [Setting<AppDraft>] = [
        Setting(
            "broadcast.send", atOptional: \.broadcast.send, as: .hostPort, applies: .live,
            documentation: "The host for broadcasts. Default: the endpoint."),
        Setting(
            "broadcast.manage", atOptional: \.broadcast.manage, as: .hostPort, applies: .live,
            documentation: """
                The host for channels. Default: Apple's for the environment, or the endpoint if that is not Apple's.
                """),
    ]

    private static let quotas: [Setting<AppDraft>] = [
        Setting(
            "quota.per_minute", atOptional: \.perMinute, as: .integer(in: 1...SendingRate.maxPerMinute),
            applies: .live,
            documentation: """
                The number of messages that Google allows the project in a minute, for FCM. Each node of a cluster \
                counts its own. Default: 600000.
                """)
    ]

    private static let receipts: [Setting<AppDraft>] = [
        Setting(
            "receipts.app_apple_id", atOptional: \.appAppleID, as: .integer(in: 1...999_999_999_999_999),
            applies: .live,
            documentation: "The Apple id of the app, a number. Notifications from production are refused without it.")
    ]

    private static let limited: [Setting<AppDraft>] = [
        Setting(
            "limits.waiting", at: \.limits.waiting, as: .integer(in: 1...4_000_000), applies: .live,
            documentation: "The maximum number of messages that wait to be sent."),
        Setting(
            "limits.scheduled", at: \.limits.scheduled, as: .integer(in: 0...100_000_000), applies: .live,
            documentation: "The maximum number of messages whose not_before is ahead."),
        Setting(
            "limits.remembered", at: \.limits.remembered, as: .integer(in: 1...10_000_000_000), applies: .live,
            documentation: """
                The maximum number of message ids within dedupe.window, plus the deliveries of messages that name \
                several devices; each takes 8 to 24 bytes of memory.
                """),
        Setting(
            "limits.addresses_per_installation", at: \.limits.addressesPerInstallation, as: .integer(in: 1...1000),
            applies: .live,
            documentation: """
                The maximum number of addresses of one installation; a registration of another one is refused. The \
                addresses of Live Activities that have ended do not count.
                """),
    ]
}

extension SettingCodec<Int> {
    fileprivate static var connections: Self { .integer(in: 1...Configuration.maxConnections) }
}
