import PushLoop
import PushModel
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushPipeline

/// Requests of which intake takes either all or none.
@Suite(.waits) struct IntakeTogetherTests {
    private typealias Scene = IntakeScene

    private static func push(_ lines: [String], apps: [AppID]? = nil, _ scene: IntakeScene) async -> DirectAnswer {
        await withCheckedContinuation { continuation in
            scene.intake.loop.execute {
                scene.intake.assumeIsolated { intake in
                    let text = lines.map { $0 + "\n" }.joined()
                    intake.pushTogether(Array(text.utf8), from: DirectSender(name: "k", apps: apps)) {
                        continuation.resume(returning: $0)
                    }
                }
            }
        }
    }

    private static func text(_ answer: DirectAnswer) -> String { String(decoding: answer.text, as: UTF8.self) }

    @Test("All are one group, each with its ack")
    func all() async throws {
        try await Scene.run { scene in
            let lines = ["a", "b", "c"].map { Scene.envelope($0) }
            let answer = await Self.push(lines, scene)
            #expect(answer.outcome == .lines)
            #expect(Self.text(answer).split(separator: "\n").count == 3 && Self.text(answer).contains(#""id":"b""#))
            #expect(scene.ledger.facts.groups == [3])
            #expect(Self.text(await Self.push(lines, scene)).components("duplicate") == 3)
            let counts = await scene.intake.counts
            #expect(counts.unanswered == 0 && counts.unansweredBytes == 0 && counts.accepted == 3)
        }
    }

    @Test("If one is invalid, or may not be pushed, it alone is named, and none is taken")
    func invalid() async throws {
        try await Scene.run { scene in
            let wrong = await Self.push([Scene.envelope("a"), Scene.envelope("b", app: "nope"), "{"], scene)
            #expect(wrong.outcome == .rejected(.unknownApp) && Self.text(wrong).contains(#""id":"b""#))
            let other = await Self.push(
                [Scene.envelope("a"), Scene.envelope("b", app: "news")], apps: [Scene.shop], scene)
            #expect(other.outcome == .rejected(.forbidden) && Self.text(other).contains(#""id":"b""#))
            #expect(await Self.push([], scene).outcome == .rejected(.badFrame))
            #expect(scene.ledger.requests.isEmpty)
            #expect(await scene.intake.counts.unanswered == 0)
        }
    }

    @Test("If one app has no room, none is taken and nothing is counted")
    func busy() async throws {
        var small = AppLimits()
        small.waiting = 2
        try await Scene.run({ $0.appLimits = [Scene.shop: small] }) { scene in
            for _ in 0..<3 {
                let answer = await Self.push(["a", "b", "c"].map { Scene.envelope($0) }, scene)
                guard case .busy = answer.outcome else {
                    Issue.record("\(Self.text(answer))")
                    return
                }
            }
            #expect(scene.ledger.requests.isEmpty)
            #expect(await Self.push(["a", "b"].map { Scene.envelope($0) }, scene).outcome == .lines)
        }
    }

    @Test("After intake has stopped, all are busy")
    func closed() async throws {
        try await Scene.run { scene in
            await scene.intake.stop(within: .zero)
            let answer = await Self.push([Scene.envelope("a")], scene)
            guard case .busy = answer.outcome else {
                Issue.record("\(Self.text(answer))")
                return
            }
        }
    }
}

extension String {
    /// Returns how often a text occurs.
    fileprivate func components(_ text: String) -> Int { split(separator: text).count - 1 }
}
