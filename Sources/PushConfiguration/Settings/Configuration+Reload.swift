import PushModel
import PushText

/// The time at which a changed setting takes effect in a running Carillon.
package enum Reload: Sendable, CaseIterable {
    case live, perConnection, restart

    package var words: String {
        switch self {
        case .live: "applies now"
        case .perConnection: "applies to new connections"
        case .restart: "needs a restart; until then the old value stays"
        }
    }

    /// The rule for each setting, with `*` for the names of apps and clients.
    package static let table: [String: Reload] = [
        "data": .restart,
        "intake.router": .restart, "intake.pull": .restart, "intake.expire_after": .live,
        "events.publish": .restart, "events.replay": .restart,
        "events.retention.size": .live, "events.retention.age": .live,
        "http.listen": .restart,
        "http.tls.certificate": .perConnection, "http.tls.key": .perConnection,
        "http.tls.password_file": .perConnection,
        "dedupe.window": .live, "dedupe.limit": .live,
        "security.insecure": .restart, "security.ipc_mode": .restart,
        "security.curve.secret_key_file": .restart,
        "security.clients.*.public_key": .live, "security.clients.*.push": .live, "security.clients.*.observe": .live,
        "apps.*.topic": .perConnection, "apps.*.environment": .restart,
        "apps.*.credential.key": .perConnection, "apps.*.credential.key_id": .perConnection,
        "apps.*.credential.team_id": .perConnection, "apps.*.credential.certificate": .perConnection,
        "apps.*.credential.password_file": .perConnection,
        "apps.*.gateway.protocol": .restart,
        "apps.*.gateway.connections.min": .live, "apps.*.gateway.connections.max": .live,
        "apps.*.gateway.connects_per_minute": .live,
        "apps.*.gateway.connect_timeout": .perConnection, "apps.*.gateway.answer_timeout": .perConnection,
        "apps.*.gateway.ping_after": .perConnection, "apps.*.gateway.ping_timeout": .perConnection,
        "apps.*.gateway.idle": .live,
        "apps.*.gateway.feedback.host": .live, "apps.*.gateway.feedback.port": .live,
        "apps.*.gateway.feedback.interval": .live,
        "apps.*.endpoint.host": .perConnection, "apps.*.endpoint.port": .perConnection,
        "apps.*.endpoint.trust": .perConnection,
        "apps.*.limits.waiting": .live, "apps.*.limits.scheduled": .live, "apps.*.limits.remembered": .live,
        "apps.*.broadcast.send": .perConnection, "apps.*.broadcast.manage": .perConnection,
        "log.level": .live, "log.format": .live,
    ]
}

/// A difference between two configurations.
package struct ConfigurationChange: Sendable, Equatable, CustomStringConvertible {
    package let path: String
    /// The old value; nil if the setting is new.
    package let was: String?
    /// The new value; nil if the setting was removed.
    package let now: String?
    package let reload: Reload

    package var description: String {
        switch (was, now) {
        case (let was?, let now?): "\(path): \(was) → \(now): \(reload.words)"
        case (nil, let now?): "\(path): added, \(now): \(reload.words)"
        case (let was?, nil): "\(path): removed, was \(was): \(reload.words)"
        case (nil, nil): path
        }
    }
}

extension Configuration {
    /// Returns the changes that a reload to `new` would make, in the order of the file's sections. If there are none,
    /// the configurations are equal.
    package func changes(to new: Configuration) -> [ConfigurationChange] {
        let (old, next) = (settings, new.settings)
        let (was, now) = (Self.byPath(old), Self.byPath(next))
        var changes: [ConfigurationChange] = []
        var told: Set<[String]> = []
        let replaced = replaced(by: new)
        for setting in next + old where told.insert(setting.path).inserted {
            let (before, after) = (was[setting.path], now[setting.path])
            if before == after { continue }
            // An app or client that is added or removed is a single change, and so is TLS.
            if let whole = setting.whole(old: was, new: now) {
                guard told.insert(whole.path).inserted else { continue }
                changes.append(whole.change)
                continue
            }
            changes.append(
                ConfigurationChange(
                    path: setting.path.joined(separator: "."), was: before, now: after,
                    reload: setting.isApp(among: replaced) ? .restart : setting.reload))
        }
        return changes
    }

    /// Returns the configuration in force after a reload to `new`: settings that need a restart keep their old values.
    package func reloaded(to new: Configuration) -> Configuration {
        var result = new
        result.data = data
        result.intake = intake
        result.intake.expireAfter = new.intake.expireAfter
        result.events.publish = events.publish
        result.events.replay = events.replay
        result.http.listen = http.listen
        if (http.tls == nil) != (new.http.tls == nil) { result.http.tls = http.tls }
        result.security.curve = security.curve
        result.security.insecure = security.insecure
        result.security.ipcMode = security.ipcMode
        let (known, replaced) = (appsByID, replaced(by: new))
        result.apps = new.apps.map { replaced.contains($0.id.name) ? known[$0.id] ?? $0 : $0 }
        return result
    }

    /// Returns the names of the apps with a new environment or protocol, which need a restart. Their other settings
    /// stay unchanged as well, because credential and endpoint depend on environment and protocol.
    private func replaced(by new: Configuration) -> Set<String> {
        let known = appsByID
        return Set(
            new.apps.filter { app in
                guard let old = known[app.id] else { return false }
                return old.environment != app.environment || old.gateway.wireProtocol != app.gateway.wireProtocol
            }.map(\.id.name))
    }

