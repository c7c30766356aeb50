import PushModel
import PushTransport

/// All that can be asked of the pipeline: devices, messages, events, statistics.
enum PipelineRoutes {
    /// - Parameters:
    ///   - waiting: who wakes those that wait for events; `CommittedEvents`, told by the ledger's witness.
    ///   - longestWait: for events, in seconds.
    ///   - apps: the apps of the configuration in force; without it any app is taken.
    static func all(
        devices: any DeviceBook, events: any EventLog, waiting: any EventWaiting,
        statistics: any PipelineStatistics, identities: Identities, apps: (@Sendable () async -> [AppID])? = nil,
        longestWait: UInt64 = EventRoutes.longestWait
    ) -> [ControlRoute] {
        DeviceRoutes(devices: devices, identities: identities, apps: apps).all + MessageRoutes(events: events).all
            + EventRoutes(events: events, waiting: waiting, longestWait: longestWait, devices: devices).all + [
                ControlRoute(.get, "/v1/stats") { _ in await statistics.snapshot() }
            ]
    }
}
