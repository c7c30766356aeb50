import Glibc
import PushLoop
import PushModel
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushPipeline

/// Tests of requests without an ack.
@Suite(.waits) struct IntakePullTests {
    private typealias Scene = IntakeScene

    @Test func `the same frames, and no answers`() async throws {
        try await Scene.run { scene in
            let producer = try await scene.peer(.push)
            await producer.send("push/1", Scene.envelope("a"))
            await producer.send(
                "", "push/1", #"{"id":"b","app":"shop","to":{"tokens":["\#(Scene.token)"]}}"#,
                "{\"aps\":{\"alert\":\"x\"}}")
            await producer.send("push-batch/1", "\(Scene.envelope("c"))\noops\n\(Scene.envelope("d"))")
            await scene.ledger.wait { $0.ids == ["a", "b", "c", "d"] && $0.notes == 1 }
            let counts = await scene.until { $0.unanswered == 0 }
            #expect(counts.accepted == 4 && counts.rejected == [.badJSON: 1] && counts.unansweredBytes == 0)
        }
    }

    @Test func `what is not taken becomes an event`() async throws {
        try await Scene.run { scene in
            let producer = try await scene.peer(.push)
            await producer.send("push/1", Scene.envelope("a"))
            await scene.ledger.wait { $0.ids == ["a"] }
            await producer.send("push/1", Scene.envelope("a", alert: "other"))
            await producer.send("push/1", "oops")
            await producer.send("push/1", Scene.envelope("b", app: "nowhere"))
            await producer.send("push/1", #"{"id":"c","app":"shop","to":{"tokens":["nothex"]},"alert":"x"}"#)
            await producer.send("push/7", Scene.envelope("d"))
            await producer.send("just a text")
            await scene.ledger.wait { $0.notes == 6 }
            let notes = scene.ledger.notes.sorted {
                ($0.messageID?.text ?? "", $0.reason!) < ($1.messageID?.text ?? "", $1.reason!)
            }
            #expect(
                notes.map(\.reason) == [
                    "bad_frame", "bad_json", "id_conflict", "unknown_app", "bad_token", "bad_frame",
                ])
            #expect(notes.map(\.messageID?.text) == [nil, nil, "a", "b", "c", "d"])
            #expect(notes.map(\.app) == [nil, nil, Scene.shop, nil, Scene.shop, nil])
            #expect(notes.allSatisfy { $0.kind == .messageRejected && $0.details.map(\.name) == ["detail"] })
        }
    }

    @Test func `what the ledger finds too late is refused, with an answer and without one`() async throws {
        try await Scene.run { scene in
            let envelope =
                #"{"id":"late","app":"shop","to":{"tokens":["\#(Scene.token)"]},"alert":"x","expires_at":1000}"#
            let begin = WallTime.current().seconds
            let asking = try await scene.peer()
            await asking.send("push/1", envelope)
            let answer = try await asking.status()
            #expect(answer.status == "rejected" && answer.reason == "expired" && answer.id == "late")
            let said = try #require(answer.detail?.split(separator: " ").compactMap { Int64($0) }.first)
            #expect(answer.detail == "expires_at is \(said) s in the past")
            #expect((begin - 1000...WallTime.current().seconds - 1000).contains(said))
            await asking.send("push-batch/1", "\(Scene.envelope("a"))\n\(envelope)")
            #expect(try await asking.statuses().map(\.reason) == [nil, "expired"])
            let silent = try await scene.peer(.push)
            await silent.send("push/1", envelope)
            // The two requests with an ack are recorded as events as well.
            await scene.ledger.wait { $0.notes == 3 }
            for note in scene.ledger.notes {
                #expect(note.kind == .messageRejected && note.reason == "expired" && note.messageID?.text == "late")
            }
            let counts = await scene.until { $0.unanswered == 0 }
            #expect(counts.accepted == 1 && counts.rejected == [.expired: 3])
        }
    }

