import PushLoop
import PushModel
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushPipeline

/// Tests of a full intake: which requests are answered `busy`, and which are held back.
@Suite(.waits) struct IntakePressureTests {
    private typealias Scene = IntakeScene

    enum Mark: CaseIterable {
        case unanswered, bytes, backlog, fault
    }

    @Test(arguments: Mark.allCases)
    func `over each mark it is busy, with the id of what is not taken`(_ mark: Mark) async throws {
        try await Scene.run { settings in
            switch mark {
            case .unanswered: settings.limits.unanswered = 2
            case .bytes: settings.limits.unansweredBytes = 2 * Scene.envelope("a").utf8.count
            case .backlog: settings.limits.backlog = 10
            case .fault: break
            }
        } _: { scene in
            scene.ledger.hold()
            let producer = try await scene.peer()
            let taken = mark == .fault ? [] : ["a", "b"]
            // The limit is twice the mark. Above the mark itself, only apps that hold their share are busy.
            if mark == .backlog { scene.backlog.withLock { $0 = 18 } }
            if mark == .fault {
                scene.intake.setBlocked(LedgerFault("no space left on device"))
            }
            for id in taken { await producer.send("push/1", Scene.envelope(id)) }
            await scene.ledger.wait { $0.ids == taken }
            await scene.settle()
            let wait: Int64 = mark == .fault ? 1000 : 250
            await producer.send("push/1", Scene.envelope("c"))
            #expect(try await producer.status() == IntakeStatus(id: "c", status: "busy", retry: wait))
            // The id is found wherever it is in the envelope, although the rest is not parsed.
            await producer.send("push/1", #"{ "to" : {"tokens":["\"id\":"]}, "id" : "d\u002d4" , oops"#)
            #expect(try await producer.status() == IntakeStatus(id: "d-4", status: "busy", retry: wait))
            await producer.send("push/1", "no envelope")
            #expect(try await producer.status() == IntakeStatus(status: "busy", retry: wait))
            await producer.send("push-batch/1", "\(Scene.envelope("e"))\noops\n\(Scene.envelope("f"))\n")
            let lines = try await producer.statuses()
            #expect(lines.map(\.id) == ["e", nil, "f"] && lines.allSatisfy { $0.status == "busy" && $0.retry == wait })
            await producer.send("push-batch/1", "")
            #expect(try await producer.status().reason == "bad_frame")
            await producer.send("push-batch/1", String(repeating: "\n", count: 10_001))
            #expect(try await producer.statuses().map(\.reason) == ["too_many"])
            // An invalid kind is rejected as such, although intake is full.
            await producer.send("push/2", Scene.envelope("g"))
            #expect(try await producer.status().reason == "bad_frame")
            #expect(await scene.intake.counts.busy == 6)

            scene.ledger.release()
            scene.backlog.withLock { $0 = 0 }
            scene.intake.setBlocked(nil)
            await scene.settle()
            for id in taken { #expect(try await producer.status().id == id) }
            await producer.send("push/1", Scene.envelope("c"))
            #expect(try await producer.status().status == "accepted")
            #expect(scene.ledger.facts.ids == taken + ["c"])
        }
    }

    /// Lines that are refused never fill intake. Without turns, an answer that needs the ledger would wait for all of them.
    @Test func `faulty batches of one producer leave the loop to others`() async throws {
        try await Scene.run { scene in
            let (faulty, honest) = (try await scene.peer(), try await scene.peer())
            await honest.send("push/1", Scene.envelope("first"))
            #expect(try await honest.status().status == "accepted")
            // A sanitizer makes each line several times slower.
            let lines = RunKind.rounds(3000)
            let batch = Array(repeating: #"{"tken":1}"#, count: lines).joined(separator: "\n")
            await faulty.sendAll(Array(repeating: ["push-batch/1", batch], count: 40))
            await honest.send("push/1", Scene.envelope("second"))
            #expect(try await honest.status().status == "accepted")
            #expect(await scene.intake.counts.messages < 40, "all batches were worked off before the honest message")
            for _ in 0..<40 { #expect(try await faulty.statuses().count == lines) }
        }
    }

    @Test func `a batch is taken as far as there is room`() async throws {
        try await Scene.run {
            $0.limits.unanswered = 3
        } _: { scene in
            let producer = try await scene.peer()
            let ids = (0..<5).map { "line-\($0)" }
            await producer.send("push-batch/1", ids.map { Scene.envelope($0) }.joined(separator: "\n"))
            let statuses = try await producer.statuses()
            #expect(statuses.map(\.id) == ids)
            #expect(statuses.map(\.status) == ["accepted", "accepted", "accepted", "busy", "busy"])
            #expect(scene.ledger.facts.ids == Array(ids.prefix(3)))
        }
    }

    @Test func `an envelope larger than the bytes that may wait is taken when nothing waits`() async throws {
        try await Scene.run {
            $0.limits.unansweredBytes = 10
        } _: { scene in
            let producer = try await scene.peer()
            await producer.send("push/1", Scene.envelope("large"))
            #expect(try await producer.status().status == "accepted")
        }
    }

    @Test func `a producer that does not read its answers is given up, and others are served`() async throws {
        var waiting = WaitingAcks.Limits()
        waiting.acks = 400
        try await Scene.run(waiting: waiting) { scene in
            let deaf = try await scene.peer { $0.receiveHighWaterMark = 1 }
            await deaf.stopReading()
            // The queues between the sockets take some acks. When they are full, acks wait in intake.
            let detail = String(repeating: "x", count: 20)
            var sent = 0
            while await scene.intake.counts.droppedAcks == 0 {
                await deaf.sendAll((0..<1000).map { _ in ["push/1", "[\"\(detail)\"]"] })
                sent += 1000
                try #require(sent < 3_000_000, "no ack was dropped")
            }
            let counts = await scene.intake.counts
            #expect(counts.waitingAcks <= 100, "one producer may hold a quarter of the whole")
            let other = try await scene.peer()
            await other.send("push/1", Scene.envelope("a"))
            #expect(try await other.status().status == "accepted")
            // When the producer reads, it gets an answer again. The kernel may have closed its connection by then: it does
            // so after 30 s in which a peer has taken nothing, and a busy machine needs that long to fill all queues.
            // Then, requests on their way are lost, and so may be the one below, or its ack: the producer repeats it.
            await deaf.goOnReading()
            let isAnswered = Locked(false)
            async let reading: Void = {
                while try await deaf.status().id != "b" {}
                isAnswered.withLock { $0 = true }
            }()
            await wait(
                for: {
                    await deaf.send("push/1", Scene.envelope("b"))
                    return isAnswered.withLock { $0 }
                }, until: { $0 })
            try await reading
        }
    }

    @Test func `answers for a producer that has gone are dropped`() async throws {
        try await Scene.run { scene in
            scene.ledger.hold()
            let producer = try await scene.peer()
            await producer.send("push/1", Scene.envelope("a"))
            await scene.ledger.wait { $0.ids == ["a"] }
            await producer.close()
            // Intake may notice the disconnection before or after the other producer's message; both are correct.
            let other = try await scene.peer()
            await other.send("push/1", Scene.envelope("b"))
            await scene.ledger.wait { $0.ids == ["a", "b"] }
            scene.ledger.release()
            #expect(try await other.status().id == "b")
            #expect(await scene.until { $0.unanswered == 0 }.accepted == 2)
            // The producer sends its request again, as the protocol requires.
            let again = try await scene.peer()
            await again.send("push/1", Scene.envelope("a"))
            #expect(try await again.status() == IntakeStatus(id: "a", status: "duplicate", seq: 1))
        }
    }

    @Test func `a producer that starts anew under its routing id gets the answers`() async throws {
        try await Scene.run { scene in
            scene.ledger.hold()
            let first = try await scene.peer {
                $0.routingID = Array("orders-1".utf8)
                // Without this, the first producer would reconnect and take over the second one's id.
                $0.reconnectInterval = .seconds(3600)
            }
            await first.send("push/1", Scene.envelope("a"))
            await scene.ledger.wait { $0.ids == ["a"] }
            // The first producer does not disconnect, so the old connection is still open when the new one arrives.
            let second = try await scene.peer { $0.routingID = Array("orders-1".utf8) }
            await second.send("push/1", Scene.envelope("a"))
            await scene.ledger.wait { $0.ids == ["a", "a"] }
            scene.ledger.release()
            #expect(try await second.statuses() == [IntakeStatus(id: "a", status: "accepted", seq: 1)])
            #expect(try await second.statuses() == [IntakeStatus(id: "a", status: "duplicate", seq: 1)])
        }
    }
}
