import APNs
import PushLoop
import PushModel
import PushPipeline
import PushTransport
import PushWire
import TestSupport

/// An intake with a ledger in memory, for producers that are processes.
struct IntakeGround: Sendable {
    typealias Answer = @Sendable (PushRequest) -> Acceptance

    /// A ledger that answers the next groups with the given answers in turn, and accepts all further ones.
    final class ListLedger: Ledger {
        func cancel(_ requests: [CancelRequest], reply: @escaping @Sendable ([Cancellation]) -> Void) {
            reply([.unknown])
        }
        func ended(_ cancels: [CancelEnd], releasing claims: [ClaimPage]) {}

        struct State {
            var answers: [Answer] = []
            var requests: [PushRequest] = []
            var seqs: [String: UInt64] = [:]
        }

        let state = Locked(State())

        func accept(_ group: [PushRequest], reply: @escaping @Sendable ([Acceptance]) -> Void) {
            reply(
                state.withLock { state in
                    state.requests += group
                    let answer = state.answers.isEmpty ? nil : state.answers.removeFirst()
                    return group.map { request in
                        if let answer { return answer(request) }
                        if let seq = state.seqs[request.message.id.text] { return .duplicate(seq: seq) }
                        state.seqs[request.message.id.text] = UInt64(state.seqs.count + 1)
                        return .accepted(seq: UInt64(state.seqs.count))
                    }
                })
        }

        func note(_ events: [EventDraft], done: (@Sendable (UInt64?) -> Void)?) {}
        func record(_ deliveries: [DeliveryRecord], completed: [CompletedMessage]) {}
        func claim(_ pages: [ClaimPage], reply: @escaping @Sendable ([[ClaimVerdict]]) -> Void) {}
        func load(_ seqs: [UInt64], reply: @escaping @Sendable (Result<[AcceptedMessage], LedgerFault>) -> Void) {}
        func due(
            at time: UnixSeconds, limit: Int, reply: @escaping @Sendable (Result<DueMessages, LedgerFault>) -> Void
        ) {}
    }

    let endpoint: String
    let ledger: ListLedger
    let intake: Intake

    var requests: [PushRequest] { ledger.state.withLock { $0.requests } }

    func answer(_ answers: Answer...) {
        ledger.state.withLock { $0.answers += answers }
    }

    static func run(
        users: [CurvePublicKey: ZAPUser]? = nil, _ change: (inout IntakeSettings) -> Void = { _ in },
        _ body: (IntakeGround) async throws -> Void
    ) async throws {
        let shop = AppFacts(
            id: AppID("shop")!, codec: APNsCodec(app: AppID("shop")!, topic: "com.example.shop", usesToken: true))
        var settings = IntakeSettings(router: "tcp://127.0.0.1:*", apps: AppTable([shop]))
        // All tests share one process, so its memory growth is not a measure.
        settings.connectionLimits.growth = .max
        change(&settings)
        let (context, loop, ledger) = (try ZMQContext(), EventLoop(name: "intake"), ListLedger())
        let handler = try ZAPHandler(in: context, admitting: users ?? [:])
        let intake = Intake(on: loop, context: context, ledger: ledger, settings: settings)
        let outcome: Result<Void, any Error>
        do {
            let endpoint = try await intake.open().router ?? ""
            try await body(IntakeGround(endpoint: endpoint, ledger: ledger, intake: intake))
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await intake.stop(within: .zero)
        await context.terminate()
        await loop.shutDown()
        withExtendedLifetime(handler) {}
        try outcome.get()
    }
}
