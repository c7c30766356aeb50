import PushAPI
import PushConfiguration

/// The webhooks of the configuration in force.
protocol WebhookService: WebhookControl, AnyObject {
    /// Adds, changes and removes webhooks. Calls must not overlap.
    ///
    /// - Throws: ``StartError``. Nothing has changed then.
    func apply(_ configuration: Configuration, contexts: TLSContexts) async throws

    func stop() async

    /// Returns the parts of the log of a cluster that this node delivers, by webhook.
    func own() async -> [String: [WebhookAnswer.Part]]
}
