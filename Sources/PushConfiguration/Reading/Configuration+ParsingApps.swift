import PushModel
import PushPipeline
import PushTransport

extension Configuration {
    mutating func readApps(_ root: ConfigurationSection) {
        let sections = root.named("apps")
        if sections.isEmpty {
            root.fault(nil, "there is no app; add one: apps: { shop: { topic: …, environment: …, credential: … } }")
        }
        apps = sections.compactMap { name, section in Self.readApp(name, section) }
        var topics: [[String]: App] = [:]
        for app in apps {
            let place = [app.topic, app.environment.rawValue]
            guard let other = topics[place] else {
                topics[place] = app
                continue
            }
            sections.first { $0.name == app.id.name }?.section.fault(
                "topic",
                "app \(other.id) has \(app.topic) in \(app.environment.rawValue) already; send both through one app")
        }
    }

    /// Returns the app, or nil if a required part is absent or wrong. All faults of the app are reported in any case.
    private static func readApp(_ name: String, _ section: ConfigurationSection) -> App? {
        let id = AppID(name)
        if id == nil {
            section.fault(nil, "\"\(name)\" is not an app id: 1 to 64 letters, digits, '.', '_' and '-'")
        }
        let topic = readTopic(section)
        let environment = readEnvironment(section)
        let credential = readCredential(section.section("credential"))
        var gateway = readGateway(section.section("gateway"))
        let endpoint = readEndpoint(section.section("endpoint"), environment, gateway.wireProtocol)
        if gateway.wireProtocol == .binary {
            refuseBinary(section, credential, endpoint)
        }
        let feedback = section.section("gateway").section("feedback")
        gateway.feedback = readFeedback(feedback, gateway.wireProtocol, endpoint)
        let apple = environment ?? .production
        let place = endpoint ?? apple.endpoint
        let broadcast = readBroadcast(section.section("broadcast"), place, apple)
        let limits = readLimits(section.section("limits"))
        guard let id, let topic, let environment, let credential, let endpoint else { return nil }
        return App(
            id: id, topic: topic, environment: environment, credential: credential, gateway: gateway,
            endpoint: endpoint, broadcast: broadcast, limits: limits)
    }

    private static func readLimits(_ section: ConfigurationSection) -> AppLimits {
        var limits = AppLimits()
        limits.waiting = section.integer("waiting", in: 1...4_000_000) ?? limits.waiting
        limits.scheduled = section.integer("scheduled", in: 0...100_000_000) ?? limits.scheduled
        limits.remembered = section.integer("remembered", in: 1...10_000_000_000) ?? limits.remembered
        return limits
    }

    private static func readTopic(_ section: ConfigurationSection) -> String? {
        guard let topic = section.text("topic") else {
            if !section.has("topic") {
                section.fault(nil, "topic is missing: the app's bundle id, \"com.example.shop\"")
            }
            return nil
        }
        let isBundleID = topic.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isBundleID, topic.utf8.count <= 155 else {
            section.fault("topic", "\"\(topic)\" is not a bundle id: up to 155 letters, digits, '.', '-' and '_'")
            return nil
        }
        if topic.contains(".push-type.") {
            section.warn("topic", "write the bundle id alone; the push type of a message adds the suffix")
        }
        return topic
    }

    private static func readEnvironment(_ section: ConfigurationSection) -> PushEnvironment? {
        let environment = section.choice("environment", of: PushEnvironment.self)
        if environment == nil, !section.has("environment") {
            section.fault(nil, "environment is missing: \"production\", or \"sandbox\" for builds from Xcode")
        }
        return environment
    }

    // MARK: Credential

