import Foundation
import PushLoop
import PushModel
import PushPipeline
import PushWire
import TestSupport
import Testing

/// Tests of a subscriber to two nodes, between which the parts of the log move.
@Suite struct MovingPartsTests {
    private struct Topic: Hashable {
        let part: Int
        let name: String
    }

    private struct Event: Hashable {
        let part: Int
        let seq: UInt64
    }

    /// A subscriber that follows the rules of Protocol.md, with a place for each part.
    private struct Follower {
        var last: [Topic: UInt64] = [:]
        var base: [Int: UInt64] = [:]
        var taken: [Event] = []
        var replays = 0

        func isMissing(_ seq: UInt64, _ topic: Topic) -> Bool {
            seq > last[topic] ?? 0 && seq > base[topic.part] ?? 0
        }

        mutating func take(_ seq: UInt64, _ topic: Topic) {
            guard isMissing(seq, topic) else { return }
            last[topic] = seq
            taken.append(Event(part: topic.part, seq: seq))
        }
    }

    private struct Line {
        let topic: Topic
        let seq: UInt64
        let prev: UInt64

        static func all(_ topic: String, _ bytes: [UInt8]) throws -> [Line] {
            try bytes.split(separator: 10).map { line in
                let event = try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
                func number(_ name: String) -> UInt64? { (event[name] as? NSNumber)?.uint64Value }
                return Line(
                    topic: Topic(part: Int(number("part") ?? 0), name: topic), seq: try #require(number("seq")),
                    prev: try #require(number("prev")))
            }
        }
    }

    private struct Beat: Decodable {
        struct Part: Decodable {
            let seq: UInt64
            let topics: [String: UInt64]
        }

        let parts: [String: Part]
    }

    /// Parts open here and there; a tenth of the segments is never published, as if a node had died before.
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `Nothing is missing and nothing is taken twice while parts move`(_ seed: UInt64) async throws {
        try await BusScene.run(clock: .manual()) { settings, _ in
            settings.isOfCluster = true
        } _: { scene in
            scene.log.partCount = 4
            var settings = EventBusSettings(publish: "tcp://127.0.0.1:*", replay: "tcp://127.0.0.1:*")
            settings.isOfCluster = true
            settings.connectionLimits.growth = .max
            let second = EventBus(on: scene.loop, in: scene.context, log: scene.log, settings: settings)
            let endpoints = try await second.open()
            let buses = [scene.bus, second]
            let subscriber = try await scene.subscriber("delivery/", "heartbeat")
            try await subscriber.connect(try #require(endpoints.publish))
            await scene.until(["delivery/", "heartbeat"])
            await wait(while: await second.status.prefixes.count < 2)
            let committed = move(scene, buses, seed: seed)
            // The last heartbeats say what was not published.
            for bus in buses { _ = await bus.status }
            await scene.loop.advance(by: .seconds(1))
            let messages = await subscriber.got.wait { got in got.count { $0.topic == "heartbeat" } == 2 }
            let asked = [try await scene.requester(), try await BusPeer(.dealer, scene)]
            try await asked[1].connect(try #require(endpoints.replay))
            let follower = try await follow(messages, asking: asked)
            #expect(follower.taken.count == Set(follower.taken).count)
            #expect(Set(follower.taken) == committed && committed.count > 300)
            #expect(follower.replays > 0)
            await asked[1].close()
            await second.stop()
        }
    }

    /// Commits events and moves parts between the buses. Returns all events.
    private func move(_ scene: BusScene, _ buses: [EventBus], seed: UInt64) -> Set<Event> {
        var random = SeededRandom(seed: seed)
        var writers = (0..<4).map { LogWriter(next: EventNumber.base(of: $0) + 1) }
        var owners: [Int] = []
        for part in 0..<4 {
            owners.append(part % 2)
            buses[part % 2].opened(PartitionID(part)!, newest: EventNumber.base(of: part), heads: [])
        }
        var committed: Set<Event> = []
        for _ in 0..<200 {
            let part = Int.random(in: 0..<4, using: &random)
            if Int.random(in: 0..<10, using: &random) == 0 {
                buses[owners[part]].closed(PartitionID(part)!)
                owners[part] = 1 - owners[part]
                buses[owners[part]].opened(
                    PartitionID(part)!, newest: writers[part].next - 1, heads: writers[part].topics)
            }
            writers[part].begin(time: 1000, reserving: 0)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                committed.insert(Event(part: part, seq: EventNumber.within(writers[part].next)))
                let kind: EventKind = Bool.random(using: &random) ? .deliverySent : .deliveryRejected
                note(kind, ["a", "b"].randomElement(using: &random), into: &writers[part])
            }
            let segment = writers[part].finish()
            scene.log.append(segment)
            if Int.random(in: 0..<10, using: &random) > 0 { buses[owners[part]].publish([segment]) }
        }
        for part in 0..<4 {
            buses[owners[part]].closed(PartitionID(part)!)
            buses[owners[part]].opened(
                PartitionID(part)!, newest: writers[part].next - 1, heads: writers[part].topics)
        }
        return committed
    }

    /// Takes the messages in the order of their arrival, and asks any of the nodes for what is missing.
    private func follow(_ messages: [Got], asking peers: [BusPeer]) async throws -> Follower {
        var follower = Follower()
        for message in messages {
            if message.topic == "heartbeat" {
                let beat = try JSONDecoder().decode(Beat.self, from: Data(message.frames[1]))
                for (name, part) in beat.parts {
                    let number = try #require(Int(name))
                    let isBehind = part.topics.contains {
                        follower.isMissing($0.value, Topic(part: number, name: $0.key))
                    }
                    if isBehind { try await replay(number, &follower, peers) }
                    follower.base[number] = max(follower.base[number] ?? 0, part.seq)
                }
                continue
            }
            for line in try Line.all(message.topic, message.frames[1]) {
                if follower.isMissing(line.prev, line.topic) { try await replay(line.topic.part, &follower, peers) }
                follower.take(line.seq, line.topic)
            }
        }
        return follower
    }

    private func replay(_ part: Int, _ follower: inout Follower, _ peers: [BusPeer]) async throws {
        follower.replays += 1
        let peer = peers[follower.replays % peers.count]
        let earlier = peer.got.events.count
        try await peer.ask(
            "replay/1", #"{"since":\#(follower.base[part] ?? 0),"part":\#(part),"prefix":"delivery/","limit":100000}"#)
        let got = await peer.got.wait { got in got.dropFirst(earlier).contains { $0.topic.hasPrefix("replay-e") } }
        for one in got.dropFirst(earlier) where one.topic == "event/1" {
            for line in try Line.all(one.texts[1], one.frames[2]) { follower.take(line.seq, line.topic) }
        }
        let end = try #require(got.last)
        let next = try #require(try JSONSerialization.jsonObject(with: Data(end.frames[1])) as? [String: Any])
        follower.base[part] = try #require(next["next"] as? NSNumber).uint64Value
    }
}
