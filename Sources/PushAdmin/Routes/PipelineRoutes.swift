package import PushModel
import PushTransport

/// The routes of the pipeline: devices, messages, events and statistics.
package enum PipelineRoutes {
    /// Returns all these routes.
    ///
    /// - Parameters:
    ///   - waiting: the object that wakes requests which wait for events; ``CommittedEvents`` in a server.
    ///   - apps: returns the apps of the configuration in force; if it is nil, any app is accepted.
    ///   - maxWait: the maximum wait for events, in seconds.
    package static func all(
        devices: any DeviceBook, events: any EventLog, waiting: any EventWaiting,
        statistics: any PipelineStatistics, identities: Identities, apps: (@Sendable () async -> [AppID])? = nil,
        maxWait: UInt64 = EventRoutes.maxWait
    ) -> [AdminRoute] {
        DeviceRoutes(devices: devices, identities: identities, apps: apps).all + MessageRoutes(events: events).all
            + EventRoutes(events: events, waiting: waiting, maxWait: maxWait, devices: devices).all + [
                AdminRoute(.get, at: "/v1/stats") { _ in await statistics.snapshot() }
            ]
    }
}
