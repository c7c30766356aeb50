import APNs
import PushConfiguration
import PushGateways
import PushTime

/// The state of an app in ``ServedGateways``.
struct ServedApp {
    /// The configuration of the app. If its newest credential is unusable, connections still use the one in `loaded`.
    var app: Configuration.App
    /// The configuration and files from which connections are made; nil until the files were usable once.
    var loaded: LoadedApp?
    var gateway: Gateway?
    /// The reason why the newest files cannot be used.
    var fault: String?
    /// When the newest files could not be used; kept when they can.
    var failedAt: WallTime?
    /// The range of the number of connections, from the configuration, or later from an operator.
    var connections: ClosedRange<Int>
    let journal: GatewayJournal
    /// The poller of the feedback service, if the app has one.
    var poller: FeedbackPoller?
}
