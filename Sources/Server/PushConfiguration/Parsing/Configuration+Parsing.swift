package import JSON5
import PushModel
import PushTransport

extension Configuration {
    /// The result of parsing: the configuration and its warnings.
    package struct Parsed: Sendable {
        package let configuration: Configuration
        package let warnings: [ConfigurationFault]
    }

    /// Parses a whole configuration.
    ///
    /// - Parameters:
    ///   - file: the path of the file, for messages, and because paths in the file are relative to it.
    ///   - environment: the variables of the process; ``ConfigurationReader`` describes how they map to settings.
    ///   - flags: the settings from the command line by path, such as `["data": "/var/lib/carillon"]`.
    /// - Throws: an error with all faults.
    package static func parse(
        _ text: [UInt8], file: String, environment: [String: String] = [:], flags: [String: String] = [:]
    ) throws(ConfigurationError) -> Parsed {
        let reader = ConfigurationReader(file: file, environment: environment, flags: flags)
        let root = reader.root(try tree(text, file: file))
        var defaults = Configuration()
        defaults.data = FilePath.resolve(defaults.data, besideFile: file)
        var draft = ConfigurationDraft.settings.read(from: root, into: ConfigurationDraft(defaults))
        draft.rejectSharedEndpoints(in: root)
        draft.checkCluster(in: root)
        draft.checkOpenHTTP(in: root.section("http"))
        draft.readApps(in: root)
        draft.readFamilies(in: root)
        draft.readWebhooks(in: root)
        draft.checkLegacyRegistration(in: root.section("http").section("legacy_registration"))
        draft.checkGorush(in: root.section("doors").section("gorush"))
        let clients = root.section("security").named("clients")
        draft.readClients(clients, in: root)
        draft.checkSecurity(clients: clients, in: root)
        reader.finish(known: Configuration.settingPaths)
        guard reader.faults.isEmpty else { throw ConfigurationError(faults: reader.faults) }
        return Parsed(configuration: draft.configuration, warnings: reader.warnings)
    }

    package static func tree(_ text: [UInt8], file: String) throws(ConfigurationError) -> JSONTree {
        do {
            return try JSON5Reader.read(text)
        } catch {
            let origin = SettingOrigin.file(file, JSONTree.Place(line: error.line, column: error.column))
            throw ConfigurationError(faults: [
                ConfigurationFault(origin: origin, path: "", problem: "this is not JSON5: \(error.problem)")
            ])
        }
    }
}

extension ConfigurationDraft {
    fileprivate func rejectSharedEndpoints(in root: ConfigurationSection) {
        let (intake, events, http) = (root.section("intake"), root.section("events"), root.section("http"))
        let binds: [(section: ConfigurationSection, key: String, bind: Bind)] = [
            (intake, "router", values.intake.router), (intake, "pull", values.intake.pull),
            (events, "publish", values.events.publish), (events, "replay", values.events.replay),
            (http, "listen", values.http.listen.map { .tcp($0) } ?? .off),
        ]
        for (index, this) in binds.enumerated() {
            guard let other = binds[..<index].first(where: { $0.bind.excludes(this.bind) }) else { continue }
            // The fault is reported for a setting that the user wrote, not for a default.
            let (wrong, right) = this.section.has(this.key) ? (this, other) : (other, this)
            let path = right.section.dotted(right.key)
            wrong.section.report(
                wrong.bind == right.bind
                    ? "\(wrong.bind) is also the endpoint of \(path); each needs its own"
                    : "\(wrong.bind) conflicts with the endpoint of \(path), \(right.bind); change one of them",
                at: wrong.key)
        }
    }

    /// Rejects a port that other machines can reach without TLS, unless the configuration says so.
    fileprivate func checkOpenHTTP(in section: ConfigurationSection) {
        guard !values.http.insecure, let listen = values.http.listen, !section.section("tls").isGiven,
            !Bind.tcp(listen).isLocal, listen.host != "localhost"
        else { return }
        section.report(
            "other machines can reach \(listen), and without http.tls nothing is encrypted: set http.tls, listen on "
                + "127.0.0.1, or set http.insecure: true", at: "listen")
    }

