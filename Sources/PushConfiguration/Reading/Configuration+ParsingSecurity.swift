import PushModel
import PushText
import PushTransport

extension Configuration {
    /// Reads `security`. Apps and sockets have to be read before, because clients name apps, and because sockets that
    /// other machines can reach need CURVE.
    mutating func readSecurity(_ root: ConfigurationSection) {
        let section = root.section("security")
        security.insecure = section.boolean("insecure") ?? false
        security.ipcMode = section.choice("ipc_mode", of: Security.IPCMode.self) ?? security.ipcMode
        let curve = section.section("curve")
        if let file = curve.path("secret_key_file") {
            security.curve = Security.Curve(secretKeyFile: file)
        } else if curve.isGiven, !curve.has("secret_key_file") {
            curve.fault(nil, "secret_key_file is missing; `carillon keys curve` makes one")
        }
        let clients = section.named("clients")
        security.clients = clients.compactMap { readClient($0.name, $0.section, apps: root.section("apps").names) }
        refuseSharedKeys(clients)

        if security.curve == nil, !curve.isGiven {
            if let (name, client) = clients.first {
                client.fault(nil, "client \(name) cannot be identified without security.curve.secret_key_file")
            }
            if !security.insecure { refuseOpenBinds(root) }
        } else if security.insecure {
            section.warn("insecure", "this has no effect together with security.curve; leave it out")
        } else if clients.isEmpty {
            curve.warn(nil, "there are no security.clients, so no client can connect over TCP")
        }
        if security.curve != nil { warnOfKeylessBinds(root) }
    }

    private var binds: [(section: String, key: String, bind: Bind)] {
        [
            ("intake", "router", intake.router), ("intake", "pull", intake.pull),
            ("events", "publish", events.publish), ("events", "replay", events.replay),
        ]
    }

    private func warnOfKeylessBinds(_ root: ConfigurationSection) {
        for (section, key, bind) in binds {
            guard case .ipc = bind else { continue }
            root.section(section).warn(
                key,
                "security.curve does not cover ipc: a process that may write to this file (security.ipc_mode, "
                    + "\(security.ipcMode.rawValue)) has all rights without a key")
        }
    }

    private func refuseOpenBinds(_ root: ConfigurationSection) {
        for (section, key, bind) in binds where !bind.isLocal {
            root.section(section).fault(
                key,
                "other machines can reach \(bind) without a key: set security.curve.secret_key_file "
                    + "(`carillon keys curve`), bind 127.0.0.1 or ipc, or set security.insecure: true")
        }
    }

    private func readClient(_ name: String, _ section: ConfigurationSection, apps known: [String]) -> Security.Client? {
        if AppID(name) == nil {
            section.fault(nil, "\"\(name)\" is not a client name: 1 to 64 letters, digits, '.', '_' and '-'")
        }
        let (key, push, observe) = (section.text("public_key"), section.texts("push"), section.boolean("observe"))
        var publicKey: CurvePublicKey?
        if let key {
            publicKey = try? CurvePublicKey(z85: key)
            if publicKey == nil {
                section.fault(
                    "public_key", "this is not a public key: 40 characters of Z85, from `carillon keys curve`")
            }
        } else if !section.has("public_key") {
            section.fault(nil, "public_key is missing: 40 characters of Z85, from `carillon keys curve`")
        }
        for app in push ?? [] where !known.contains(app) {
            let hint = NearestWord.to(app, in: known).map { "did you mean \"\($0)\"?" }
            let list = known.isEmpty ? "there are none" : "there are \(known.joined(separator: ", "))"
            section.fault("push", "there is no app \"\(app)\"; \(hint ?? list)")
        }
        if (push ?? []).isEmpty, observe != true, push != nil || !section.has("push") {
            section.warn(nil, "this client has no rights; add push: [\"app\"] or observe: true")
        }
        guard let publicKey else { return nil }
        return Security.Client(
            name: name, publicKey: publicKey, push: (push ?? []).compactMap { AppID($0) }, observe: observe ?? false)
    }

    private func refuseSharedKeys(_ sections: [(name: String, section: ConfigurationSection)]) {
        for (index, client) in security.clients.enumerated() {
            guard let other = security.clients[..<index].first(where: { $0.publicKey == client.publicKey }) else {
                continue
            }
            sections.first { $0.name == client.name }?.section.fault(
                "public_key", "this is also the key of client \(other.name); each needs its own")
        }
    }
}
