import Foundation
import PushLoop
import PushModel
import PushPipeline
import PushTransport
import PushWire
import TestSupport
import Testing

/// Tests of replays for requesters that missed events.
@Suite struct ReplayTests {
    private struct End: Decodable, Equatable {
        let next: UInt64
        let oldest: UInt64
    }

    private struct Refusal: Decodable, Equatable {
        let error: String
        var detail: String?
        var retry_after_ms: Int?
        var next: UInt64?
    }

    /// A complete answer: the lines in order, by topic, and how the answer ended.
    private struct Answer {
        var messages: [(topic: String, lines: [ReadLine])] = []
        var end: End?
        var refusal: Refusal?
        var seqs: [UInt64] { messages.flatMap { $0.lines.map(\.seq) } }
    }

    private func isLast(_ got: Got) -> Bool { got.frames.contains { $0.starts(with: "replay-e".utf8) } }

    /// Waits for the answer to a request, after the given number of earlier answers.
    private func answer(_ peer: BusPeer, after earlier: Int = 0, delimiter: Bool = false) async throws -> Answer {
        let got = await peer.got.wait { got in
            got.count { $0.frames.contains { $0.starts(with: "replay-e".utf8) } } > earlier
        }
        let ends = got.indices.filter { isLast(got[$0]) }
        let begin = earlier == 0 ? 0 : ends[earlier - 1] + 1
        var answer = Answer()
        for one in got[begin...ends[earlier]] {
            var frames = one.frames
            if delimiter { #expect(frames.removeFirst().isEmpty) }
            switch String(decoding: frames[0], as: UTF8.self) {
            case "event/1":
                #expect(frames.count == 3)
                answer.messages.append((String(decoding: frames[1], as: UTF8.self), try ReadLine.all(of: frames[2])))
            case "replay-end/1":
                #expect(frames.count == 2)
                answer.end = try JSONDecoder().decode(End.self, from: Data(frames[1]))
            case "replay-error/1":
                answer.refusal = try JSONDecoder().decode(Refusal.self, from: Data(frames[1]))
            default: Issue.record("\(one.texts)")
            }
        }
        return answer
    }

    private func ask(_ peer: BusPeer, since: UInt64, prefix: String = "", limit: Int = 10_000) async throws {
        try await peer.ask("replay/1", #"{"since":\#(since),"prefix":"\#(prefix)","limit":\#(limit)}"#)
    }

    /// Appends `count` events in segments of ten, of two apps and two kinds.
    private func fill(_ scene: BusScene, _ count: Int, from writer: inout LogWriter) {
        let end = writer.next + UInt64(count)
        while writer.next < end {
            writer.begin(time: 1000, reserving: 0)
            while writer.count < 10, writer.next < end {
                let number = writer.next
                note(number % 5 == 0 ? .deliveryRejected : .deliverySent, number % 3 == 0 ? "b" : "a", into: &writer)
            }
            scene.log.append(writer.finish())
        }
    }

    private func topic(_ number: UInt64) -> String {
        "delivery/\(number % 3 == 0 ? "b" : "a")/\(number % 5 == 0 ? "rejected" : "sent")"
    }

    @Test("A replay returns all events in order, with and without a delimiter", arguments: [false, true])
    func allOfItInOrder(_ delimiter: Bool) async throws {
        try await BusScene.run { settings, _ in
            settings.replays.page = 35
        } _: { scene in
            var writer = LogWriter(next: 1)
            fill(scene, 1003, from: &writer)
            let peer = try await scene.requester()
            let request = #"{"since": 4, "prefix": "", "limit": 10000}"#
            if delimiter {
                try await peer.ask("", "replay/1", request)
            } else {
                try await peer.ask("replay/1", request)
            }
            let all = try await answer(peer, delimiter: delimiter)
            #expect(all.seqs == Array(5...1003))
            #expect(all.end == End(next: 1003, oldest: 1))
            for (name, lines) in all.messages {
                #expect(lines.allSatisfy { $0.topic == name && $0.topic == topic($0.seq) })
            }
            // Consecutive events of one topic are in one message.
            #expect(all.messages.contains { $0.lines.count > 1 })
            #expect(all.messages.count < 1000)
        }
    }

    /// Each request continues where the last one ended. Every event must arrive once, whatever the prefix and the
    /// limit.
    @Test(
        "A replay continues with `next` until everything was read",
        arguments: [
            ("", 7), ("delivery/b/", 10), ("delivery/b/rejected", 3), ("device/", 5), ("delivery/a/sent", 100_000),
        ])
    func pageByPage(_ prefix: String, _ limit: Int) async throws {
        try await BusScene.run { settings, _ in
            settings.replays.page = 20
            settings.replays.lookedAt = 60
        } _: { scene in
            var writer = LogWriter(next: 1)
            fill(scene, 400, from: &writer)
            let peer = try await scene.requester()
            var since: UInt64 = 0
            var seen: [UInt64] = []
            var rounds = 0
            while true {
                try await ask(peer, since: since, prefix: prefix, limit: limit)
                let part = try await answer(peer, after: rounds)
                rounds += 1
                let end = try #require(part.end)
                #expect(part.seqs.count <= limit && end.oldest == 1)
                #expect(end.next > since || since == 400)
                seen += part.seqs
                since = end.next
                if since == 400 { break }
            }
            #expect(seen == (1...400).filter { topic($0).hasPrefix(prefix) })
            #expect(rounds > 1)
        }
    }

    @Test("A replay reports the oldest event that is still there") func whatIsGoneIsSaid() async throws {
        try await BusScene.run { scene in
            var writer = LogWriter(next: 1)
            fill(scene, 100, from: &writer)
            scene.log.drop(3)
            let peer = try await scene.requester()
            try await ask(peer, since: 5)
            let part = try await answer(peer)
            #expect(part.seqs == Array(31...100) && part.end == End(next: 100, oldest: 31))
            try await ask(peer, since: 30)
            #expect(try await answer(peer, after: 1).end == End(next: 100, oldest: 31))
            // The request starts at the last event, and then beyond it.
            try await ask(peer, since: 100)
            let last = try await answer(peer, after: 2)
            #expect(last.seqs.isEmpty && last.end == End(next: 100, oldest: 31))
            try await ask(peer, since: 5000)
            #expect(try await answer(peer, after: 3).end == End(next: 100, oldest: 31))
        }
    }

    /// An event that was published but is not in the log must not appear in a replay.
    @Test("A replay contains only events on disk") func onlyWhatIsOnDisk() async throws {
        try await BusScene.run { scene in
            var writer = LogWriter(next: 1)
            fill(scene, 10, from: &writer)
            writer.begin(time: 1, reserving: 0)
            note(.deliverySent, "a", into: &writer)
            scene.bus.publish([writer.finish()])
            let peer = try await scene.requester()
            try await ask(peer, since: 0)
            let part = try await answer(peer)
            #expect(part.seqs == Array(1...10) && part.end?.next == 10)
        }
    }

    @Test("An empty log yields an empty replay") func anEmptyLog() async throws {
        try await BusScene.run { scene in
            let peer = try await scene.requester()
            try await ask(peer, since: 0)
            #expect(try await answer(peer).end == End(next: 0, oldest: 0))
        }
    }

    @Test("Malformed requests are rejected") func malformedRequests() async throws {
        try await BusScene.run { scene in
            let good = #"{"since":0}"#
            let requests: [([String], String)] = [
                (["replay/2", good], "bad_frame"), (["replay/1"], "bad_frame"), (["replay/1", good, ""], "bad_frame"),
                (["x"], "bad_frame"), (Array(repeating: "y", count: 30), "bad_frame"),
                (["replay/1", ""], "bad_json"), (["replay/1", "{"], "bad_json"), (["replay/1", "[]"], "bad_json"),
                (["replay/1", #"{"since":0,"since":1}"#], "bad_field"), (["replay/1", #"{"since":-1}"#], "bad_field"),
                (["replay/1", #"{"since":"0"}"#], "bad_field"), (["replay/1", #"{"since":1.5}"#], "bad_field"),
                (["replay/1", #"{"since":0,"limit":0}"#], "bad_field"),
                (["replay/1", #"{"since":0,"prefix":null}"#], "bad_field"),
                (["replay/1", #"{"since":0,"prefixes":""}"#], "bad_field"),
                (["replay/1", #"{"since":99999999999999999999}"#], "bad_field"),
            ]
            let peer = try await scene.requester()
            for (number, (frames, code)) in requests.enumerated() {
                try await peer.with { socket in
                    // The socket allows fewer frames than the protocol.
                    if frames.count > 15 {
                        _ = socket.send { outbox in for frame in frames.prefix(15) { outbox.add(Array(frame.utf8)) } }
                    } else {
                        _ = socket.send { outbox in for frame in frames { outbox.add(Array(frame.utf8)) } }
                    }
                }
                let refusal = try #require(try await answer(peer, after: number).refusal)
                #expect(refusal.error == code, "\(frames)")
                #expect(refusal.detail?.isEmpty == false)
            }
            #expect(await scene.bus.status.replaysRefused == UInt64(requests.count))
            #expect(scene.log.reads == 0)
        }
    }

    @Test("Replays above the limit are answered busy") func tooManyAtOnce() async throws {
        try await BusScene.run { settings, _ in
            settings.replays.concurrent = 2
        } _: { scene in
            var writer = LogWriter(next: 1)
            fill(scene, 10, from: &writer)
            scene.log.hold()
            let peers = [try await scene.requester(), try await scene.requester(), try await scene.requester()]
            try await ask(peers[0], since: 0)
            await scene.until { $0.replaysRunning == 1 }
            // A requester may have one replay at a time.
            try await ask(peers[0], since: 0)
            #expect(try await answer(peers[0]).refusal == Refusal(error: "busy", retry_after_ms: 250))
            try await ask(peers[1], since: 0)
            await scene.until { $0.replaysRunning == 2 }
            try await ask(peers[2], since: 0)
            #expect(try await answer(peers[2]).refusal == Refusal(error: "busy", retry_after_ms: 250))
            scene.log.letGo()
            #expect(try await answer(peers[0], after: 1).seqs.count == 10)
            #expect(try await answer(peers[1]).seqs.count == 10)
            try await ask(peers[2], since: 0)
            #expect(try await answer(peers[2], after: 1).seqs.count == 10)
        }
    }

    @Test("A failing log and a damaged segment are reported") func aLogThatFailsAndOneThatIsDamaged() async throws {
        try await BusScene.run { scene in
            var writer = LogWriter(next: 1)
            fill(scene, 40, from: &writer)
            let peer = try await scene.requester()
            scene.log.fail(LedgerFault("input/output error"))
            try await ask(peer, since: 0)
            let failed = try #require(try await answer(peer).refusal)
            #expect(failed.error == "unavailable" && failed.detail == "input/output error")
            scene.log.fail(nil)
            scene.log.replace(2, LogSegment(first: 21, count: 10, time: 1000, bytes: [1, 2, 3]))
            try await ask(peer, since: 0)
            let damaged = try await answer(peer, after: 1)
            #expect(damaged.seqs == Array(1...20))
            #expect(damaged.refusal?.error == "damaged" && damaged.refusal?.next == 30)
            try await ask(peer, since: 30)
            #expect(try await answer(peer, after: 2).seqs == Array(31...40))
        }
    }

    /// Runs a test with two clients, of which those in `observers` may observe.
    private func withKeys(
        observers: Set<String>, _ body: (BusScene, _ grafana: ZMQSecurity, _ orders: ZMQSecurity) async throws -> Void
    ) async throws {
        let server = try CurveKeyPair.generate()
        let (grafana, orders) = (try CurveKeyPair.generate(), try CurveKeyPair.generate())
        try await BusScene.run { settings, context in
            _ = try ZAPHandler(in: context, users: [grafana.publicKey: "grafana", orders.publicKey: "orders"])
            settings.replaySecurity = .curveServer(secretKey: server.secretKey, domain: "events")
            settings.observers = .withKeys(observers)
        } _: { scene in
            try await body(
                scene, .curveClient(keys: grafana, serverKey: server.publicKey),
                .curveClient(keys: orders, serverKey: server.publicKey))
        }
    }

    @Test("Only observers receive replays") func onlyWhoMayObserve() async throws {
        try await withKeys(observers: ["grafana"]) { scene, grafana, orders in
            var writer = LogWriter(next: 1)
            fill(scene, 10, from: &writer)
            let may = try await scene.requester(security: grafana)
            let mayNot = try await scene.requester(security: orders)
            try await ask(mayNot, since: 0)
            try await mayNot.ask("nonsense")
            try await ask(may, since: 0)
            #expect(try await answer(may).seqs.count == 10)
            for number in 0..<2 {
                let refused = try await answer(mayNot, after: number)
                #expect(refused.refusal == Refusal(error: "forbidden") && refused.messages.isEmpty)
            }
            await scene.bus.replaceObservers(.withKeys(["orders"]))
            await scene.settle()
            try await ask(mayNot, since: 0)
            #expect(try await answer(mayNot, after: 2).seqs.count == 10)
        }
    }

    /// The revoked replay ends, and the other one continues.
    @Test("A revoked right ends a replay") func aRightThatIsTakenEndsAReplay() async throws {
        try await withKeys(observers: ["grafana", "orders"]) { scene, grafana, orders in
            var writer = LogWriter(next: 1)
            fill(scene, 10, from: &writer)
            scene.log.hold()
            let loses = try await scene.requester(security: orders)
            let keeps = try await scene.requester(security: grafana)
            try await ask(loses, since: 0)
            try await ask(keeps, since: 0)
            await scene.until { $0.replaysRunning == 2 }
            await scene.bus.replaceObservers(.withKeys(["grafana"]))
            scene.log.letGo()
            let refused = try await answer(loses)
            #expect(refused.refusal == Refusal(error: "forbidden") && refused.messages.isEmpty)
            // The value is not computed inside the macro: with the address sanitizer, Swift 6.3.1 allocates too small a
            // frame for it.
            let seqs = try await answer(keeps).seqs
            #expect(seqs == Array(1...10))
        }
    }

    /// One observer must leave room for others, however many connections it uses.
    @Test("One key cannot use all replays") func oneKeyDoesNotHoldAllPlaces() async throws {
        try await withKeys(observers: ["grafana", "orders"]) { scene, grafana, orders in
            var writer = LogWriter(next: 1)
            fill(scene, 10, from: &writer)
            scene.log.hold()
            var greedy: [BusPeer] = []
            for number in 0..<8 {
                let peer = try await scene.requester(
                    security: grafana)
                greedy.append(peer)
                try await ask(peer, since: 0)
                await scene.until { $0.replayRequests == number + 1 }
            }
            #expect(await scene.bus.status.replaysRunning == 2)
            for peer in greedy[2...] { #expect(try await answer(peer).refusal?.error == "busy") }
            let other = try await scene.requester(security: orders)
            try await ask(other, since: 0)
            await scene.until { $0.replaysRunning == 3 }
            scene.log.letGo()
            #expect(try await answer(other).seqs.count == 10)
            for peer in greedy[..<2] { #expect(try await answer(peer).seqs.count == 10) }
        }
    }

    /// Appends 4,000 events that fill the buffers of sockets.
    private func appendLarge(to log: MemoryLog) {
        var writer = LogWriter(next: 1)
        for _ in 0..<400 {
            writer.begin(time: 1, reserving: 0)
            for _ in 0..<10 { note(.deliverySent, "a", into: &writer, padding: 5000) }
            log.append(writer.finish())
        }
    }

    /// The replay of a requester that does not read waits and is then dropped. Others are served meanwhile.
    @Test("A replay for a requester that does not read is abandoned") func whoDoesNotRead() async throws {
        try await BusScene.run { settings, _ in
            settings.replays.sendHighWater = 2
            settings.replays.patience = .milliseconds(300)
        } _: { scene in
            appendLarge(to: scene.log)
            let deaf = try await scene.requester(reads: false) { $0.receiveHighWaterMark = 1 }
            try await ask(deaf, since: 0)
            await scene.until { $0.replayRequests == 1 }
            let other = try await scene.requester()
            try await ask(other, since: 3990)
            #expect(try await answer(other).seqs == Array(3991...4000))
            await scene.until { $0.replaysAbandoned == 1 && $0.replaysRunning == 0 }
        }
    }

    /// A requester that reads slowly must receive all events.
    @Test("A requester that reads late receives everything") func whoReadsLate() async throws {
        try await BusScene.run { settings, _ in
            settings.replays.sendHighWater = 2
            settings.replays.patience = .seconds(600)
        } _: { scene in
            appendLarge(to: scene.log)
            let slow = try await scene.requester(reads: false) { $0.receiveHighWaterMark = 1 }
            try await ask(slow, since: 0)
            let quick = try await scene.requester()
            try await ask(quick, since: 0)
            #expect(try await answer(quick).seqs.count == 4000)
            #expect(await scene.bus.status.replaysRunning == 1)
            try await slow.readFromNow()
            let all = try await answer(slow)
            #expect(all.seqs == Array(1...4000) && all.end?.next == 4000)
        }
    }

    /// The bus stops during a read. It waits for the read, and nothing runs on its loop afterwards.
    @Test("A stop waits for the replays in progress") func stopsInTheMidst() async throws {
        try await BusScene.run { scene in
            var writer = LogWriter(next: 1)
            fill(scene, 10, from: &writer)
            scene.log.hold()
            let peer = try await scene.requester()
            try await ask(peer, since: 0)
            await scene.until { $0.replaysRunning == 1 }
            async let stopping: Void = scene.bus.stop()
            scene.log.letGo()
            await stopping
            #expect(await scene.bus.status.replaysRunning == 0)
        }
    }
}
