import Glibc
import PushLogic
import PushModel
import TestSupport
import Testing

@testable import PushStore

/// The bound of Live Activities for which messages wait and of which no address is known.
@Suite struct ActivityWaitTests {
    private static func update(_ id: String, to name: String, bytes: Int = 8) -> PushRequest {
        PushRequest(
            Message(
                id: MessageID(id)!, app: LedgerScene.shop, kind: .activity,
                payload: Array(repeating: UInt8(ascii: "x"), count: bytes),
                activity: ActivityPart(.update, isStamped: false)), to: .activities([name]))
    }

    /// Records that the registry has no address for what was accepted.
    private static func lose(_ requests: [PushRequest], _ answers: [Acceptance], in scene: LedgerScene) {
        for (request, answer) in zip(requests, answers) {
            guard case .activities(let names) = request.audience, let name = names.first, let seq = answer.seq else {
                continue
            }
            let activity = scene.ledger.identities.activity(of: LedgerScene.shop, name: name)
            scene.ledger.activityWaits.lost(ActivityWait(request.message, to: activity), newest: seq)
        }
    }

    @Test(arguments: LedgerKind.allCases)
    func `A message to one activity too many is not accepted`(kind: LedgerKind) async throws {
        try await withLedger(on: kind) { scene in
            let group = (0..<UnaddressedActivities.maxCount).map { Self.update("m-\($0)", to: "order-\($0)") }
            let answers = await scene.accept(group)
            #expect(answers.allSatisfy { $0.seq != nil })
            // The registry was asked about none.
            #expect(scene.ledger.activityWaits.load(of: LedgerScene.shop) == (0, 0))
            #expect(scene.ledger.activityWaits.waiting == group.count)
            Self.lose(group, answers, in: scene)
            #expect(
                await scene.accept((10_000...10_001).map { Self.update("m-\($0)", to: "order-\($0)") })
                    == [.crowded, .crowded])
            // What was accepted is a duplicate, and a newer state takes the place of one that waits.
            let again = await scene.accept([
                Self.update("m-0", to: "order-0"), Self.update("newer", to: "order-0"), push("other"),
                Self.update("m-10000", to: "order-10000"),
            ])
            #expect(again[0] == .duplicate(seq: answers[0].seq ?? 0))
            #expect(again[1].seq != nil && again[2].seq != nil && again[3] == .crowded)
            // Nothing of what is refused is remembered.
            let activity = scene.ledger.identities.activity(of: LedgerScene.shop, name: "order-5")
            scene.ledger.activityWaits.found(activity)
            let last = Self.update("m-10000", to: "order-10000")
            let answer = await scene.accept(last)
            #expect(answer.seq != nil)
            Self.lose([last], [answer], in: scene)
            #expect(await scene.accept(Self.update("known", to: "order-5")).seq != nil)
            #expect(await scene.accept(Self.update("m-10001", to: "order-10001")) == .crowded)
        }
    }

    @Test(arguments: LedgerKind.allCases)
    func `The newest payloads of an app have 16 MiB`(kind: LedgerKind) async throws {
        try await withLedger(on: kind) { scene in
            let most = UnaddressedActivities.maxBytes / 4096
            let group = (0..<most).map { Self.update("m-\($0)", to: "order-\($0)", bytes: 4096) }
            let answers = await scene.accept(group)
            #expect(answers.allSatisfy { $0.seq != nil })
            Self.lose(group, answers, in: scene)
            #expect(await scene.accept(Self.update("m-\(most)", to: "order-\(most)", bytes: 4096)) == .crowded)
            #expect(await scene.accept(Self.update("smaller", to: "order-1", bytes: 96)).seq != nil)
            let fitting = Self.update("m-\(most)", to: "order-\(most)", bytes: 4000)
            let answer = await scene.accept(fitting)
            #expect(answer.seq != nil)
            Self.lose([fitting], [answer], in: scene)
            #expect(scene.ledger.activityWaits.load(of: LedgerScene.shop) == (most + 1, UnaddressedActivities.maxBytes))
        }
    }

    /// It runs in a process of its own, because the file size limit applies to a process.
    @Test func `What could not be stored does not count`() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            try await withLedger { scene in
                #expect(await scene.accept(Self.update("first", to: "order-1")).seq != nil)
                limitFiles(to: 4096)
                #expect(await scene.accept(Self.update("second", to: "order-2")).seq == nil)
                #expect(scene.ledger.activityWaits.waiting == 1)
                limitFiles(to: .max)
            }
        }
    }
}
