import PushLoop
import PushModel
import TestSupport
import TestTraits
import Testing

@testable import PushPipeline

/// The answer to messages for which the ledger has no room, because too many Live Activities wait for an address.
@Suite(.waits) struct IntakeActivityTests {
    private typealias Scene = IntakeScene

    @Test func `The producer is asked to repeat it later, whichever way it came`() async throws {
        let reported = Locked<[String]>([])
        try await Scene.run { settings in
            settings.quotaReached = { app, quota, detail in
                reported.withLock { $0.append("\(app) \(quota) \(detail)") }
            }
        } _: { scene in
            let producer = try await scene.peer()
            await producer.send("push/1", Scene.envelope("crowded-1"))
            #expect(try await producer.status() == IntakeStatus(id: "crowded-1", status: "busy", retry: 10_000))
            await producer.send("push-batch/1", Scene.envelope("a") + "\n" + Scene.envelope("crowded-2"))
            let statuses = try await producer.statuses()
            #expect(statuses.map(\.status) == ["accepted", "busy"] && statuses[1].retry == 10_000)
            let direct = await withCheckedContinuation { continuation in
                scene.intake.loop.execute {
                    scene.intake.assumeIsolated { intake in
                        intake.push(
                            Array(Scene.envelope("crowded-3").utf8), from: DirectSender(name: nil, apps: nil)
                        ) { continuation.resume(returning: $0) }
                    }
                }
            }
            #expect(direct.outcome == .busy(retryAfterMilliseconds: 10_000))
            let counts = await scene.intake.counts
            #expect(counts.overQuota == [.activities: 3] && counts.busy == 3 && counts.failed == 0)
            #expect(counts.unanswered == 0 && counts.accepted == 1)
        }
        let texts = reported.withLock { $0 }
        #expect(texts.allSatisfy { $0.hasPrefix("shop activities ") && $0.contains("10000 Live Activities") })
        #expect(!texts.isEmpty)
    }

    @Test func `A message that came without an ack is rejected and does not hold back others`() async throws {
        try await Scene.run { scene in
            let silent = try await scene.peer(.push)
            await silent.send("push/1", Scene.envelope("crowded-1"))
            await silent.send("push/1", Scene.envelope("b"))
            await scene.ledger.wait { $0.ids.contains("b") }
            let counts = await scene.until { $0.accepted == 1 && $0.unanswered == 0 }
            #expect(counts.rejected[.tooMany] == 1 && counts.overQuota == [.activities: 1])
            #expect(!counts.isPullPaused)
        }
    }
}
