import APNs
import PushLoop
import PushModel
import PushTransport
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushPipeline

/// Tests of requests and acks over real sockets.
@Suite(.waits) struct IntakeTests {
    private typealias Scene = IntakeScene

    @Test func `nothing is acknowledged before the ledger replies`() async throws {
        try await Scene.run { scene in
            scene.ledger.hold()
            let producer = try await scene.peer()
            await producer.send("push/1", Scene.envelope("one"))
            await scene.ledger.wait { $0.ids == ["one"] }
            #expect(await scene.intake.counts.unanswered == 1)
            // A request that does not reach the ledger is answered at once, so its ack comes first.
            await producer.send("push/1", "oops")
            #expect(try await producer.status().reason == "bad_json")
            scene.ledger.release()
            #expect(try await producer.status() == IntakeStatus(id: "one", status: "accepted", seq: 1))
            let counts = await scene.intake.counts
            #expect(counts.accepted == 1 && counts.unanswered == 0 && counts.unansweredBytes == 0)
            #expect(counts.rejected == [.badJSON: 1] && counts.messages == 2 && counts.groups == 1)
        }
    }

    @Test func `what a tick brings is one group, and answers keep the order`() async throws {
        try await Scene.run { scene in
            let ids = (0..<500).map { "message-\($0)" }
            // The producer runs on intake's loop, so all requests are sent before intake reads them.
            let producer = try await scene.peer(on: scene.loop)
            await producer.sendAll(ids.map { ["push/1", Scene.envelope($0)] })
            for (number, id) in ids.enumerated() {
                let status = try await producer.status()
                #expect(status == IntakeStatus(id: id, status: "accepted", seq: Int64(number + 1)))
            }
            let facts = scene.ledger.facts
            #expect(facts.ids == ids)
            #expect(facts.groups.count < 250, "\(facts.groups)")
            #expect(await scene.intake.counts.groups == UInt64(facts.groups.count))
        }
    }

