import Foundation
import PushLoop
import PushModel
import PushPipeline
import PushTransport
import PushWire
import TestSupport
import Testing

/// Tests of what subscribers receive of the ledger's events.
@Suite struct PublishTests {
    @Test("Only topics with subscribers are rendered") func onlyWhatIsAskedForIsRendered() async throws {
        try await BusScene.run { scene in
            var writer = LogWriter(next: 1)
            scene.commit(&writer) { note(.deliverySent, "shop", into: &$0) }
            // The event is processed before anybody subscribes.
            await scene.bus.loop.run {}
            let shop = try await scene.subscriber("delivery/shop/")
            await scene.until(["delivery/shop/"])
            scene.commit(&writer) {
                note(.deliverySent, "shop", into: &$0)
                note(.deliverySent, "shopping", into: &$0)
                note(.messageAccepted, "shop", into: &$0)
                note(.deliverySent, "shop", into: &$0)
                note(.deliveryRejected, "shop", into: &$0)
            }
            let got = await shop.got.wait(count: 2)
            #expect(got.map(\.topic).sorted() == ["delivery/shop/rejected", "delivery/shop/sent"])
            let sent = try #require(got.first { $0.topic == "delivery/shop/sent" })
            #expect(sent.frames.count == 2)
            #expect(
                try ReadLine.all(of: sent.frames[1]) == [
                    ReadLine(seq: 2, prev: 1, topic: "delivery/shop/sent"),
                    ReadLine(seq: 5, prev: 2, topic: "delivery/shop/sent"),
                ])
            let status = await scene.bus.status
            #expect(status.published == 3 && status.messages == 2 && status.last == 6 && status.dropped == 0)
        }
    }

    /// Covers overlapping prefixes, the end of one of two, a subscriber that disconnects, and one that connects late.
    @Test("Subscriptions are counted when they begin and end") func subscriptionsComeAndGo() async throws {
        try await BusScene.run { scene in
            var writer = LogWriter(next: 1)
            let wide = try await scene.subscriber("delivery/", "delivery/shop/", "heart")
            let narrow = try await scene.subscriber("delivery/shop/")
            await scene.until(["delivery/", "delivery/shop/", "heart"])
            try await wide.with { try $0.unsubscribe("delivery/") }
            await scene.until(["delivery/shop/", "heart"])
            await wide.close()
            await scene.until(["delivery/shop/"])
            scene.commit(&writer) {
                note(.deliverySent, "shop", into: &$0)
                note(.deliverySent, "other", into: &$0)
            }
            #expect(await narrow.got.wait(count: 1).map(\.topic) == ["delivery/shop/sent"])
            // A cancelled prefix is still rendered, and libzmq sends it to nobody.
            #expect(await scene.bus.status.published == 2)
            await narrow.close()
            await scene.until([])
            scene.commit(&writer) { note(.messageAccepted, "shop", into: &$0) }
            // The event is processed before anybody subscribes.
            await scene.bus.loop.run {}
            // The subscription does not include heartbeats, because a second may pass here.
            let late = try await scene.subscriber("message/", "device/")
            await scene.until(["device/", "message/"])
            scene.commit(&writer) { note(.deviceBrake, nil, into: &$0) }
            let first = await late.got.wait(count: 1).map(\.topic)
            #expect(first == ["device/-/brake"])
            #expect(await scene.bus.status.published == 3)
        }
    }

    /// libzmq 4.3 reports that the last subscriber has gone, and still sends to the other subscribers.
    @Test("A peer that cancels a prefix it never subscribed to takes nothing from others")
    func whoCancelsWhatItNeverAskedForTakesNothingFromOthers() async throws {
        try await BusScene.run { scene in
            var writer = LogWriter(next: 1)
            let honest = try await scene.subscriber("delivery/")
            await scene.until(["delivery/"])
            let foreign = try RawPeer(to: scene.endpoints.publish)
            foreign.write(RawPeer.greeting)
            _ = foreign.read(64)
            foreign.write(RawPeer.ready(as: "SUB"))
            foreign.write(RawPeer.frame(Array("\u{0}delivery/".utf8), more: false))
            foreign.write(RawPeer.frame(Array("\u{1}last".utf8), more: false))
            await scene.until { $0.prefixes.contains("last") }
            scene.commit(&writer) { note(.deliverySent, "shop", into: &$0) }
            #expect(await scene.bus.status.published == 1)
            if await scene.bus.status.published == 1 { _ = await honest.got.wait(count: 1) }
        }
    }

    /// Publishes thousands of events in random segments. Each subscriber must see each topic's numbers ascend, and each
    /// event refer to the one before it.
    @Test("Subscribers to any prefix receive unbroken chains of events") func chainsAreWhole() async throws {
        try await BusScene.run { scene in
            let prefixes = ["", "delivery/", "delivery/app1/", "message/app2/completed"]
            var subscribers: [BusPeer] = []
            for prefix in prefixes {
                subscribers.append(try await scene.subscriber(prefix) { $0.receiveHighWaterMark = 100_000 })
            }
            await scene.until(prefixes)
            var random = SeededRandom(seed: 9)
            var writer = LogWriter(next: 1)
            var expected: [String: [UInt64]] = [:]
            var total = 0
            for _ in 0..<200 {
                writer.setMark()
                writer.begin(time: 1000, reserving: 0)
                var chosen: [(UInt64, String)] = []
                for _ in 0..<Int.random(in: 1...80, using: &random) {
                    let kind = EventKind.allCases.randomElement(using: &random)!
                    let app = ["app1", "app2", "app3", nil].randomElement(using: &random)!
                    chosen.append((writer.next, kind.topic(of: app.flatMap { AppID($0) })))
                    note(kind, app, into: &writer)
                }
                if Int.random(in: 0..<5, using: &random) == 0 {
                    writer.revert()
                    continue
                }
                scene.bus.publish([writer.finish()])
                total += chosen.count
                for (seq, topic) in chosen { expected[topic, default: []].append(seq) }
            }
            for (prefix, subscriber) in zip(prefixes, subscribers) {
                let wanted = expected.filter { $0.key.hasPrefix(prefix) }
                let lines = wanted.values.reduce(0) { $0 + $1.count }
                // A subscriber to all topics also receives heartbeats.
                let count = Locked((messages: 0, lines: 0))
                let messages = await subscriber.got.wait { got in
                    count.withLock { count in
                        for one in got[count.messages...] where one.topic != "heartbeat" {
                            count.lines += 1 + one.frames[1].count { $0 == UInt8(ascii: "\n") }
                        }
                        count.messages = got.count
                        return count.lines >= lines
                    }
                }
                var seen: [String: [UInt64]] = [:]
                for message in messages where message.topic != "heartbeat" {
                    for line in try ReadLine.all(of: message.frames[1]) {
                        #expect(line.topic == message.topic)
                        #expect(line.prev == seen[message.topic]?.last ?? 0)
                        seen[message.topic, default: []].append(line.seq)
                    }
                }
                #expect(seen == wanted)
            }
            #expect(total > 4000)
        }
    }

    @Test("A message ends at the limits for lines and bytes") func aMessageHasAnEnd() async throws {
        try await BusScene.run { settings, _ in
            settings.messageLines = 100
            settings.messageBytes = 20_000
        } _: { scene in
            let all = try await scene.subscriber("delivery/")
            await scene.until(["delivery/"])
            var writer = LogWriter(next: 1)
            writer.begin(time: 1000, reserving: 0)
            for _ in 0..<250 { note(.deliverySent, "a", into: &writer) }
            for _ in 0..<9 { note(.deliveryRejected, "a", into: &writer, padding: 6000) }
            scene.bus.publish([writer.finish()])
            let got = await all.got.wait { $0.reduce(0) { $0 + $1.frames[1].split(separator: 10).count } == 259 }
            let sent = got.filter { $0.topic == "delivery/a/sent" }
            let rejected = got.filter { $0.topic == "delivery/a/rejected" }
            #expect(try sent.map { try ReadLine.all(of: $0.frames[1]).count } == [100, 100, 50])
            #expect(try rejected.map { try ReadLine.all(of: $0.frames[1]).count } == [4, 4, 1])
            #expect(try sent.flatMap { try ReadLine.all(of: $0.frames[1]).map(\.seq) } == Array(1...250))
        }
    }

    /// A burst from another thread must arrive in order, in few messages.
    @Test("The events of a burst are packed into few messages") func aBurstIsPacked() async throws {
        try await BusScene.run { scene in
            let all = try await scene.subscriber("delivery/")
            await scene.until(["delivery/"])
            var writer = LogWriter(next: 1)
            let gate = DispatchSemaphore(value: 0)
            scene.loop.execute { gate.wait() }
            for _ in 0..<1000 { scene.commit(&writer) { note(.deliverySent, "a", into: &$0) } }
            gate.signal()
            let got = await all.got.wait { $0.reduce(0) { $0 + $1.frames[1].split(separator: 10).count } == 1000 }
            #expect(try got.flatMap { try ReadLine.all(of: $0.frames[1]).map(\.seq) } == Array(1...1000))
            #expect(got.count < 10)
        }
    }

    /// The loop is blocked. Events above the limit stay in the log only, and the next event of the topic shows the gap.
    @Test("The inbox is bounded, and a gap is visible") func theInboxIsBounded() async throws {
        try await BusScene.run { settings, _ in
            settings.inboxBytes = 100_000
        } _: { scene in
            let all = try await scene.subscriber("delivery/")
            await scene.until(["delivery/"])
            var writer = LogWriter(next: 1)
            let gate = DispatchSemaphore(value: 0)
            scene.loop.execute { gate.wait() }
            for _ in 0..<2000 { scene.commit(&writer) { note(.deliverySent, "a", into: &$0, padding: 200) } }
            gate.signal()
            await scene.until { $0.published + $0.dropped == 2000 }
            let dropped = await scene.bus.status.dropped
            #expect(dropped > 1000 && dropped < 2000)
            scene.commit(&writer) { note(.deliverySent, "a", into: &$0) }
            let got = await all.got.wait {
                $0.last.map { (try? ReadLine.all(of: $0.frames[1]).last?.seq) == 2001 } ?? false
            }
            let lines = try got.flatMap { try ReadLine.all(of: $0.frames[1]) }
            #expect(lines.last?.prev == 2000 && lines.dropLast().last?.seq == 2000 - dropped)
        }
    }

    // MARK: Heartbeat

    private struct Beat: Equatable {
        let seq: UInt64
        let topics: [String: UInt64]
    }

    private struct SentBeat: Decodable {
        let seq: UInt64
        let ts: Int64
        let topics: [String: UInt64]
    }

    private func beat(_ got: Got?) throws -> Beat {
        let got = try #require(got)
        #expect(got.frames.count == 2 && got.topic == "heartbeat" && !got.frames[1].contains(10))
        let beat = try JSONDecoder().decode(SentBeat.self, from: Data(got.frames[1]))
        #expect(beat.ts == BusScene.wall.milliseconds)
        return Beat(seq: beat.seq, topics: beat.topics)
    }

    @Test("The heartbeat lists the topics of the last minute") func theHeartTellsOfTheLastMinute() async throws {
        let heads = [
            LogWriter.Head(app: AppID("shop"), kind: .deliverySent, seq: 40),
            LogWriter.Head(app: nil, kind: .deviceBrake, seq: 41),
        ]
        try await BusScene.run(clock: .manual(), last: 41, heads: heads) { scene in
            let watcher = try await scene.subscriber("heartbeat")
            await scene.until(["heartbeat"])
            await scene.loop.advance(by: .milliseconds(1000))
            let first = try beat(await watcher.got.wait(count: 1).last)
            #expect(first == Beat(seq: 41, topics: ["delivery/shop/sent": 40, "device/-/brake": 41]))
            var writer = LogWriter(next: 42, heads: heads)
            await scene.loop.advance(by: .milliseconds(29_500))
            // These topics have no subscribers.
            scene.commit(&writer) {
                note(.deliverySent, "shop", into: &$0)
                note(.messageAccepted, "shop", into: &$0)
            }
            await scene.until { $0.last == 43 }
            await scene.loop.advance(by: .milliseconds(500))
            let second = try beat(await watcher.got.wait(count: 31).last)
            #expect(
                second
                    == Beat(
                        seq: 43, topics: ["delivery/shop/sent": 42, "device/-/brake": 41, "message/shop/accepted": 43]))
            await scene.loop.advance(by: .seconds(30))
            let third = try beat(await watcher.got.wait(count: 61).last)
            #expect(third == Beat(seq: 43, topics: ["delivery/shop/sent": 42, "message/shop/accepted": 43]))
            await scene.loop.advance(by: .seconds(30))
            let fourth = try beat(await watcher.got.wait(count: 91).last)
            #expect(fourth == Beat(seq: 43, topics: [:]))
            #expect(await scene.bus.status.published == 0)
        }
    }

    @Test("No heartbeat is sent without a subscriber") func noHeartbeatForNobody() async throws {
        try await BusScene.run(clock: .manual()) { scene in
            let other = try await scene.subscriber("delivery/")
            await scene.until(["delivery/"])
            await scene.loop.advance(by: .seconds(5))
            #expect(await scene.bus.status.messages == 0)
            #expect(other.got.events.isEmpty)
        }
    }

    // MARK: Opening and stopping

    @Test("A stopped bus publishes nothing, and may be stopped again") func stopsAndStaysQuiet() async throws {
        try await BusScene.run { scene in
            var writer = LogWriter(next: 1)
            await scene.bus.stop()
            await scene.bus.stop()
            scene.commit(&writer) { note(.deliverySent, "a", into: &$0) }
            #expect(await scene.bus.status.published == 0)
        }
    }

    @Test("A port in use is an error") func aPortThatIsTakenIsSaid() async throws {
        try await BusScene.run { scene in
            for (publish, replay) in [
                (scene.endpoints.publish, "tcp://127.0.0.1:*"), ("tcp://127.0.0.1:*", scene.endpoints.replay),
            ] {
                let settings = EventBusSettings(publish: publish, replay: replay)
                let second = EventBus(on: scene.loop, in: scene.context, log: scene.log, settings: settings)
                do {
                    _ = try await second.open()
                    Issue.record("two sockets on one port")
                } catch {
                    #expect("\(error)".contains("bind"))
                }
            }
        }
    }
}