    @Test func `what is not taken takes no room from what is`() async throws {
        try await Scene.run {
            $0.limits.unansweredBytes = 1000
        } _: { scene in
            let stray = try await scene.peer(.push)
            for _ in 0..<5 {
                await stray.send(
                    "push-batch/1", Scene.envelope("a", app: "nowhere", alert: String(repeating: "x", count: 500)))
            }
            let counts = await scene.until { $0.rejected[.unknownApp] == 5 }
            #expect(counts.unansweredBytes == 0 && !counts.isPullPaused)
            let producer = try await scene.peer()
            await producer.send("push/1", Scene.envelope("a"))
            #expect(try await producer.status().status == "accepted")
        }
    }

    @Test func `over the mark it is not read, and nothing is lost`() async throws {
        try await Scene.run {
            $0.limits.unanswered = 100
        } _: { scene in
            scene.ledger.hold()
            let producer = try await scene.peer(.push)
            let ids = (0..<5000).map { "message-\($0)" }
            async let sending: Void = producer.sendAll(ids.map { ["push/1", Scene.envelope($0)] })
            let counts = await scene.until { $0.isPullPaused }
            #expect(counts.unanswered == 100 && counts.messages == 100)
            // On ROUTER the same load is answered `busy`.
            let other = try await scene.peer()
            await other.send("push/1", Scene.envelope("x"))
            #expect(try await other.status().status == "busy")
            #expect(await scene.intake.counts.unanswered == 100)
            scene.ledger.release()
            await sending
            await scene.ledger.wait { $0.ids.count == ids.count }
            #expect(scene.ledger.facts.ids == ids)
            let after = await scene.until { $0.unanswered == 0 && !$0.isPullPaused }
            #expect(after.accepted == 5000 && after.rejections == 0)
        }
    }

    /// A request rejected here would be lost, so PULL ignores an app's share; only twice the mark pauses the socket.
    @Test func `an app with more than its share of a full pipeline loses nothing`() async throws {
        try await Scene.run(load: AppLoad(waiting: 100)) { settings in
            settings.limits.backlog = 10
        } _: { scene in
            scene.backlog.withLock { $0 = 10 }
            let silent = try await scene.peer(.push)
            await silent.send("push/1", Scene.envelope("a"))
            await silent.send("push-batch/1", Scene.envelope("b"))
            await scene.ledger.wait { $0.ids == ["a", "b"] }
            let asking = try await scene.peer()
            await asking.send("push/1", Scene.envelope("c"))
            #expect(try await asking.status() == IntakeStatus(id: "c", status: "busy", retry: 1000))
            let counts = await scene.intake.counts
            #expect(counts.overQuota == [.share: 1] && counts.rejections == 0 && !counts.isPullPaused)
        }
    }

    @Test func `while the backlog is over its mark, and while the ledger cannot write`() async throws {
        try await Scene.run { settings in
            settings.limits.backlog = 10
            settings.limits.retryAfter = .milliseconds(1)
        } _: { scene in
            let producer = try await scene.peer(.push)
            scene.backlog.withLock { $0 = 20 }
            await producer.send("push/1", Scene.envelope("a"))
            // The request that shows that there is no room is accepted, and no further one.
            await scene.ledger.wait { $0.ids == ["a"] }
            #expect(await scene.until { $0.isPullPaused }.messages == 1)
            await producer.send("push/1", Scene.envelope("b"))
            scene.backlog.withLock { $0 = 0 }
            await scene.ledger.wait { $0.ids == ["a", "b"] }
            scene.intake.setBlocked(LedgerFault("no space left on device"))
            #expect(await scene.intake.counts.isPullPaused)
            await producer.send("push/1", Scene.envelope("c"))
            scene.intake.setBlocked(nil)
            await scene.ledger.wait { $0.ids == ["a", "b", "c"] }
        }
    }

