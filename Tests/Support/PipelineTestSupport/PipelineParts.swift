import PushLogic
package import PushLoop
package import PushModel
package import PushPipeline
package import PushStore
package import PushTransport
package import PushWire

/// The parts between producers and a gateway, put together as a server does for any push service.
package struct PipelineParts: Sendable {
    package let ledger: SQLiteLedger
    package let registry: SQLiteRegistry
    private let follower: RegistryFollower
    package let feedback: Feedback
    package let router: Router
    package let intake: Intake
    package let context: ZMQContext
    /// Admits the peers of ZeroMQ.
    private let peers: ZAPHandler
    package let endpoints: IntakeEndpoints

    private struct Witness: LedgerWitness {
        let router: Router
        let follower: RegistryFollower

        func accepted(_ messages: [AcceptedMessage]) { router.accepted(messages) }
        func cancelled(_ orders: [CancelOrder]) { router.cancelled(orders) }
        func committed(_ segments: [LogSegment]) { follower.committed(segments) }
        func healthChanged(_ fault: LedgerFault?) { router.healthChanged(fault) }
    }

    /// Opens the stores in a folder, for one app. `back` is the loop of everything behind intake.
    package static func open(
        in folder: String, front: EventLoop, back: EventLoop, app: AppFacts,
        adjusting: (inout Router.Settings) -> Void = { _ in }
    ) async throws -> PipelineParts {
        let log = Logger("\(app.id)", to: LogOutput(level: .error))
        let (ledger, backlog) = try await SQLiteLedger.open(SQLiteLedger.Settings(directory: folder))
        let registry = try await SQLiteRegistry.open(
            directory: folder, identities: ledger.identities, note: { await ledger.note($0) })
        let feedback = Feedback(
            on: back, registry: registry, ledger: ledger, identities: ledger.identities, log: log)
        var routing = Router.Settings()
        routing.answered = { feedback.take($0) }
        adjusting(&routing)
        let router = await back.run { [routing] in
            Router(on: back, ledger: ledger, registry: registry, identities: ledger.identities, settings: routing)
        }
        var settings = IntakeSettings(
            router: "tcp://127.0.0.1:*", apps: AppTable([app]))
        // All tests share the process, so its growth is not limited.
        settings.connectionLimits.growth = .max
        let context = try ZMQContext()
        let peers = try ZAPHandler(in: context, admitting: [:])
        let intake = Intake(on: front, context: context, ledger: ledger, settings: settings)
        let follower = RegistryFollower(registry, log: ledger) { _ in }
        try await registry.catchUp(from: ledger)
        await ledger.start(Witness(router: router, follower: follower))
        router.backlog(backlog)
        return PipelineParts(
            ledger: ledger, registry: registry, follower: follower, feedback: feedback, router: router, intake: intake,
            context: context, peers: peers, endpoints: try await intake.open())
    }

    /// Ends the parts in the order in which a server ends them. The gateway has ended.
    package func close() async {
        await router.drain()
        await feedback.stop()
        await ledger.flush()
        await follower.stop()
        await registry.close()
        await ledger.close()
        await context.terminate()
    }

    /// Hands an envelope to intake by its direct door.
    package func push(_ envelope: String) async -> DirectAnswer {
        await withCheckedContinuation { continuation in
            intake.loop.execute {
                intake.assumeIsolated { intake in
                    intake.push(Array(envelope.utf8), from: DirectSender(name: nil, apps: nil)) {
                        continuation.resume(returning: $0)
                    }
                }
            }
        }
    }

    /// Returns all events of the log.
    package func events() async throws -> [ShownEvent] {
        await ledger.flush()
        var (events, last) = ([ShownEvent](), UInt64(0))
        while true {
            let page = try await ledger.read(since: last, limit: 10_000)
            guard let end = page.segments.last?.last, end > last else { return events }
            for segment in page.segments {
                try segment.entries(since: last) { entry in
                    events.append(ShownEvent(entry))
                    return true
                }
            }
            last = end
        }
    }
}

/// What tests of a push service look at in an event.
package struct ShownEvent: Sendable {
    package let kind: EventKind
    package let message: String?
    package let device: DeviceID?
    package let reason: String?
    package let status: UInt64?
    package let providerID: String?
    package let type: String?
    package let isResent: Bool?

    fileprivate init(_ entry: borrowing LogEntry) {
        let details = entry.details
        kind = entry.event.kind
        message = entry.messageID
        device = entry.event.device
        reason = entry.reason
        status = entry.event.status
        providerID = details?.text("provider_id") ?? details?.text("apns_unique_id")
        type = details?.request.pushType
        isResent = details?.flag("resend")
    }
}
