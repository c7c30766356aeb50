import PushLoop
package import PushTransport

/// A webhook with the files that its settings name. Reading them blocks.
package struct LoadedWebhook: Sendable {
    package let settings: Configuration.Webhook
    package let secrets: WebhookSecrets
    /// Nil for a receiver without TLS.
    package let tls: TLSContext?

    /// Reads the files.
    ///
    /// - Throws: a ``StartError`` that names the setting.
    package init(_ settings: Configuration.Webhook, contexts: TLSContexts) throws(StartError) {
        self.settings = settings
        let path = "webhooks.\(settings.name)"
        do {
            secrets = try WebhookSecrets(file: settings.secretFile)
        } catch {
            throw StartError(.configuration, "\(path).secret_file cannot be used: \(error)")
        }
        do {
            tls = settings.address.isSecure ? try contexts.client(settings.trust, alpn: []) : nil
        } catch {
            throw StartError(.configuration, "\(path).trust cannot be used: \(error)")
        }
    }

    /// Returns whether the same requests go to the same receiver, apart from the events in them.
    package func asks(like other: LoadedWebhook) -> Bool {
        var settings = settings
        settings.prefixes = other.settings.prefixes
        return settings == other.settings && secrets.keys == other.secrets.keys
    }
}
