import PushGateways
import PushLogic
import PushLoop
import PushModel
import PushPipeline
import PushStore
import PushTransport
import PushWire
import TestSupport

/// The parts between producers and the stub, put together as a server does for any push service.
struct StubParts: Sendable {
    let ledger: SQLiteLedger
    let registry: SQLiteRegistry
    let follower: RegistryFollower
    let feedback: Feedback
    let router: Router
    let intake: Intake
    let context: ZMQContext
    /// Admits the peers of ZeroMQ.
    let peers: ZAPHandler
    let endpoints: IntakeEndpoints

    private struct Witness: LedgerWitness {
        let router: Router
        let follower: RegistryFollower

        func accepted(_ messages: [AcceptedMessage]) { router.accepted(messages) }
        func cancelled(_ orders: [CancelOrder]) { router.cancelled(orders) }
        func committed(_ segments: [LogSegment]) { follower.committed(segments) }
        func healthChanged(_ fault: LedgerFault?) { router.healthChanged(fault) }
    }

    /// Opens the stores in a folder. `back` is the loop of everything behind intake.
    static func open(in folder: String, front: EventLoop, back: EventLoop, codec: StubCodec) async throws -> StubParts {
        let log = Logger("stub", to: LogOutput(level: .error))
        let (ledger, backlog) = try await SQLiteLedger.open(SQLiteLedger.Settings(directory: folder))
        let registry = try await SQLiteRegistry.open(
            directory: folder, identities: ledger.identities, note: { await ledger.note($0) })
        let feedback = Feedback(
            on: back, registry: registry, ledger: ledger, identities: ledger.identities, log: log)
        var routing = Router.Settings()
        routing.answered = { feedback.take($0) }
        let router = await back.run { [routing] in
            Router(on: back, ledger: ledger, registry: registry, identities: ledger.identities, settings: routing)
        }
        var settings = IntakeSettings(
            router: "tcp://127.0.0.1:*", apps: AppTable([AppFacts(id: StubScene.app, codec: codec)]))
        // All tests share the process, so its growth is not limited.
        settings.door.growth = .max
        let context = try ZMQContext()
        let peers = try ZAPHandler(in: context, admitting: [:])
        let intake = Intake(on: front, context: context, ledger: ledger, settings: settings)
        let follower = RegistryFollower(registry, log: ledger) { _ in }
        try await registry.catchUp(from: ledger)
        await ledger.start(Witness(router: router, follower: follower))
        router.backlog(backlog)
        return StubParts(
            ledger: ledger, registry: registry, follower: follower, feedback: feedback, router: router, intake: intake,
            context: context, peers: peers, endpoints: try await intake.open())
    }

    /// Ends the parts in the order in which a server ends them. The gateway has ended.
    func close() async {
        await router.drain()
        await feedback.stop()
        await ledger.flush()
        await follower.stop()
        await registry.close()
        await ledger.close()
        await context.terminate()
    }
}
