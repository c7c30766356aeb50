import PushAPI
import PushConfiguration

/// The webhooks of the configuration in force.
protocol WebhookService: WebhookControl, AnyObject {
    /// Adds, changes and removes webhooks, each by itself. One that cannot be used keeps its earlier settings, or does not
    /// begin. Calls must not overlap.
    func apply(_ configuration: Configuration, contexts: TLSContexts) async

    /// Why webhooks could not be used as they were configured last, by name.
    var faults: [String: StartError] { get }

    func stop() async

    /// Returns the parts of the log of a cluster that this node delivers, by webhook.
    func own() async -> [String: [WebhookAnswer.Part]]
}