    private static func readCredential(_ section: ConfigurationSection) -> Credential? {
        let (key, keyID, teamID) = (section.path("key"), section.text("key_id"), section.text("team_id"))
        let (certificate, password) = (section.path("certificate"), section.path("password_file"))
        if section.has("certificate") {
            for extra in ["key_id", "team_id"] where section.has(extra) {
                section.fault(extra, "this belongs to a .p8 key, not to a certificate; keep one of the two forms")
            }
            guard let certificate else { return nil }
            if let key { return .certificate(certificate: certificate, key: key, passwordFile: password) }
            return section.has("key") ? nil : .bundle(certificate: certificate, passwordFile: password)
        }
        guard section.has("key") || section.has("key_id") || section.has("team_id") else {
            section.fault(
                nil,
                "a credential is missing: { key: \"AuthKey_….p8\", key_id, team_id }, { certificate: \"push.p12\", "
                    + "password_file } or { certificate: \"cert.pem\", key: \"key.pem\" }")
            return nil
        }
        if section.has("password_file") {
            section.fault("password_file", "a .p8 key has no password; leave out this key")
        }
        let wanted = [
            ("key", "the .p8 file"), ("key_id", "shown with the key"), ("team_id", "shown with the membership"),
        ]
        for (name, about) in wanted where !section.has(name) {
            section.fault(nil, "\(name) is missing: \(about) in Apple's developer account")
        }
        for (name, value) in [("key_id", keyID), ("team_id", teamID)] {
            guard let value, !isAppleID(value) else { continue }
            section.fault(name, "\"\(value)\" is not an id from Apple: 10 capital letters and digits")
        }
        guard let key, let keyID, let teamID else { return nil }
        if let named = idInName(of: key), named != keyID {
            section.warn("key_id", "the key id in the name of the key file is \(named), but this is \(keyID)")
        }
        return .token(key: key, keyID: keyID, teamID: teamID)
    }

    private static func isAppleID(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || (48...57).contains($0)
            }
    }

    /// Returns the key id from the name of the key file, which Apple calls `AuthKey_ID.p8`.
    private static func idInName(of path: String) -> String? {
        let name = path.split(separator: "/").last ?? ""
        guard name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") else { return nil }
        let id = String(name.dropFirst(8).dropLast(3))
        return isAppleID(id) ? id : nil
    }

    // MARK: Endpoint

    private static func readEndpoint(
        _ section: ConfigurationSection, _ environment: PushEnvironment?, _ wireProtocol: Gateway.WireProtocol
    ) -> Endpoint? {
        let (host, port, trust) = (section.text("host"), section.port("port"), section.text("trust"))
        guard let host else {
            if section.has("host") { return nil }
            if section.isGiven { section.fault(nil, "host is missing; leave out endpoint to use Apple's") }
            return environment?.endpoint
        }
        guard isHost(host) else {
            section.fault("host", "\"\(host)\" is not a host: a name or an IP address, without scheme and port")
            return nil
        }
        var endpoint = Endpoint(host: host, port: port ?? (wireProtocol == .binary ? 2195 : 443))
        if trust == "system" {
            endpoint.trust = .system
        } else if let file = trust == nil ? nil : section.path("trust") {
            endpoint.trust = .file(file)
        } else if !endpoint.isApple, !section.has("trust") {
            section.fault(
                nil,
                "trust is missing: a PEM file with the CA certificate for \(host), or \"system\" for a public CA")
        }
        if endpoint.isApple, let environment {
            refuseWrongApple(section, endpoint, environment)
        }
        return endpoint
    }

    private static func refuseWrongApple(
        _ section: ConfigurationSection, _ endpoint: Endpoint, _ environment: PushEnvironment
    ) {
        let host = endpoint.host.lowercased()
        if !environment.hosts.contains(host) {
            let other = PushEnvironment.allCases.first { $0.hosts.contains(host) }
            let what = other.map { "the host of \($0.rawValue)" } ?? "not a host for pushes to devices"
            section.fault(
                "host", "\(endpoint.host) is \(what); the host of \(environment.rawValue) is \(environment.hosts[0])")
        }
        if endpoint.port != 443, endpoint.port != 2197 {
            section.fault("port", "Apple serves the ports 443 and 2197, not \(endpoint.port)")
        }
    }

    private static func isHost(_ text: String) -> Bool {
        if SocketAddress(ip: text, port: 0) != nil { return true }
        return text.utf8.count <= 253
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    private static func readBroadcast(
        _ section: ConfigurationSection, _ endpoint: Endpoint, _ environment: PushEnvironment
    ) -> Broadcast {
        let device = HostPort(host: endpoint.host, port: endpoint.port)
        return Broadcast(
            send: section.hostPort("send") ?? device,
            manage: section.hostPort("manage") ?? (endpoint.isApple ? environment.broadcastManagement : device))
    }
}
