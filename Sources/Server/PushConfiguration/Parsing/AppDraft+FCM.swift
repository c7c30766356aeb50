import FCM

/// The rules for an app at FCM, and the settings that only one push service has.
extension AppDraft {
    static let onlyAPNs = [
        "topic", "environment", "credential.key", "credential.key_id", "credential.team_id", "credential.certificate",
        "credential.password_file", "gateway.protocol", "gateway.feedback.host", "gateway.feedback.port",
        "gateway.feedback.interval", "broadcast.send", "broadcast.manage", "receipts.app_apple_id",
    ]
    static let onlyFCM = ["credential.service_account", "quota.per_minute"]
    static let onlyWebPush = [
        "credential.vapid", "credential.former_vapid", "credential.subject", "origins", "private_networks", "navigate",
        "title",
    ]

    /// Reports settings of another push service.
    func reject(_ settings: [String], of service: String, in section: ConfigurationSection) {
        for setting in settings {
            let path = setting.split(separator: ".").map(String.init)
            let holder = section.section(holding: path)
            guard let key = path.last, holder.has(key) else { continue }
            holder.report("this belongs to an app with service: \"\(service)\"; leave it out", at: key)
        }
    }

    /// Returns the settings of an app at FCM with its endpoint.
    func fcm(in section: ConfigurationSection) -> (service: ServiceSettings, endpoint: Configuration.Endpoint)? {
        let credential = section.section("credential")
        if !credential.has("service_account") {
            credential.report(
                "a credential is missing: { service_account: \"firebase.json\" }, the file that the Firebase console makes "
                    + "under Project settings, Service accounts")
        }
        let endpoint = fcmEndpoint(in: section.section("endpoint"))
        guard let file = self.credential.serviceAccount, let endpoint else { return nil }
        var settings = FCMSettings(serviceAccount: file)
        settings.perMinute = perMinute ?? settings.perMinute
        return (.fcm(settings), endpoint)
    }

    private func fcmEndpoint(in section: ConfigurationSection) -> Configuration.Endpoint? {
        guard let host = endpoint.host else {
            return section.has("host") ? nil : Configuration.Endpoint(FCMSettings.endpoint)
        }
        var complete = Configuration.Endpoint(host: host, port: endpoint.port ?? FCMSettings.endpoint.port)
        if let trust = endpoint.trust {
            complete.trust = trust
        } else if !FCMSettings.isHostOfGoogle(host), !section.has("trust") {
            section.report(
                "trust is missing: a PEM file with the CA certificate for \(host), or \"system\" for a public CA")
        }
        return complete
    }
}
