import PushModel
import PushText

/// The rules of `security`. Apps and sockets are read before, because clients name apps, and because sockets that other
/// machines can reach need CURVE.
extension ConfigurationDraft {
    typealias NamedSection = (name: String, section: ConfigurationSection)

    mutating func readClients(_ sections: [NamedSection], in root: ConfigurationSection) {
        let apps = root.section("apps").names
        values.security.clients = sections.compactMap { name, section in
            ClientDraft.settings.read(from: section, into: ClientDraft()).client(name, in: section, apps: apps)
        }
        for (index, client) in values.security.clients.enumerated() {
            let others = values.security.clients[..<index]
            guard let other = others.first(where: { $0.publicKey == client.publicKey }) else { continue }
            sections.first { $0.name == client.name }?.section.report(
                "this is also the key of client \(other.name); each needs its own", at: "public_key")
        }
    }

    /// Reports faults and doubtful settings of clients, sockets and CURVE together.
    func checkSecurity(clients: [NamedSection], in root: ConfigurationSection) {
        let section = root.section("security")
        let curve = section.section("curve")
        if curveKeyFile == nil, !curve.isGiven {
            if let (name, client) = clients.first {
                client.report("client \(name) cannot be identified without security.curve.secret_key_file")
            }
            if !values.security.insecure { rejectOpenBinds(in: root) }
        } else if values.security.insecure {
            section.warn("this has no effect together with security.curve; leave it out", at: "insecure")
        } else if clients.isEmpty {
            curve.warn("there are no security.clients, so no client can connect over TCP")
        }
        if curveKeyFile != nil { warnOfKeylessBinds(in: root) }
    }

    private var binds: [(section: String, key: String, bind: Bind)] {
        [
            ("intake", "router", values.intake.router), ("intake", "pull", values.intake.pull),
            ("events", "publish", values.events.publish), ("events", "replay", values.events.replay),
        ]
    }

    private func warnOfKeylessBinds(in root: ConfigurationSection) {
        for (section, key, bind) in binds {
            guard case .ipc = bind else { continue }
            root.section(section).warn(
                "security.curve does not cover ipc: a process that may write to this file (security.ipc_mode, "
                    + "\(values.security.ipcMode.rawValue)) has all rights without a key", at: key)
        }
    }

    private func rejectOpenBinds(in root: ConfigurationSection) {
        for (section, key, bind) in binds where !bind.isLocal {
            root.section(section).report(
                "other machines can reach \(bind) without a key: set security.curve.secret_key_file "
                    + "(`carillon keys curve`), bind 127.0.0.1 or ipc, or set security.insecure: true", at: key)
        }
    }
}

extension ClientDraft {
    /// Returns the client, or nil if its key is absent or wrong.
    ///
    /// - Parameter apps: The names of all apps.
    fileprivate func client(
        _ name: String, in section: ConfigurationSection, apps: [String]
    ) -> Configuration.Security.Client? {
        if AppID(name) == nil {
            section.report("\"\(name)\" is not a client name: 1 to 64 letters, digits, '.', '_' and '-'")
        }
        let push = push ?? []
        for (index, app) in push.enumerated() where !apps.contains(app) {
            let hint = NearestWord.to(app, in: apps).map { "did you mean \"\($0)\"?" }
            let list = apps.isEmpty ? "there are none" : "there are \(apps.joined(separator: ", "))"
            section.report("there is no app \"\(app)\"; \(hint ?? list)", at: "push", element: index)
        }
        let isPushWrong = self.push == nil && section.has("push")
        if push.isEmpty, observe != true, !isPushWrong {
            section.warn("this client has no rights; add push: [\"app\"] or observe: true")
        }
        guard let publicKey else { return nil }
        return Configuration.Security.Client(
            name: name, publicKey: publicKey, push: push.compactMap { AppID($0) }, observe: observe ?? false)
    }
}
