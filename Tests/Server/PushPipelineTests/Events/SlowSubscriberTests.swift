import Foundation
import PushLoop
import PushModel
import PushPipeline
import PushTransport
import PushWire
import TestSupport
import Testing

/// Tests of subscribers that do not read, that subscribe to too much, and that are written in Python.
@Suite(.serialized) struct SlowSubscriberTests {
    /// Publishes much more than libzmq queues for a subscriber that has stopped reading. It loses events and the others
    /// do not. When it reads again, it sees the gap by `prev` and gets the rest by replay.
    @Test("A subscriber that stops reading does not delay others") func whoStopsReadingHoldsNobodyUp() async throws {
        try await BusScene.run { settings, _ in
            settings.sendHighWater = 40
        } _: { scene in
            let deaf = try await scene.subscriber("delivery/", reads: false) { $0.receiveHighWaterMark = 1 }
            let quick = try await scene.subscriber("delivery/a/") { $0.receiveHighWaterMark = 100_000 }
            await scene.until(["delivery/", "delivery/a/"])
            var writer = LogWriter(next: 1)
            // The lines are 50 MB in messages of 64 KiB.
            let total: UInt64 = 5000
            while writer.next <= total {
                let from = writer.next
                writer.begin(time: 1000, reserving: 0)
                for _ in 0..<100 { note(.deliverySent, "a", into: &writer, padding: 10_000) }
                let segment = writer.finish()
                // The test reads only the end of the log; the whole log would use most of the memory.
                if from > total - 1000 { scene.log.append(segment) }
                scene.bus.publish([segment])
                // The quick subscriber has a queue of the same length, so the test waits until it keeps up. Seven lines
                // fill a message.
                await quick.got.wait(count: Int(from / 100 + 1) * 15)
            }
            await scene.until { $0.published + $0.dropped == total }
            #expect(await scene.bus.status.dropped == 0)

            // The slow subscriber reads again.
            try await deaf.readFromNow()
            // Events are lost for it until it has read from its full queue.
            while !deaf.got.events.contains(where: { $0.topic == "delivery/z/rejected" }) {
                scene.commit(&writer) { note(.deliveryRejected, "z", into: &$0) }
                await scene.until { $0.published + $0.dropped == writer.next - 1 }
            }
            let got = deaf.got.events
            var gaps: [(from: UInt64, to: UInt64)] = []
            var seen: [String: UInt64] = [:]
            for one in got {
                for line in try ReadLine.all(of: one.frames[1]) {
                    if line.prev != seen[line.topic] ?? 0 { gaps.append((seen[line.topic] ?? 0, line.prev)) }
                    seen[line.topic] = line.seq
                }
            }
            // If it missed the last events, only the heartbeat shows it. A gap before them shows in `prev`.
            #expect(gaps.contains { $0.to > $0.from } || (seen["delivery/a/sent"] ?? 0) < total)
            #expect(got.reduce(0) { $0 + $1.frames[1].count } < 30 << 20)
            let requester = try await scene.requester()
            try await requester.ask("replay/1", #"{"since":\#(total - 10),"prefix":"delivery/a/","limit":5}"#)
            let replayed = await requester.got.wait { $0.last?.topic == "replay-end/1" }
            #expect(try ReadLine.all(of: replayed[0].frames[2]).map(\.seq) == Array((total - 9)...(total - 5)))
        }
    }

    /// One subscriber has a hundred thousand prefixes, several times the limit. Then every topic is rendered, and all
    /// subscribers receive their events.
    @Test("Too many prefixes make the bus render everything until they end") func aFloodOfSubscriptions() async throws {
        try await BusScene.run { scene in
            let flood = try await scene.subscriber() { $0.sendHighWaterMark = 0 }
            let honest = try await scene.subscriber("delivery/a/")
            await scene.until(["delivery/a/"])
            try await flood.with { socket in
                for number in 0..<100_000 { try socket.subscribe("delivery/app-\(number)/sent") }
                try socket.subscribe(String(repeating: "x", count: 500))
            }
            await scene.until { $0.rendersAll }
            #expect(await scene.bus.status.prefixCount == 16_384)
            var writer = LogWriter(next: 1)
            for _ in 0..<50 {
                scene.commit(&writer) {
                    note(.deliverySent, "a", into: &$0)
                    note(.deliverySent, "app-99999", into: &$0)
                }
            }
            let got = await honest.got.wait { $0.reduce(0) { $0 + $1.frames[1].split(separator: 10).count } == 50 }
            #expect(got.allSatisfy { $0.topic == "delivery/a/sent" })
            // When the subscriber has gone, only subscribed topics are rendered again.
            await flood.close()
            await scene.until { !$0.rendersAll && $0.prefixCount == 1 }
            let before = await scene.bus.status.messages
            scene.commit(&writer) { note(.deliverySent, "app-99999", into: &$0) }
            await scene.settle()
            #expect(await scene.bus.status.messages == before)
            // A late subscriber receives its events as well.
            let late = try await scene.subscriber("delivery/late/")
            while late.got.events.isEmpty {
                scene.commit(&writer) { note(.deliverySent, "late", into: &$0) }
                await pace()
            }
        }
    }

    /// Cancelled prefixes count until their subscriber has disconnected, so the table does not stay full.
    @Test("Cancelled prefixes are forgotten when nobody is connected")
    func whatWasCancelledIsForgottenWhenNobodyIsLeft() async throws {
        try await BusScene.run(clock: .manual()) { settings, _ in
            settings.prefixLimit = 4
        } _: { scene in
            let fickle = try await scene.subscriber()
            try await fickle.with { socket in
                for number in 0..<6 { try socket.subscribe("delivery/app-\(number)/") }
            }
            await scene.until { $0.rendersAll && $0.prefixCount == 4 }
            try await fickle.with { socket in
                for number in 0..<6 { try socket.unsubscribe("delivery/app-\(number)/") }
            }
            await scene.until { $0.prefixCount == 0 }
            await scene.loop.advance(by: .seconds(5))
            #expect(await scene.bus.status.rendersAll, "others may still be subscribed")
            await fickle.close()
            await scene.until { $0.connections == 0 }
            await scene.loop.advance(by: .seconds(5))
            #expect(await !scene.bus.status.rendersAll)
            // There is room for new prefixes.
            let late = try await scene.subscriber("delivery/late/")
            await scene.until(["delivery/late/"])
            var writer = LogWriter(next: 1)
            scene.commit(&writer) {
                note(.deliverySent, "late", into: &$0)
                note(.deliverySent, "app-1", into: &$0)
            }
            #expect(await late.got.wait(count: 1).map(\.topic) == ["delivery/late/sent"])
            #expect(await scene.bus.status.published == 1)
        }
    }

    /// Runs where Python has the module `zmq`, because monitoring scripts are often written in Python.
    @Test(
        "A subscriber in Python receives events and a replay",
        .enabled(if: FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/zmq")))
    func aPythonSubscriber() async throws {
        try await BusScene.run { scene in
            let script = """
                import json, sys, zmq
                context = zmq.Context()
                sub = context.socket(zmq.SUB)
                sub.setsockopt(zmq.SUBSCRIBE, b"delivery/")
                sub.connect(sys.argv[1])
                topic, lines = sub.recv_multipart()
                events = [json.loads(line) for line in lines.decode().split("\\n")]
                print(topic.decode(), [e["seq"] for e in events], events[0]["family"], events[0]["prev"], flush=True)
                req = context.socket(zmq.REQ)
                req.connect(sys.argv[2])
                req.send_multipart([b"replay/1", b'{"since": 0, "prefix": "device/"}'])
                kind, body = req.recv_multipart()
                print(kind.decode(), json.loads(body)["next"], flush=True)
                """
            let child = try ChildProcess(
                "/usr/bin/python3", ["-c", script, scene.endpoints.publish, scene.endpoints.replay])
            await scene.until(["delivery/"])
            var writer = LogWriter(next: 1)
            scene.commit(&writer) { for _ in 0..<3 { note(.deliverySent, "shop", into: &$0) } }
            #expect(try await child.line() == "delivery/shop/sent [1, 2, 3] delivery 0")
            #expect(try await child.line() == "replay-end/1 3")
            #expect(try await child.end().status == 0)
        }
    }
}