    fileprivate func checkLegacyRegistration(in section: ConfigurationSection) {
        if let app = legacy.app, !values.apps.contains(where: { $0.id.name == app }) {
            section.report("there is no app \"\(app)\"; name one of apps", at: "app")
        }
        if let path = legacy.path, !Self.isUsable(path) { section.report(Self.unusablePath, at: "path") }
    }

    private static let unusablePath =
        "the path is not usable: it begins with / and consists of letters, digits, '.', '_' and '-' between slashes, at "
        + "most 200 bytes; paths below /v1 are taken"

    /// Whether an endpoint can have the path.
    private static func isUsable(_ path: String) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let isPlain = parts.dropFirst().allSatisfy { part in
            !part.isEmpty && part.utf8.contains { $0 != UInt8(ascii: ".") }
                && part.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
                        UInt8(ascii: "-"):
                        true
                    default: false
                    }
                }
        }
        return parts.count > 1 && parts[0].isEmpty && isPlain && parts[1] != "v1" && path.utf8.count <= 200
    }

    fileprivate func checkGorush(in section: ConfigurationSection) {
        guard section.isGiven else { return }
        let apps = section.section("apps")
        if gorush.ios == nil, gorush.android == nil {
            section.report("apps is missing: name the app of ios, of android, or both, such as apps: { ios: \"shop\" }")
        }
        check(gorush.ios, at: "ios", in: apps, isRight: { $0.apns != nil }, service: "Apple's service")
        check(gorush.android, at: "android", in: apps, isRight: { $0.serviceName == "fcm" }, service: "FCM")
        if let path = gorush.path, !Self.isUsable(path) { section.report(Self.unusablePath, at: "path") }
        let path = gorush.path ?? Configuration.Doors.Gorush.defaultPath
        if legacy.app != nil, path == legacy.path ?? Configuration.HTTP.LegacyRegistration.defaultPath {
            section.report("the path is also that of http.legacy_registration; each needs its own", at: "path")
        }
        if let dedupe = gorush.dedupe, dedupe > values.dedupe.window {
            section.report("it is longer than dedupe.window, after which ids are forgotten", at: "dedupe")
        }
    }

    private func check(
        _ name: String?, at key: String, in section: ConfigurationSection, isRight: (Configuration.App) -> Bool,
        service: String
    ) {
        guard let name else { return }
        guard let app = values.apps.first(where: { $0.id.name == name }) else {
            return section.report("there is no app \"\(name)\"; name one of apps", at: key)
        }
        if !isRight(app) {
            section.report("the app \"\(name)\" is not one of \(service); name one that is", at: key)
        }
    }

    fileprivate mutating func readApps(in root: ConfigurationSection) {
        let sections = root.named("apps")
        if sections.isEmpty {
            // An empty object is intended: a new installation starts before its first app exists. A file without
            // `apps` may be the wrong file.
            let advice = "add one: apps: { shop: { topic: …, environment: …, credential: … } }"
            if root.section("apps", holdsNames: true).isGiven {
                root.warn("there is no app, so nothing can be sent; \(advice), and reload", at: "apps")
            } else {
                root.report("there is no app; \(advice); apps: {} starts without one")
            }
        }
        values.apps = sections.compactMap { name, section in
            AppDraft.settings.read(from: section, into: AppDraft()).app(name, in: section)
        }
        var apps: [[String]: Configuration.App] = [:]
        for app in values.apps {
            let identity = app.identity.map(\.value)
            guard let other = apps[identity] else {
                apps[identity] = app
                continue
            }
            sections.first { $0.name == app.id.name }?.section.report(
                "app \(other.id) has \(identity.joined(separator: " in ")) already; send both through one app",
                at: app.identity[0].name)
        }
    }
}
