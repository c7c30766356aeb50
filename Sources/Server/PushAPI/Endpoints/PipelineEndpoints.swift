package import PushLoop
package import PushModel
package import PushStore

/// The endpoints of the pipeline: devices, messages, events and statistics.
package enum PipelineEndpoints {
    /// Returns all these endpoints.
    ///
    /// - Parameters:
    ///   - loop: the loop of the server.
    ///   - waiting: the object that wakes requests which wait for events; ``CommittedEvents`` in a server.
    ///   - seen: takes reports of displayed notifications; if it is nil, there is no endpoint for them.
    ///   - obstacles: knows what holds up messages; if it is nil, messages do not say it.
    ///   - kept: the events of operators, which are kept for longer than others.
    ///   - registry: resolves audiences; if it is nil, there is no endpoint that counts them.
    ///   - maxWait: the maximum wait for events, in seconds.
    package static func all(
        on loop: EventLoop, streams: EventStreams, devices: any DeviceDirectory, events: any EventLog,
        waiting: CommittedEvents,
        statistics: any PipelineStatistics, identities: Identities, apps: AppCatalog, seen: SeenReports? = nil,
        registry: (any DeviceRegistry)? = nil, kept: (any KeptEvents)? = nil,
        obstacles: (any MessageObstacles)? = nil,
        maxWait: UInt64 = ReadEvents.maxWait
    ) -> [AnyEndpoint] {
        let reading = reading(
            on: loop, streams: streams, devices: devices, events: events, waiting: waiting, identities: identities,
            apps: apps, kept: kept, obstacles: obstacles, maxWait: maxWait)
        return reading + [
            AnyEndpoint(raw: RegisterDevices(devices: devices, identities: identities, apps: apps)),
            AnyEndpoint(DeactivateDevice(devices: devices)),
            AnyEndpoint(ReactivateDevice(devices: devices)),
            AnyEndpoint(RegisterDevice(devices: devices, apps: apps)),
            AnyEndpoint(ChangeDevice(devices: devices, identities: identities, apps: apps)),
            AnyEndpoint(RemoveDevice(devices: devices)),
            AnyEndpoint(RemoveToken(devices: devices, identities: identities, apps: apps)),
            AnyEndpoint(GetStatistics(source: statistics)),
            AnyEndpoint(now: GetCaller(apps: apps)),
        ] + (seen.map { [AnyEndpoint(ReportSeen(seen: $0))] } ?? [])
            + (registry.map { [AnyEndpoint(raw: CountAudience(audiences: AudienceCount($0), apps: apps))] } ?? [])
    }

    /// Returns the endpoints that only read what is stored.
    package static func reading(
        on loop: EventLoop, streams: EventStreams, devices: any DeviceDirectory, events: any EventLog,
        waiting: CommittedEvents, identities: Identities, apps: AppCatalog, kept: (any KeptEvents)? = nil,
        obstacles: (any MessageObstacles)? = nil, maxWait: UInt64 = ReadEvents.maxWait
    ) -> [AnyEndpoint] {
        let history = MessageHistory(log: events)
        let searches = SearchQueue.ofNames(in: events)
        let traces = Traces(log: events, devices: devices, searches: searches)
        let lookup = MessageLookup(
            history: history, obstacles: ObstacleSearch(devices: devices, live: obstacles), apps: apps,
            searches: searches)
        let deliveries = DeliveryHistory(log: events)
        let events = ReadEvents(
            on: loop, events: events, kept: kept, waiting: waiting, streams: streams, maxWait: maxWait)
        return [
            AnyEndpoint(ListDevices(devices: devices, apps: apps)),
            AnyEndpoint(FindDevice(devices: devices, identities: identities, apps: apps)),
            AnyEndpoint(GetDevice(devices: devices)),
            AnyEndpoint(ExportDevices(devices: devices, apps: apps)),
            AnyEndpoint(GetUser(devices: devices, history: history, apps: apps)),
            AnyEndpoint(TraceDevice(traces: traces)),
            AnyEndpoint(ListMessages(history: history, apps: apps)),
            AnyEndpoint(FindMessage(lookup)),
            AnyEndpoint(GetMessage(lookup)),
            AnyEndpoint(ListDeliveries(history: deliveries, apps: apps)),
            AnyEndpoint(responding: events),
            AnyEndpoint(GetTrace(traces: traces, apps: apps)),
        ]
    }
}