    @Test func `what the ledger could not write is handed in again`() async throws {
        try await Scene.run(clock: .manual()) { scene in
            scene.ledger.fail("no space left on device")
            let producer = try await scene.peer(.push)
            await producer.send("push/1", Scene.envelope("a"))
            await scene.ledger.wait { $0.ids == ["a"] }
            let counts = await scene.until { $0.failed == 1 }
            #expect(counts.unanswered == 1 && counts.isPullPaused)
            await producer.send("push/1", Scene.envelope("b"))
            await scene.loop.advance(by: .seconds(1))
            await scene.ledger.wait { $0.ids == ["a", "a"] }
            scene.ledger.fail(nil)
            _ = await scene.until { $0.failed == 2 }
            #expect(await scene.intake.counts.isPullPaused)
            #expect(scene.ledger.facts.ids == ["a", "a"])
            await scene.loop.advance(by: .seconds(1))
            // The next request is read only now.
            await scene.ledger.wait { $0.ids == ["a", "a", "a", "b"] }
            _ = await scene.until { $0.accepted == 2 && $0.unanswered == 0 && !$0.isPullPaused }
        }
    }

    @Test func `what the log says of a ledger that takes nothing is true of each way in`() async throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/log"
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        try #require(file >= 0)
        defer { close(file) }
        try await Scene.run(clock: .manual()) {
            $0.log = Logger("intake", to: LogOutput(descriptor: file, format: .text(colors: false)))
        } _: { scene in
            scene.ledger.fail("ids are used up")
            let producer = try await scene.peer(.push)
            await producer.send("push/1", Scene.envelope("a"))
            _ = await scene.until { $0.failed == 1 }
        }
        let log = String(decoding: try BoundedFile.read(path, limit: 1 << 20), as: UTF8.self)
        #expect(log.contains("ledger rejects new messages: ids are used up") && !log.contains("busy"))
    }

    @Test func `a flood for one app hides nothing of another, and of what has no app`() async throws {
        try await Scene.run(clock: .manual()) { scene in
            func bad(_ app: String) -> String { #"{"id":"a","app":"\#(app)","to":{"tokens":["nothex"]},"alert":"x"}"# }
            let producer = try await scene.peer(.push)
            await producer.sendAll((0..<300).map { _ in ["push/1", bad("shop")] })
            await producer.send("push/1", bad("news"))
            await producer.send("push/1", "garbage")
            _ = await scene.until { $0.rejections == 302 }
            await scene.ledger.wait { $0.notes == 102 }
            let others = scene.ledger.notes.suffix(2)
            #expect(others.map(\.app) == [Scene.news, nil])
            #expect(others.allSatisfy { $0.details.map(\.name) == ["detail"] })
            // A new configuration resets the budgets.
            scene.intake.update(apps: Scene.apps, rights: Rights())
            await scene.settle()
            await producer.send("push/1", bad("shop"))
            await scene.ledger.wait { $0.notes == 103 }
        }
    }

    @Test func `a flood of garbage is counted, and a hundred events tell of it`() async throws {
        try await Scene.run(clock: .manual()) { scene in
            let producer = try await scene.peer(.push)
            let flood = 50_000
            await producer.sendAll((0..<flood).map { ["push/1", "garbage \($0)"] })
            let counts = await scene.until { $0.messages == UInt64(flood) }
            #expect(counts.rejected == [.badJSON: UInt64(flood)])
            #expect(scene.ledger.facts.notes == 100)
            #expect(counts.skippedEvents == UInt64(flood - 100))
            #expect(counts.unanswered == 0 && counts.unansweredBytes == 0 && counts.waitingAcks == 0)
            #expect(scene.ledger.facts.groups.isEmpty)
            await scene.loop.advance(by: .seconds(1))
            await producer.send("push/1", "one more")
            await scene.ledger.wait { $0.notes == 101 }
            let last = try #require(scene.ledger.notes.last)
            #expect(last.details.last == .init("skipped", value: .number(Int64(flood - 100))))
            // Valid requests are still accepted.
            await producer.send("push/1", Scene.envelope("a"))
            await scene.ledger.wait { $0.ids == ["a"] }
        }
    }
}
