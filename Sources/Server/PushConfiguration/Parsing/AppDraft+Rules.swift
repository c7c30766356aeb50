import APNs
import PushGateways
import PushModel
import PushPipeline
import PushTransport

/// The rules that combine several settings of an app.
extension AppDraft {
    /// Returns the app, or nil if a required part is absent or wrong. All faults are reported in any case.
    func app(_ name: String, in section: ConfigurationSection) -> Configuration.App? {
        let id = AppID(name)
        if id == nil {
            section.report("\"\(name)\" is not an app id: 1 to 64 letters, digits, '.', '_' and '-'")
        }
        var gateway = gateway
        gateway.connections = connections.range(in: section.section("gateway").section("connections"))
        let given: (service: ServiceSettings, endpoint: Configuration.Endpoint)?
        switch service {
        case .apns:
            reject(Self.onlyFCM, of: "fcm", in: section)
            reject(Self.onlyWebPush, of: "webpush", in: section)
            given = apns(in: section)
        case .fcm:
            reject(Self.onlyAPNs, of: "apns", in: section)
            reject(Self.onlyWebPush, of: "webpush", in: section)
            given = fcm(in: section)
        case .webpush:
            reject(Self.onlyAPNs, of: "apns", in: section)
            reject(Self.onlyFCM, of: "fcm", in: section)
            given = webPush(in: section)
        }
        guard let parts = given, let id else { return nil }
        var app = Configuration.App(
            id: id, service: parts.service, gateway: gateway, endpoint: parts.endpoint, limits: limits)
        app.timeZone = timeZone
        return app
    }

    // MARK: APNs

    /// Returns the settings of an app at APNs with its endpoint.
    private func apns(
        in section: ConfigurationSection
    ) -> (service: ServiceSettings, endpoint: Configuration.Endpoint)? {
        if !section.has("topic") { section.report("topic is missing: the app's bundle id, \"com.example.shop\"") }
        if !section.has("environment") {
            section.report("environment is missing: \"production\", or \"sandbox\" for builds from Xcode")
        }
        let credential = credential.credential(in: section.section("credential"))
        let endpoint = completeEndpoint(in: section.section("endpoint"))
        if wireProtocol == .binary {
            rejectBinary(with: credential, to: endpoint, in: section.section("gateway"))
        }
        let feedback = completeFeedback(endpoint: endpoint, in: section.section("gateway").section("feedback"))
        guard let topic, let environment, let credential, let endpoint else { return nil }
        var apns = APNsSettings(
            topic: topic, environment: environment, credential: credential,
            broadcast: completeBroadcast(endpoint: endpoint.address, environment: environment))
        apns.wireProtocol = wireProtocol
        apns.feedback = feedback
        apns.appAppleID = appAppleID
        return (.apns(apns), endpoint)
    }

    // MARK: Gateway

    private func rejectBinary(
        with credential: CredentialFiles?, to endpoint: Configuration.Endpoint?,
        in section: ConfigurationSection
    ) {
        if case .key = credential {
            section.report(
                "the binary protocol does not support provider tokens; it needs a credential with a certificate",
                at: "protocol")
        }
        if let endpoint, PushEnvironment.isHostOfApple(endpoint.host) {
            section.report(
                "Apple ended the binary protocol on 31 March 2021; it needs an endpoint: a simulator or a private gateway",
                at: "protocol")
        }
    }

    private func completeFeedback(
        endpoint: Configuration.Endpoint?, in section: ConfigurationSection
    ) -> FeedbackSettings? {
        guard wireProtocol == .binary else {
            if section.isGiven {
                section.report(
                    "only the binary protocol has a feedback service; over HTTP/2 the responses report dead tokens")
            }
            return nil
        }
        var complete = FeedbackSettings(host: feedback.host ?? endpoint?.host ?? "")
        complete.port = feedback.port ?? complete.port
        complete.interval = feedback.interval ?? complete.interval
        return complete
    }

    // MARK: Endpoint

