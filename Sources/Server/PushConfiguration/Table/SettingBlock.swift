/// An object of the configuration that groups settings.
struct SettingBlock: Sendable {
    /// The part of a path that stands for any name that the user chooses.
    private static let anyName = "*"

    /// The path, with `*` for the names of apps and clients.
    let path: [String]
    /// The comment in `Config/carillon.json5`; empty if the comments of the settings are enough.
    let documentation: String
    /// The rule for an object that is added or removed, if that is a single change and not one for each setting.
    let presence: Presence?

    struct Presence: Sendable {
        /// The settings of which every such object has one. It identifies the object in the text of a change.
        let paths: [[String]]
        let reload: Reload

        init(key: String, orPaths others: [[String]] = [], reload: Reload) {
            paths = [[key]] + others
            self.reload = reload
        }

        /// Returns the text that identifies the object at a path; nil if there is no such object.
        func text(at path: [String], in texts: [[String]: String]) -> String? {
            paths.lazy.compactMap { texts[path + $0] }.first
        }
    }

    init(_ path: String, documentation: String = "", presence: Presence? = nil) {
        self.path = path.split(separator: ".").map(String.init)
        self.documentation = documentation
        self.presence = presence
    }

    /// Returns whether the object at this path is of this kind.
    func matches(_ path: some Collection<String>) -> Bool {
        path.count == self.path.count && zip(self.path, path).allSatisfy { $0 == Self.anyName || $0 == $1 }
    }

    static let all: [SettingBlock] = [
        SettingBlock(
            "cluster",
            documentation: "This node among those that share the database of `store`. Default: none.",
            presence: Presence(key: "node", reload: .restart)),
        SettingBlock(
            "intake",
            documentation: """
                The endpoints for producers: "tcp://ADDRESS:PORT", "ipc://FILE" or "off". Port 0 is any free port; \
                `carillon serve` prints it, and prints JSON for scripts with --json.
                """),
        SettingBlock("events", documentation: "The endpoints for monitors, in the same form."),
        SettingBlock(
            "events.retention",
            documentation: """
                How many events are kept, for replay and for `carillon events`, `messages` and `trace`. The first \
                limit that is reached applies. Messages that wait are kept whatever their age.
                """),
        SettingBlock(
            "operators",
            documentation: """
                The events that say what operators did, `carillon events --prefix operator/`. A single node keeps them \
                apart from the others.
                """),
        SettingBlock("http", documentation: "The HTTP API, with the console, health checks and metrics."),
        SettingBlock(
            "http.tls",
            documentation: """
                Default: no TLS. To add or remove TLS needs a restart; a changed file is used for new connections.
                """,
            presence: Presence(key: "certificate", reload: .restart)),
        SettingBlock(
            "http.legacy_registration",
            documentation: """
                An endpoint without keys for apps in the field that send nothing but a form with the field `token`. \
                Each address may register 60 devices at once, and then one a second. Default: none.
                """,
            presence: Presence(key: "app", reload: .restart)),
        SettingBlock("doors", documentation: "The APIs of other gateways, on `http.listen`. Default: none."),
        SettingBlock(
            "doors.gorush",
            documentation: """
                The API of gorush, for programs that use it today; see Documentation/ComingFrom.md. It needs one app \
                or both.
                """,
            presence: Presence(key: "path", reload: .restart)),
        SettingBlock(
            "security",
            documentation: """
                Needed to bind intake and events to addresses other than loopback and ipc. CURVE never covers ipc: \
                everyone who can write to the socket's file can push to every app and see every event.
                """),
        SettingBlock("security.curve", documentation: "Default: none."),
        SettingBlock("security.clients", documentation: "The clients that may connect over TCP, and their rights."),
        SettingBlock("security.clients.*", presence: Presence(key: "public_key", reload: .live)),
        SettingBlock(
            "receipts",
            documentation: """
                Receipts and signed data of the App Store. The apps are those below, with their topics as bundle ids. \
                See Documentation/Receipts.md.
                """),
        SettingBlock(
            "receipts.verify",
            documentation: """
                Apple's servers that verify old receipts (verifyReceipt, which Apple has deprecated), or a simulator.
                """),
        SettingBlock(
            "apps",
            documentation: """
                An app is one credential at one push service: a bundle id in one environment, a Firebase project, or a VAPID key. \
                The key is the app id. A reload may \
                add and remove apps. [live]
                """),
        SettingBlock(
            "apps.*",
            presence: Presence(
                key: "topic", orPaths: [["credential", "service_account"], ["credential", "vapid"]], reload: .live)),
        SettingBlock("apps.*.credential", documentation: "The credential, in one of five forms. Required."),
        SettingBlock(
            "apps.*.gateway.connections",
            documentation: """
                The number of connections. `carillon scale shop --connections 2..8` changes it at run time.
                """),
        SettingBlock(
            "apps.*.gateway.feedback",
            documentation: """
                The feedback service, which reports devices that are gone. Only the binary protocol needs it.
                """),
        SettingBlock(
            "apps.*.endpoint",
            documentation: "A simulator or a private gateway. Default: the host of the push service."),
        SettingBlock(
            "apps.*.broadcast",
            documentation: "The hosts for broadcasts and for their channels."),
        SettingBlock("apps.*.quota", documentation: "The quota of the Firebase project."),
        SettingBlock(
            "apps.*.limits",
            documentation: "The limits of this app. Above them, intake answers `busy` to this app only."),
        SettingBlock("apps.*.receipts", documentation: "The app in the App Store."),
        SettingBlock(
            "families",
            documentation: """
                Names for several apps at once, such as those of one product on all platforms. A message to a family \
                goes to each of its members. See Documentation/Families.md. Default: none.
                """),
        SettingBlock(
            "webhooks",
            documentation: """
                Receivers of events over HTTP. Each gets every event of its prefixes at least once, in order, signed. See \
                Documentation/Webhooks.md. Default: none.
                """),
        SettingBlock("webhooks.*", presence: Presence(key: "url", reload: .live)),
    ]
}
