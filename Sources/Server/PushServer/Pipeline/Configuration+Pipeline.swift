import PushAPI
import PushConfiguration
import PushLogic
import PushLoop
import PushModel
import PushPipeline
import PushStore
import PushTime
import PushTransport
import PushWire

extension EventBusSettings {
    /// The settings of the sockets for monitors.
    init(
        _ configuration: Configuration, _ admission: PipelineAdmission, limits: ConnectionLimits, node: ServedNode?,
        log: Logger
    ) {
        self.init(
            publish: configuration.events.publish.endpoint, replay: configuration.events.replay.endpoint)
        publishSecurity = configuration.events.publish.security(admission.security.of(.publish))
        replaySecurity = configuration.events.replay.security(admission.security.of(.replay))
        observers = configuration.observers
        connectionLimits.connections = limits.events
        connectionEvents = admission.refused.observing { ConnectionLimits.report($0, of: "events", to: log) }
        isOfCluster = node != nil
        ipcMode = configuration.security.ipcMode.bits
        rebound = { error in
            if let error {
                log.error(
                    """
                    cannot bind events.publish again after an observer lost its right: no events are published until \
                    a retry succeeds; free the port
                    """,
                    [.error: "\(error)"])
            } else {
                log.notice("all event subscriptions ended because an observer lost its right; other clients reconnect")
            }
        }
    }
}

extension IntakeSettings {
    /// The settings of the sockets for producers.
    init(
        _ configuration: Configuration, _ admission: PipelineAdmission, limits: ConnectionLimits, node: ServedNode?,
        familyFault: String?, zones: TimeZones, log: Logger
    ) {
        self.init(
            router: configuration.intake.router.endpoint, pull: configuration.intake.pull.endpoint,
            apps: configuration.appTable(familyFault: familyFault, zones: zones))
        self.security = admission.security.of(.router)
        self.log = log
        rights = configuration.security.directory.rights
        ipcMode = configuration.security.ipcMode.bits
        appLimits = configuration.appLimits
        window = configuration.dedupe.window
        quotaReached = { app, quota, detail in
            log.warning("intake is busy for this app: \(detail)", [.app: app.name, .reason: quota.rawValue])
        }
        connectionLimits.connections = limits.intake
        connectionEvents = admission.refused.observing { ConnectionLimits.report($0, of: "intake", to: log) }
        if let node { nodes = { node.owners.hints(of: node.name) } }
    }
}

extension Router.Settings {
    /// The settings of the router, which reports to the other parts of the pipeline.
    init(
        _ configuration: Configuration, clock: SharedClock, zones: SharedTimeZones, outcomes: OutcomeCounts,
        feedback: Feedback, troubles: Locked<RouterTroubles>, log: Logger
    ) {
        self.init()
        policy.expiry.unlimited = configuration.intake.expireAfter
        wallClock = { clock.now }
        self.zones = { zones.current }
        recorded = { outcomes.take($0, completed: $1) }
        answered = { feedback.take($0) }
        troublesChanged = { before, now in
            troubles.withLock { $0 = now }
            log.reportChanges(from: before, to: now)
        }
        damaged = { fault in log.error("accepted message damaged, not sent", [.error: fault.description]) }
    }
}

extension Bind {
    /// The endpoint for libzmq; nil if the socket is off.
    var endpoint: String? { self == .off ? nil : description }

    func security(_ security: ZMQSecurity) -> ZMQSecurity {
        if case .tcp = self { security } else { .none }
    }
}

extension Configuration {
    var ledgerRetention: LedgerRetention {
        var retention = LedgerRetention()
        retention.window = dedupe.window
        retention.keyLimit = dedupe.limit
        retention.logAge = events.retention.age
        retention.logBytes = events.retention.size.bytes
        return retention
    }

    var appLimits: [AppID: AppLimits] {
        Dictionary(apps.map { ($0.id, $0.limits) }, uniquingKeysWith: { first, _ in first })
    }

    var addressLimits: [AppID: Int] { appLimits.mapValues(\.addressesPerInstallation) }

    /// The apps for the catalog of the HTTP API.
    var catalog: [AppCatalog.App] {
        apps.map {
            AppCatalog.App(
                id: $0.id, codec: $0.codec, service: $0.serviceName, environment: $0.identity("environment"),
                topic: $0.identity("topic"))
        }
    }

    /// - Parameter familyFault: Why the store cannot take messages to families; nil if it can.
    func appTable(familyFault: String?, zones: TimeZones) -> AppTable {
        AppTable(
            apps.map { AppFacts(id: $0.id, codec: $0.codec, service: $0.serviceName, timeZone: $0.timeZone) },
            families: families, familyFault: familyFault, localTimeFault: localTimeFault, zones: zones)
    }

    /// Clocks differ by up to 26 hours: what has the first device must be known when the last one gets it.
    var localTimeFault: String? {
        dedupe.window >= .seconds(27 * 3600) ? nil : "the server needs a dedupe.window of 27 hours or more"
    }
}