    @Test func `with and without a delimiter, with a payload of its own`() async throws {
        try await Scene.run { scene in
            let plain = try await scene.peer()
            await plain.send("push/1", Scene.envelope("a"))
            #expect(await plain.receive().first == "ack/1")
            await plain.send("", "push/1", Scene.envelope("b"))
            let framed = await plain.receive()
            #expect(framed.prefix(2) == ["", "ack/1"] && framed.count == 3)
            let request = try await scene.peer(.req)
            for id in ["c", "d"] {
                await request.send("push/1", Scene.envelope(id))
                #expect(try await request.status().id == id)
            }
            let payload = #"{"aps":{"alert":"as it is"},  "x":1}"#
            await plain.send(
                "push/1", #"{"id":"e","app":"shop","to":{"tokens":["\#(Scene.token)"]}}"#, payload)
            #expect(try await plain.status() == IntakeStatus(id: "e", status: "accepted", seq: 5))
            let last = try #require(scene.ledger.requests.last)
            #expect(last.message.payload == Array(payload.utf8))
            await plain.send("", "push-batch/1", Scene.envelope("f"))
            #expect(await plain.receive().prefix(2) == ["", "ack-batch/1"])
        }
    }

    @Test func `the nodes of the cluster are told in the form of the request, also while intake is busy`() async throws
    {
        let nodes = #"{"node":"a","nodes":[]}"#
        try await Scene.run {
            $0.nodes = { Array(nodes.utf8) }
        } _: { scene in
            scene.intake.setBlocked(LedgerFault("the disk is full"))
            await scene.settle()
            let plain = try await scene.peer()
            await plain.send("push/1", Scene.envelope("a"))
            #expect(try await plain.status().status == "busy")
            await plain.send("cluster/1")
            #expect(await plain.receive() == ["nodes/1", nodes])
            await plain.send("", "cluster/1")
            #expect(await plain.receive() == ["", "nodes/1", nodes])
            #expect(await scene.intake.counts.rejections == 0)
        }
    }

    private static let badFrames: [(frames: [String], id: String?, words: String)] = [
        (
            ["push/2", Self.known], "known",
            "unknown request kind push/2; use push/1, push-batch/1, cancel/1 or cluster/1"
        ),
        (["push"], nil, "is not a request kind; expected [\"push/1\", envelope, payload?]"),
        ([Self.known], nil, "is not a request kind"),
        (["push/1"], nil, "push/1 with 1 frame; expected"),
        (["push/1", Self.known, "{}", "x"], "known", "push/1 with 4 frames"),
        ([""], nil, "the message has no frame"),
        (["", "push/1"], nil, "push/1 with 1 frame; expected"),
        (["", "cancel/1", Self.known, "{}"], "known", "cancel/1 with 3 frames"),
        (["cluster/1", "{}"], nil, "cluster/1 with 2 frames"),
        (["", "", "push/1", Self.known], nil, "is not a request kind"),
    ]
    private static let known = Scene.envelope("known")

    @Test func `other frames are refused with what was expected`() async throws {
        try await Scene.run { scene in
            let producer = try await scene.peer()
            for (frames, id, words) in Self.badFrames {
                await producer.send(frames.map { Array($0.utf8) })
                let answer = await producer.receive()
                #expect(answer.suffix(2).first == "ack/1", "\(frames)")
                let status = try IntakeStatus.read(answer)[0]
                #expect(status.status == "rejected" && status.reason == "bad_frame", "\(frames)")
                #expect(status.id == id, "\(frames)")
                #expect(status.detail?.contains(words) == true, "\(frames): \(status.detail ?? "")")
            }
            let counts = await scene.intake.counts
            #expect(counts.rejected == [.badFrame: UInt64(Self.badFrames.count)])
            #expect(scene.ledger.facts.groups.isEmpty)
        }
    }

    /// A client that sends a batch reads the ack of a batch.
    @Test(arguments: [
        (["push-batch/1"], "push-batch/1 with 1 frame; expected"), (["push-batch/1", "{}", "{}"], "with 3 frames"),
        (["push-batch/1", ""], "there is no line"),
    ]) func `a batch with wrong frames is refused in the ack of a batch`(frames: [String], words: String) async throws {
        try await Scene.run { scene in
            let producer = try await scene.peer()
            for frames in [frames, [""] + frames] {
                await producer.send(frames.map { Array($0.utf8) })
                let answer = await producer.receive()
                #expect(Array(answer.dropLast()) == (frames[0].isEmpty ? ["", "ack-batch/1"] : ["ack-batch/1"]))
                let statuses = try IntakeStatus.read(answer)
                #expect(statuses.map(\.reason) == ["bad_frame"] && statuses[0].id == nil)
                #expect(statuses[0].detail?.contains(words) == true, "\(statuses)")
            }
        }
    }

    private static let routes: [[[UInt8]]] = [
        [[1], []], [[0, 7, 7, 7, 7], [0, 1, 2, 3, 4], []],
        // A request number of ZMQ_REQ_CORRELATE behind two proxies.
        [[0, 7, 7, 7, 7], [0, 1, 2, 3, 4], [9, 0, 0, 0], []],
        // At most 8 frames with 512 bytes, each of at most 255.
        Array(repeating: Array(repeating: 65, count: 64), count: 8) + [[]],
        [Array(repeating: 1, count: 255), Array(repeating: 2, count: 255), [3, 3], []],
        [Array("push/2".utf8), []],
    ]

    @Test(arguments: routes) func `an answer repeats the frames before the request`(route: [[UInt8]]) async throws {
        try await Scene.run { scene in
            let producer = try await scene.peer()
            let requests: [(frames: [String], kind: String, status: String)] = [
                (["push/1", Scene.envelope("a")], "ack/1", "accepted"),
                (["push/1", Scene.envelope("b"), #"{"aps":{"alert":"c"}}"#], "ack/1", "rejected"),
                (["push-batch/1", Scene.envelope("c")], "ack-batch/1", "accepted"),
                (["cancel/1", #"{"id":"a","app":"shop"}"#], "ack/1", "cancelled"),
                (["cancel/1"], "ack/1", "rejected"), (["push/9", "x"], "ack/1", "rejected"),
                (["push/1", "oops"], "ack/1", "rejected"),
            ]
            for (frames, kind, status) in requests {
                await producer.send(route + frames.map { Array($0.utf8) })
                let answer = await producer.receiveBytes()
                #expect(Array(answer.prefix(route.count)) == route, "\(frames)")
                let rest = answer.dropFirst(route.count).map { String(decoding: $0, as: UTF8.self) }
                #expect(rest.first == kind && rest.count == 2, "\(frames): \(rest)")
                #expect(try IntakeStatus.read(rest)[0].status == status, "\(frames): \(rest)")
            }
            #expect(await scene.intake.counts.unansweredBytes == 0)
        }
    }

    private static let longRoutes: [[[UInt8]]] = [
        Array(repeating: [1], count: 9) + [[]], [Array(repeating: 1, count: 256), []],
        [Array(repeating: 1, count: 255), Array(repeating: 2, count: 255), [3, 3, 3], []], [[1], [2]],
    ]

    @Test(arguments: longRoutes) func `more frames before a request are refused`(route: [[UInt8]]) async throws {
        try await Scene.run { scene in
            let producer = try await scene.peer()
            await producer.send(route + ["push/1", Scene.envelope("a")].map { Array($0.utf8) })
            let status = try await producer.status()
            #expect(status.reason == "bad_frame" && status.detail?.contains("Only 8 frames of 512 bytes") == true)
        }
    }

    @Test func `the acks of many clients of one proxy go back by their own routes`() async throws {
        try await Scene.run { scene in
            scene.ledger.hold()
            let proxy = try await scene.peer()
            var expected: Set<[[UInt8]]> = []
            for number in 0..<200 {
                let route: [[UInt8]] = [[0, UInt8(number % 7), 1, 2, 3], [UInt8(number / 7 + 1)], []]
                await proxy.send(route + ["push/1", Scene.envelope("m-\(number)")].map { Array($0.utf8) })
                expected.insert(route.dropLast() + [Array("m-\(number)".utf8)])
            }
            await scene.ledger.wait { $0.ids.count == 200 }
            scene.ledger.release()
            for _ in 0..<200 {
                let answer = await proxy.receiveBytes()
                let status = try IntakeStatus.read(answer.map { String(decoding: $0, as: UTF8.self) })[0]
                let key = answer.prefix(2) + [Array((status.id ?? "").utf8)]
                #expect(expected.remove(Array(key)) != nil, "\(answer)")
            }
            #expect(expected.isEmpty)
        }
    }

    @Test func `what a payload says in the wrong place is not repeated`() async throws {
        try await Scene.run { scene in
            let producer = try await scene.peer()
            await producer.send("secret token 4711", "x")
            #expect(try await producer.status().detail?.contains("4711") == false)
        }
    }

    @Test func `the lines of a batch are answered in order, each with its own status`() async throws {
        try await Scene.run { scene in
            let producer = try await scene.peer()
            await producer.send("push/1", Scene.envelope("known"))
            _ = try await producer.status()
            let lines = [
                Scene.envelope("first"), "oops", Scene.envelope("known"), Scene.envelope("known", alert: "other"),
                Scene.envelope("x", app: "nowhere"), Scene.envelope("last"),
            ]
            await producer.send("push-batch/1", lines.joined(separator: "\n"))
            let statuses = try await producer.statuses()
            #expect(
                statuses.map(\.status) == ["accepted", "rejected", "duplicate", "rejected", "rejected", "accepted"])
            #expect(statuses.map(\.id) == ["first", nil, "known", "known", "x", "last"])
            #expect(statuses.map(\.reason) == [nil, "bad_json", nil, "id_conflict", "unknown_app", nil])
            #expect(statuses.map(\.seq) == [2, nil, 1, nil, nil, 3])
            #expect(statuses[3].detail?.contains("the message of event 1 has this id") == true)
            #expect(scene.ledger.facts.groups == [1, 4])
            // The ledger takes no part in this batch.
            await producer.send("push-batch/1", "oops\nagain")
            #expect(try await producer.statuses().map(\.reason) == ["bad_json", "bad_json"])
            #expect(await scene.intake.counts.unansweredBytes == 0)
        }
    }

    @Test func `a batch of ten thousand lines, and one of more`() async throws {
        try await Scene.run { scene in
            let producer = try await scene.peer()
            let ids = (0..<10_000).map { "line-\($0)" }
            await producer.send("push-batch/1", ids.map { Scene.envelope($0) }.joined(separator: "\n"))
            let statuses = try await producer.statuses()
            #expect(statuses.map(\.id) == ids && statuses.allSatisfy { $0.status == "accepted" })
            #expect(scene.ledger.facts.groups == [10_000])
            await producer.send("push-batch/1", (ids + ["more"]).map { Scene.envelope($0) }.joined(separator: "\n"))
            let refused = try await producer.statuses()
            #expect(refused.allSatisfy { $0.reason == "too_many" }, "\(refused.first.debugDescription)")
            #expect(scene.ledger.facts.groups == [10_000])
        }
    }

    /// As many tokens as fit into a frame; with a longer one the connection would end.
    @Test func `half a million tokens in one envelope are too many`() async throws {
        try await Scene.run { scene in
            let producer = try await scene.peer()
            let tokens = repeatElement("\"\(Scene.token)\"", count: 500_000).joined(separator: ",")
            await producer.send("push/1", #"{"id":"all","app":"shop","to":{"tokens":[\#(tokens)]},"alert":"x"}"#)
            let status = try await producer.status()
            #expect(status.id == "all" && status.reason == "too_many", "\(status)")
            await producer.send("push/1", Scene.envelope("one"))
            #expect(try await producer.status().status == "accepted")
        }
    }

    @Test func `the words of each status`() async throws {
        try await Scene.run { scene in
            let producer = try await scene.peer()
            await producer.send("push/1", Scene.envelope("a"))
            #expect(await producer.receive()[1] == #"{"id":"a","status":"accepted","seq":1}"#)
            await producer.send("push/1", Scene.envelope("a"))
            #expect(await producer.receive()[1] == #"{"id":"a","status":"duplicate","seq":1}"#)
            scene.ledger.fail("no space left on device")
            await producer.send("push/1", Scene.envelope("b"))
            #expect(await producer.receive()[1] == #"{"id":"b","status":"busy","retry_after_ms":1000}"#)
            #expect(await scene.intake.counts.failed == 1)
        }
    }

    @Test func `other apps from the next message on`() async throws {
        try await Scene.run { scene in
            let producer = try await scene.peer()
            await producer.send("push/1", Scene.envelope("a", app: "late"))
            #expect(try await producer.status().reason == "unknown_app")
            scene.intake.update(
                apps: AppTable([AppFacts(id: AppID("late")!, codec: APNsCodec.unconfigured)]), rights: Rights())
            await scene.settle()
            await producer.send("push/1", Scene.envelope("a", app: "late"))
            #expect(try await producer.status().status == "accepted")
            await producer.send("push/1", Scene.envelope("b"))
            #expect(try await producer.status().reason == "unknown_app")
        }
    }
}
