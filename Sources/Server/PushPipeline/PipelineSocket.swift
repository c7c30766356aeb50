/// The sockets of the pipeline to which clients connect. The raw values are their ZAP domains, and their names in logs
/// and metrics.
package enum PipelineSocket: String, Sendable, CaseIterable {
    case router = "intake.router"
    case pull = "intake.pull"
    case publish = "events.publish"
    case replay = "events.replay"
}
