import PushModel
import PushTransport
import WebPush

/// The rules for an app for browsers.
extension AppDraft {
    /// Returns the settings of an app for browsers with its endpoint.
    func webPush(in section: ConfigurationSection) -> (service: ServiceSettings, endpoint: Configuration.Endpoint)? {
        let credential = section.section("credential")
        if !credential.has("vapid") {
            credential.report(
                "a credential is missing: { vapid: \"vapid.pem\", subject: \"mailto:…\" }; 'carillon keys vapid FILE' "
                    + "makes the file")
        } else if !credential.has("subject") {
            credential.report("subject is missing: the contact that push services get, \"mailto:…\" or \"https://…\"")
        }
        if let subject = self.credential.subject, !WebPushSettings.isSubject(subject) {
            credential.report(
                "\"\(subject)\" is not a mailto: or https: URL of a public host, which Apple requires", at: "subject")
        }
        if let navigate = webPush.navigate, !AbsoluteURL.isValid(navigate) {
            section.report("\"\(navigate)\" is not an absolute URL such as \"https://example.com/\"", at: "navigate")
        }
        if let title = webPush.title, !(1...256).contains(title.utf8.count) {
            section.report("the title has \(title.utf8.count) bytes; 1 to 256 are allowed", at: "title")
        }
        let endpoint = webPushEndpoint(in: section.section("endpoint"))
        var rules = OriginRules()
        rules.patterns = patterns(in: section)
        rules.privateNetworks = networks(in: section)
        if self.endpoint.host != nil, let endpoint {
            rules.endpoint = Origin(host: endpoint.host.lowercased(), port: endpoint.port)
        }
        guard let vapid = self.credential.vapid, let subject = self.credential.subject, let endpoint else { return nil }
        var settings = WebPushSettings(vapid: vapid, subject: subject)
        settings.formerVAPID = self.credential.formerVAPID
        settings.origins = rules
        settings.navigate = webPush.navigate
        settings.title = webPush.title
        return (.webPush(settings), endpoint)
    }

    private func patterns(in section: ConfigurationSection) -> [String] {
        guard let given = webPush.origins else { return OriginRules.browsers }
        let patterns = given.map { $0.lowercased() }
        for (index, pattern) in patterns.enumerated() where !OriginRules.isPattern(pattern) {
            section.report(
                "\"\(pattern)\" is not a host such as \"push.example.com\", \"push.example.com:8443\" or "
                    + "\"*.push.example.com\", without https://", at: "origins", element: index)
        }
        if given.isEmpty, endpoint.host == nil {
            section.report("origins is empty, so that nothing could be sent; leave it out for browsers", at: "origins")
        }
        return patterns
    }

    private func networks(in section: ConfigurationSection) -> [AddressRange] {
        var networks: [AddressRange] = []
        for (index, text) in (webPush.privateNetworks ?? []).enumerated() {
            do throws(AddressRange.Fault) {
                networks.append(try AddressRange(text))
            } catch {
                section.report("\"\(text)\": \(error)", at: "private_networks", element: index)
            }
        }
        return networks
    }

    /// Returns the endpoint, which is one origin more, and the only one whose certificate `trust` judges.
    private func webPushEndpoint(in section: ConfigurationSection) -> Configuration.Endpoint? {
        guard let host = endpoint.host else {
            if !section.has("host") {
                for key in ["port", "trust"] where section.has(key) {
                    section.report(
                        "this needs endpoint.host: an origin of your own; those of browsers have public certificates",
                        at: key)
                }
            }
            return section.has("host") ? nil : Configuration.Endpoint(WebPushSettings.endpoint)
        }
        var complete = Configuration.Endpoint(host: host, port: endpoint.port ?? 443)
        if let trust = endpoint.trust {
            complete.trust = trust
        } else if !section.has("trust") {
            section.report(
                "trust is missing: a PEM file with the CA certificate for \(host), or \"system\" for a public CA")
        }
        return complete
    }
}
