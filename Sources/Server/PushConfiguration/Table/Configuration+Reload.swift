import PushModel

extension Configuration {
    /// Returns the changes that a reload to `new` would make, in the order of the file's sections. If there are none,
    /// the configurations are equal.
    package func changes(to new: Configuration) -> [ConfigurationChange] {
        let (old, next) = (settings, new.settings)
        let (was, now) = (Self.byPath(old), Self.byPath(next))
        var changes: [ConfigurationChange] = []
        var reported: Set<[String]> = []
        let replaced = replaced(by: new)
        for setting in next + old where reported.insert(setting.path).inserted {
            let (before, after) = (was[setting.path], now[setting.path])
            if before == after { continue }
            if let (path, presence) = setting.block {
                let (before, after) = (presence.text(at: path, in: was), presence.text(at: path, in: now))
                if (before == nil) != (after == nil) {
                    guard reported.insert(path).inserted else { continue }
                    changes.append(
                        ConfigurationChange(
                            path: path.joined(separator: "."), was: before, now: after, reload: presence.reload))
                    continue
                }
            }
            changes.append(
                ConfigurationChange(
                    path: setting.path.joined(separator: "."), was: before, now: after,
                    reload: setting.isOfApp(in: replaced) ? .restart : setting.reload))
        }
        return changes
    }

    /// Returns the configuration in force after a reload to `new`: settings that need a restart keep their old values.
    package func reloaded(to new: Configuration) -> Configuration {
        let old = ConfigurationDraft(self)
        var draft = ConfigurationDraft(new)
        for setting in ConfigurationDraft.settings where setting.reload == .restart {
            setting.copy(from: old, to: &draft)
        }
        var result = draft.configuration
        // To add or remove TLS needs a restart, although its settings do not.
        if (http.tls == nil) != (new.http.tls == nil) { result.http.tls = http.tls }
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
                guard let old = known[app.id].map({ AppDraft($0) }) else { return false }
                let draft = AppDraft(app)
                return AppDraft.settings.contains { $0.reload == .restart && !$0.isEqual(old, draft) }
            }.map(\.id.name))
    }

    private var appsByID: [AppID: App] {
        Dictionary(apps.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    private static func byPath(_ settings: [SettingText]) -> [[String]: String] {
        Dictionary(settings.map { ($0.path, $0.value) }, uniquingKeysWith: { first, _ in first })
    }
}

extension Configuration.App {
    /// Returns whether the connections of `other` would be the same. Settings that apply at once do not matter.
    package func connects(like other: Configuration.App) -> Bool {
        let (draft, otherDraft) = (AppDraft(self), AppDraft(other))
        return id == other.id
            && AppDraft.settings.allSatisfy { setting in
                setting.reload == .live || setting.isEqual(draft, otherDraft)
            }
    }
}

extension SettingText {
    fileprivate func isOfApp(in names: Set<String>) -> Bool {
        path.count > 1 && path[0] == "apps" && names.contains(path[1])
    }

    /// The object around this setting that is added or removed as a whole: an app, a client or `http.tls`.
    fileprivate var block: (path: [String], presence: SettingBlock.Presence)? {
        for block in SettingBlock.all {
            let prefix = path.prefix(block.path.count)
            if let presence = block.presence, block.matches(prefix) { return (Array(prefix), presence) }
        }
        return nil
    }
}