    private func completeEndpoint(in section: ConfigurationSection) -> Configuration.Endpoint? {
        guard let host = endpoint.host else {
            return section.has("host") ? nil : environment.map { Configuration.Endpoint($0.endpoint) }
        }
        var complete = Configuration.Endpoint(
            host: host, port: endpoint.port ?? (wireProtocol == .binary ? 2195 : 443))
        if let trust = endpoint.trust {
            complete.trust = trust
        } else if !PushEnvironment.isHostOfApple(host), !section.has("trust") {
            section.report(
                "trust is missing: a PEM file with the CA certificate for \(host), or \"system\" for a public CA")
        }
        if PushEnvironment.isHostOfApple(host), let environment { reject(complete, unlessOf: environment, in: section) }
        return complete
    }

    /// Reports a host of Apple that does not serve pushes in the environment.
    private func reject(
        _ endpoint: Configuration.Endpoint, unlessOf environment: PushEnvironment, in section: ConfigurationSection
    ) {
        let host = endpoint.host.lowercased()
        if !environment.hosts.contains(host) {
            let other = PushEnvironment.allCases.first { $0.hosts.contains(host) }
            let what = other.map { "the host of \($0.rawValue)" } ?? "not a host for pushes to devices"
            section.report(
                "\(endpoint.host) is \(what); the host of \(environment.rawValue) is \(environment.hosts[0])",
                at: "host")
        }
        if endpoint.port != 443, endpoint.port != 2197 {
            section.report("Apple serves the ports 443 and 2197, not \(endpoint.port)", at: "port")
        }
    }

    private func completeBroadcast(
        endpoint: HostPort, environment: PushEnvironment
    ) -> BroadcastHosts {
        let usual = BroadcastHosts(endpoint: endpoint, environment: environment)
        return BroadcastHosts(send: broadcast.send ?? usual.send, manage: broadcast.manage ?? usual.manage)
    }
}

extension AppDraft.Connections {
    fileprivate func range(in section: ConfigurationSection) -> ClosedRange<Int> {
        let usual = Configuration.Gateway().connections
        switch (min, max) {
        case (let min?, let max?):
            guard min <= max else {
                section.report("min is \(min) and max is \(max); min must not be greater than max", at: "min")
                return min...min
            }
            return min...max
        // If only one of them is given and the other's default would contradict it, the other becomes equal to it.
        case (let min?, nil): return min...Swift.max(min, usual.upperBound)
        case (nil, let max?): return Swift.min(max, usual.lowerBound)...max
        case (nil, nil): return usual
        }
    }
}

extension AppDraft.Credential {
    fileprivate func credential(in section: ConfigurationSection) -> CredentialFiles? {
        if section.has("certificate") {
            for extra in ["key_id", "team_id"] where section.has(extra) {
                section.report("this belongs to a .p8 key, not to a certificate; keep one of the two forms", at: extra)
            }
            guard let certificate, key != nil || !section.has("key") else { return nil }
            return .certificate(certificate, key: key, passwordFile: passwordFile)
        }
        guard section.has("key") || section.has("key_id") || section.has("team_id") else {
            section.report(
                "a credential is missing: { key: \"AuthKey_….p8\", key_id, team_id }, { certificate: \"push.p12\", "
                    + "password_file } or { certificate: \"cert.pem\", key: \"key.pem\" }")
            return nil
        }
        if section.has("password_file") {
            section.report("a .p8 key has no password; leave out this key", at: "password_file")
        }
        return token(in: section)
    }

    private func token(in section: ConfigurationSection) -> CredentialFiles? {
        let required = [
            ("key", "the .p8 file"), ("key_id", "shown with the key"), ("team_id", "shown with the membership"),
        ]
        for (name, about) in required where !section.has(name) {
            section.report("\(name) is missing: \(about) in Apple's developer account")
        }
        for (name, value) in [("key_id", keyID), ("team_id", teamID)] {
            guard let value, !Self.isAppleID(value) else { continue }
            section.report("\"\(value)\" is not an id from Apple: 10 capital letters and digits", at: name)
        }
        guard let key, let keyID, let teamID else { return nil }
        if let inName = ProviderKeyName.keyID(in: key), inName != keyID {
            section.warn("the key id in the name of the key file is \(inName), but this is \(keyID)", at: "key_id")
        }
        return .key(path: key, keyID: keyID, teamID: teamID)
    }

    private static func isAppleID(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || (48...57).contains($0)
            }
    }
}
