import Foundation
import PushLoop
import PushModel
import PushPipeline
import PushTransport
import PushWire
import TestSupport
import Testing

/// What somebody gets who missed some of it.
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

    /// An answer to its end: the lines in order, as topic and number, and how it ended.
    private struct Answer {
        var messages: [(topic: String, lines: [ReadLine])] = []
        var end: End?
        var refusal: Refusal?
        var seqs: [UInt64] { messages.flatMap { $0.lines.map(\.seq) } }
    }

    private func isLast(_ got: Got) -> Bool { got.frames.contains { $0.starts(with: "replay-e".utf8) } }

    /// The answer to a request, after those that `peer` has had before.
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

    /// `count` events in segments of ten, of two apps and two kinds.
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

    @Test(arguments: [false, true])
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
            // Runs of one topic stand together.
            #expect(all.messages.contains { $0.lines.count > 1 })
            #expect(all.messages.count < 1000)
        }
    }

    /// Request after request with what the one before said: everything once, whatever the prefix and the limit.
    @Test(arguments: [
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

    @Test func whatIsGoneIsSaid() async throws {
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
            // From the end, and from beyond it.
            try await ask(peer, since: 100)
            let last = try await answer(peer, after: 2)
            #expect(last.seqs.isEmpty && last.end == End(next: 100, oldest: 31))
            try await ask(peer, since: 5000)
            #expect(try await answer(peer, after: 3).end == End(next: 100, oldest: 31))
        }
    }

    /// Numbered and handed to the bus, but not in the log: no replay shows it.
    @Test func onlyWhatIsOnDisk() async throws {
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

    @Test func anEmptyLog() async throws {
        try await BusScene.run { scene in
            let peer = try await scene.requester()
            try await ask(peer, since: 0)
            #expect(try await answer(peer).end == End(next: 0, oldest: 0))
        }
    }

    @Test func malformedRequests() async throws {
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
                    // The socket's own limit of frames is below what the protocol allows.
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

    @Test func tooManyAtOnce() async throws {
        try await BusScene.run { settings, _ in
            settings.replays.concurrent = 2
        } _: { scene in
            var writer = LogWriter(next: 1)
            fill(scene, 10, from: &writer)
            scene.log.hold()
            let peers = [try await scene.requester(), try await scene.requester(), try await scene.requester()]
            try await ask(peers[0], since: 0)
            await scene.until { $0.replaysRunning == 1 }
            // One at a time for each.
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

    @Test func aLogThatFailsAndOneThatIsDamaged() async throws {
        try await BusScene.run { scene in
            var writer = LogWriter(next: 1)
            fill(scene, 40, from: &writer)
            let peer = try await scene.requester()
            scene.log.fail(LedgerFault("the disk is full of holes"))
            try await ask(peer, since: 0)
            let failed = try #require(try await answer(peer).refusal)
            #expect(failed.error == "unavailable" && failed.detail == "the disk is full of holes")
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

    /// With two clients, and with those of them as observers that are named.
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

    @Test func onlyWhoMayObserve() async throws {
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

    /// The answer under way ends with the right to it; others go on.
    @Test func aRightThatIsTakenEndsAReplay() async throws {
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
            // Not within the macro: with the address sanitizer the compiler (Swift 6.3.1) makes the frame too small.
            let seqs = try await answer(keeps).seqs
            #expect(seqs == Array(1...10))
        }
    }

    /// One observer leaves places for others, over however many connections it asks.
    @Test func oneKeyDoesNotHoldAllPlaces() async throws {
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

    /// A requester that does not read: its answer waits, then is given up; others are served meanwhile.
    @Test func whoDoesNotRead() async throws {
        try await BusScene.run { settings, _ in
            settings.replays.sendHighWater = 2
            settings.replays.patience = .milliseconds(300)
        } _: { scene in
            var writer = LogWriter(next: 1)
            for _ in 0..<400 {
                writer.begin(time: 1, reserving: 0)
                for _ in 0..<10 { note(.deliverySent, "a", into: &writer, padding: 5000) }
                scene.log.append(writer.finish())
            }
            let deaf = try await scene.requester(reads: false) { $0.receiveHighWaterMark = 1 }
            try await ask(deaf, since: 0)
            await scene.until { $0.replayRequests == 1 }
            let other = try await scene.requester()
            try await ask(other, since: 3990)
            #expect(try await answer(other).seqs == Array(3991...4000))
            await scene.until { $0.replaysAbandoned == 1 && $0.replaysRunning == 0 }
        }
    }

    /// And one that reads slowly gets all of it.
    @Test func whoReadsLate() async throws {
        try await BusScene.run { settings, _ in
            settings.replays.sendHighWater = 2
            settings.replays.patience = .seconds(600)
        } _: { scene in
            var writer = LogWriter(next: 1)
            for _ in 0..<400 {
                writer.begin(time: 1, reserving: 0)
                for _ in 0..<10 { note(.deliverySent, "a", into: &writer, padding: 5000) }
                scene.log.append(writer.finish())
            }
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

    /// The bus stops while a read is under way: it waits for it, and nothing comes after its loop's end.
    @Test func stopsInTheMidst() async throws {
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
