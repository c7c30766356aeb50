import PushModel
import PushTransport

/// The settings of a webhook as they are written, before the rules that combine several of them.
struct WebhookDraft: Sendable {
    var url: String?
    var prefixes: [String]?
    var secretFile: String?
    var trust = Configuration.Endpoint.Trust.system
    var privateNetworks: [String] = []
    var timeout = Configuration.Webhook.defaultTimeout
    var insecure = false

    init() {}

    init(_ webhook: Configuration.Webhook) {
        url = webhook.address.description
        prefixes = webhook.prefixes
        secretFile = webhook.secretFile
        trust = webhook.trust
        privateNetworks = webhook.privateNetworks.map(\.description)
        timeout = webhook.timeout
        insecure = webhook.insecure
    }

    static let settings: [Setting<WebhookDraft>] = [
        Setting(
            "url", atOptional: \.url, as: .text, applies: .live,
            requirement: ": the address of the receiver, such as \"https://billing.example.com/carillon\"",
            documentation: """
                The address of the receiver. It is no secret: reports of the configuration show it. Required.
                """),
        Setting(
            "prefixes", atOptional: \.prefixes, as: .texts, applies: .live,
            requirement: ": the beginnings of topics, such as [\"delivery/shop/\"]",
            documentation: """
                The beginnings of the topics, `family/app/kind`, whose events it gets. Required.
                """),
        Setting(
            "secret_file", atOptional: \.secretFile, as: .path, applies: .live,
            requirement: "; 'carillon keys webhook FILE' makes it",
            documentation: """
                A file with one or two secrets, the new one first, from `carillon keys webhook`. Each signs every \
                request. Required.
                """),
        Setting(
            "trust", at: \.trust, as: .trust, applies: .live,
            documentation: #"A PEM file with the root certificates, or "system" for those of the system."#),
        Setting(
            "private_networks", at: \.privateNetworks, as: .texts, applies: .live,
            documentation: "The private networks in which the receiver may be, such as 10.0.0.0/8."),
        Setting(
            "timeout", at: \.timeout, as: .duration(in: .seconds(1)...(.seconds(300))), applies: .live,
            documentation: "The time of one request with its response."),
        Setting(
            "insecure", at: \.insecure, as: .boolean, applies: .live,
            documentation: "true allows an http: address: anyone on the way can then read the events."),
    ]
}

extension ConfigurationDraft {
    /// The maximum number of webhooks. Each keeps the batch that it sends in memory.
    static let maxWebhooks = 100

    mutating func readWebhooks(in root: ConfigurationSection) {
        let sections = root.named("webhooks")
        if sections.count > Self.maxWebhooks {
            root.report("there are \(sections.count) webhooks; at most \(Self.maxWebhooks) are allowed", at: "webhooks")
        }
        values.webhooks = sections.compactMap { name, section in
            WebhookDraft.settings.read(from: section, into: WebhookDraft()).webhook(name, in: section)
        }
    }
}

extension WebhookDraft {
    fileprivate static let maxPrefixes = 100

    fileprivate func webhook(_ name: String, in section: ConfigurationSection) -> Configuration.Webhook? {
        // The name is part of the name of a file.
        guard AppID(name) != nil else {
            section.report("the name of a webhook has 1 to 64 letters, digits, '.', '_' and '-'")
            return nil
        }
        checkPrefixes(in: section)
        let networks = networks(in: section)
        guard let address = address(in: section), let prefixes, let secretFile else { return nil }
        var webhook = Configuration.Webhook(
            name: name, address: address, prefixes: prefixes, secretFile: secretFile)
        webhook.trust = trust
        webhook.privateNetworks = networks
        webhook.timeout = timeout
        webhook.insecure = insecure
        return webhook
    }

    private func address(in section: ConfigurationSection) -> HTTP1Address? {
        guard let url else { return nil }
        guard let address = HTTP1Address(url) else {
            section.report(
                "this is not the address of a receiver; write \"https://billing.example.com/carillon\", without user name "
                    + "and fragment", at: "url")
            return nil
        }
        guard address.isSecure || insecure else {
            section.report(
                "without TLS, anyone on the way can read the events: use https:, or set insecure: true", at: "url")
            return nil
        }
        return address
    }

    private func checkPrefixes(in section: ConfigurationSection) {
        guard let prefixes else { return }
        if !(1...Self.maxPrefixes).contains(prefixes.count) {
            section.report("there are \(prefixes.count) prefixes; 1 to \(Self.maxPrefixes) are allowed", at: "prefixes")
        }
        let families = Set(EventKind.allCases.map { "\($0.family)/" }).sorted()
        for (index, prefix) in prefixes.enumerated() {
            let fits = families.contains { prefix.hasPrefix($0) || $0.hasPrefix(prefix) }
            guard fits, prefix.utf8.count <= 200 else {
                section.report(
                    "no topic begins so; topics begin with \(families.joined(separator: ", "))", at: "prefixes",
                    element: index)
                continue
            }
        }
    }

    private func networks(in section: ConfigurationSection) -> [AddressRange] {
        var networks: [AddressRange] = []
        for (index, text) in privateNetworks.enumerated() {
            do throws(AddressRange.Fault) {
                networks.append(try AddressRange(text))
            } catch {
                section.report("\"\(text)\": \(error)", at: "private_networks", element: index)
            }
        }
        return networks
    }
}
