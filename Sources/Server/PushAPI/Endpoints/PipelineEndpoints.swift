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
            + (registry.map { [counting(audiencesOf: $0, apps)] } ?? [])
    }

    /// One count runs at a time, so that the router, which reads the same file, waits for at most one page.
    private static func counting(audiencesOf registry: any DeviceRegistry, _ apps: AppCatalog) -> AnyEndpoint {
        AnyEndpoint(raw: CountAudience(audiences: AudienceCount(registry), apps: apps), in: SearchQueue(1))
    }

    /// Returns the endpoints that only read what is stored.
    ///
    /// - Parameter searches: the queue of all that read the log. It is read on one thread, which live streams, replays and
    ///   monitors need, too.
    package static func reading(
        on loop: EventLoop, streams: EventStreams, devices: any DeviceDirectory, events: any EventLog,
        waiting: CommittedEvents, identities: Identities, apps: AppCatalog, kept: (any KeptEvents)? = nil,
        obstacles: (any MessageObstacles)? = nil, maxWait: UInt64 = ReadEvents.maxWait,
        searches: SearchQueue = SearchQueue(8, of: 1024)
    ) -> [AnyEndpoint] {
        let history = MessageHistory(log: events)
        let traces = Traces(log: events, devices: devices)
        let lookup = MessageLookup(
            history: history, obstacles: ObstacleSearch(devices: devices, live: obstacles), apps: apps)
        let deliveries = DeliveryHistory(log: events)
        let events = ReadEvents(
            on: loop, events: events, kept: kept, waiting: waiting, streams: streams, searches: searches,
            maxWait: maxWait)
        return [
            AnyEndpoint(ListDevices(devices: devices, apps: apps)),
            AnyEndpoint(FindDevice(devices: devices, identities: identities, apps: apps)),
            AnyEndpoint(GetDevice(devices: devices)),
            AnyEndpoint(ExportDevices(devices: devices, apps: apps)),
            AnyEndpoint(GetUser(devices: devices, history: history, apps: apps), in: searches),
            AnyEndpoint(TraceDevice(traces: traces), in: searches),
            AnyEndpoint(ListMessages(history: history, apps: apps), in: searches),
            AnyEndpoint(FindMessage(lookup), in: searches),
            AnyEndpoint(GetMessage(lookup), in: searches),
            AnyEndpoint(ListDeliveries(history: deliveries, apps: apps), in: searches),
            AnyEndpoint(responding: events),
            AnyEndpoint(GetTrace(traces: traces, apps: apps), in: searches),
        ]
    }
}