    private var appsByID: [AppID: App] {
        Dictionary(apps.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    private static func byPath(_ settings: [Setting]) -> [[String]: String] {
        Dictionary(settings.map { ($0.path, $0.value) }, uniquingKeysWith: { first, _ in first })
    }
}

extension Configuration {
    /// A setting with its value as text.
    package struct Setting: Sendable, Equatable {
        package let path: [String]
        package let value: String

        package var pattern: String {
            var parts = path
            if parts.count > 1, parts[0] == "apps" { parts[1] = "*" }
            if parts.count > 2, parts[0] == "security", parts[1] == "clients" { parts[2] = "*" }
            return parts.joined(separator: ".")
        }

        fileprivate var reload: Reload { Reload.table[pattern] ?? .restart }

        fileprivate func isApp(among names: Set<String>) -> Bool {
            path[0] == "apps" && names.contains(path[1])
        }

        fileprivate func whole(
            old: [[String]: String], new: [[String]: String]
        ) -> (path: [String], change: ConfigurationChange)? {
            let (depth, key, reload): (Int, String, Reload)
            switch (path[0], path.count > 1 ? path[1] : "") {
            case ("apps", _): (depth, key, reload) = (2, "topic", .live)
            case ("security", "clients"): (depth, key, reload) = (3, "public_key", .live)
            case ("http", "tls"): (depth, key, reload) = (2, "certificate", .restart)
            default: return nil
            }
            let prefix = Array(path.prefix(depth))
            let (was, now) = (old[prefix + [key]], new[prefix + [key]])
            guard (was == nil) != (now == nil) else { return nil }
            let change = ConfigurationChange(path: prefix.joined(separator: "."), was: was, now: now, reload: reload)
            return (prefix, change)
        }
    }

    /// All settings as text. None of them is secret; secrets are in the files that they name.
    package var settings: [Setting] {
        var list: [Setting] = []
        func add(_ path: String..., value: String?) {
            if let value { list.append(Setting(path: path, value: value)) }
        }
        add("data", value: data)
        add("intake", "router", value: "\(intake.router)")
        add("intake", "pull", value: "\(intake.pull)")
        add("intake", "expire_after", value: DurationText.write(intake.expireAfter))
        add("events", "publish", value: "\(events.publish)")
        add("events", "replay", value: "\(events.replay)")
        add("events", "retention", "size", value: "\(events.retention.size)")
        add("events", "retention", "age", value: DurationText.write(events.retention.age))
        add("http", "listen", value: http.listen.map { "\($0)" } ?? "off")
        add("http", "tls", "certificate", value: http.tls?.certificate)
        add("http", "tls", "key", value: http.tls?.key)
        add("http", "tls", "password_file", value: http.tls?.passwordFile)
        add("dedupe", "window", value: DurationText.write(dedupe.window))
        add("dedupe", "limit", value: "\(dedupe.limit)")
        add("security", "insecure", value: "\(security.insecure)")
        add("security", "ipc_mode", value: security.ipcMode.rawValue)
        add("security", "curve", "secret_key_file", value: security.curve?.secretKeyFile)
        for client in security.clients {
            add("security", "clients", client.name, "public_key", value: client.publicKey.z85)
            add("security", "clients", client.name, "push", value: client.push.map(\.name).joined(separator: ","))
            add("security", "clients", client.name, "observe", value: "\(client.observe)")
        }
        for app in apps {
            for (path, value) in app.settings {
                list.append(Setting(path: ["apps", app.id.name] + path, value: value))
            }
        }
        add("log", "level", value: log.level.name)
        add("log", "format", value: log.format.rawValue)
        return list
    }
}

extension Configuration.App {
    fileprivate var settings: [([String], String)] {
        var list = [(["topic"], topic), (["environment"], environment.rawValue)]
        let parts: [(String, String?)] =
            switch credential {
            case .token(let key, let keyID, let teamID): [("key", key), ("key_id", keyID), ("team_id", teamID)]
            case .bundle(let certificate, let password): [("certificate", certificate), ("password_file", password)]
            case .certificate(let certificate, let key, let password):
                [("certificate", certificate), ("key", key), ("password_file", password)]
            }
        for (key, value) in parts {
            if let value { list.append((["credential", key], value)) }
        }
        let times = [
            ("connect_timeout", gateway.connectTimeout), ("answer_timeout", gateway.answerTimeout),
            ("ping_after", gateway.pingAfter), ("ping_timeout", gateway.pingTimeout), ("idle", gateway.idle),
        ]
        list += [
            (["gateway", "protocol"], gateway.wireProtocol.rawValue),
            (["gateway", "connections", "min"], "\(gateway.connections.lowerBound)"),
            (["gateway", "connections", "max"], "\(gateway.connections.upperBound)"),
            (["gateway", "connects_per_minute"], "\(gateway.connectsPerMinute)"),
        ]
        list += times.map { (["gateway", $0], DurationText.write($1)) }
        if let feedback = gateway.feedback {
            list += [
                (["gateway", "feedback", "host"], feedback.host),
                (["gateway", "feedback", "port"], "\(feedback.port)"),
                (["gateway", "feedback", "interval"], DurationText.write(feedback.interval)),
            ]
        }
        return list + [
            (["endpoint", "host"], endpoint.host), (["endpoint", "port"], "\(endpoint.port)"),
            (["endpoint", "trust"], "\(endpoint.trust)"),
            (["broadcast", "send"], "\(broadcast.send)"), (["broadcast", "manage"], "\(broadcast.manage)"),
            (["limits", "waiting"], "\(limits.waiting)"), (["limits", "scheduled"], "\(limits.scheduled)"),
            (["limits", "remembered"], "\(limits.remembered)"),
        ]
    }
}
