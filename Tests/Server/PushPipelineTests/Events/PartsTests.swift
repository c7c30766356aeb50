import Foundation
import PushLoop
import PushModel
import PushPipeline
import PushTransport
import PushWire
import TestSupport
import Testing

/// Tests of a bus whose log has several parts.
@Suite struct PartsTests {
    private static func part(_ number: Int) -> PartitionID { PartitionID(number)! }

    private func writer(_ part: Int) -> LogWriter { LogWriter(next: EventNumber.base(of: part) + 1) }

    /// A line with its part.
    private struct PartLine: Equatable, Sendable {
        var part: Int
        var line: ReadLine

        static func all(of message: Got) throws -> [PartLine] {
            let lines = message.frames[1].split(separator: UInt8(ascii: "\n"))
            return try zip(ReadLine.all(of: message.frames[1]), lines).map { line, text in
                let members = try JSONSerialization.jsonObject(with: Data(text)) as? [String: Any] ?? [:]
                return PartLine(part: (members["part"] as? NSNumber)?.intValue ?? 0, line: line)
            }
        }
    }

    private struct Beat: Decodable, Equatable, Sendable {
        struct Part: Decodable, Equatable, Sendable {
            let seq: UInt64
            let topics: [String: UInt64]
        }

        let ts: Int64
        let parts: [String: Part]
    }

    private func beat(_ got: Got?) throws -> Beat {
        let got = try #require(got)
        #expect(got.topic == "heartbeat" && got.frames.count == 2)
        return try JSONDecoder().decode(Beat.self, from: Data(got.frames[1]))
    }

    /// Segments of five parts arrive in any order. Each event names the one before it in its part and topic.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func `Chains are whole for each part and topic`(_ seed: UInt64) async throws {
        try await BusScene.run { settings, _ in
            settings.isOfCluster = true
            settings.messageLines = 50
        } _: { scene in
            var random = SeededRandom(seed: seed)
            let parts = [0, 1, 3, 63, 255]
            let all = try await scene.subscriber("delivery/")
            await scene.until(["delivery/"])
            for part in parts { scene.bus.opened(Self.part(part), newest: EventNumber.base(of: part), heads: []) }
            var writers = parts.map { writer($0) }
            var expected: [String: [UInt64]] = [:]
            for _ in 0..<300 {
                let index = Int.random(in: parts.indices, using: &random)
                scene.commit(&writers[index]) { writer in
                    for _ in 0..<Int.random(in: 1...9, using: &random) {
                        let app = ["a", "b"].randomElement(using: &random)!
                        let kind: EventKind = Bool.random(using: &random) ? .deliverySent : .deliveryRejected
                        expected["\(parts[index]) \(kind.topic(of: AppID(app)))", default: []].append(
                            EventNumber.within(writer.next))
                        note(kind, app, into: &writer)
                    }
                }
            }
            let total = expected.values.reduce(0) { $0 + $1.count }
            let messages = await all.got.wait { got in
                got.reduce(0) { $0 + $1.frames[1].split(separator: 10).count } == total
            }
            var seen: [String: [UInt64]] = [:]
            for message in messages {
                for one in try PartLine.all(of: message) {
                    #expect(one.line.topic == message.topic)
                    let name = "\(one.part) \(message.topic)"
                    #expect(one.line.prev == seen[name]?.last ?? 0)
                    seen[name, default: []].append(one.line.seq)
                }
            }
            #expect(seen == expected)
            let newest = writers.map { EventNumber.within($0.next) - 1 }.reduce(0, +)
            let status = await scene.bus.status
            #expect(status.last == newest && status.rendered == newest)
        }
    }

    @Test func `Heartbeats list the parts that are open`() async throws {
        try await BusScene.run(clock: .manual()) { settings, _ in
            settings.isOfCluster = true
        } _: { scene in
            let watcher = try await scene.subscriber("heartbeat")
            await scene.until(["heartbeat"])
            await scene.loop.advance(by: .seconds(1))
            let wall = BusScene.wall.milliseconds
            #expect(try beat(await watcher.got.wait(count: 1).last) == Beat(ts: wall, parts: [:]))
            let base = EventNumber.base(of: 3)
            let heads = [LogWriter.Head(app: AppID("shop"), kind: .deliverySent, seq: base + 40)]
            scene.bus.opened(Self.part(3), newest: base + 41, heads: heads)
            scene.bus.opened(Self.part(0), newest: 0, heads: [])
            await scene.until { $0.last == 41 && $0.rendered == 41 }
            await scene.loop.advance(by: .seconds(1))
            let empty = Beat.Part(seq: 0, topics: [:])
            #expect(
                try beat(await watcher.got.wait(count: 2).last)
                    == Beat(ts: wall, parts: ["0": empty, "3": .init(seq: 41, topics: ["delivery/shop/sent": 40])]))
            // The topic has an event in both parts; each part has its own last number.
            var (zeroth, third) = (writer(0), LogWriter(next: base + 42, heads: heads))
            scene.commit(&zeroth) { note(.deliverySent, "shop", into: &$0) }
            scene.commit(&third) { note(.deliverySent, "shop", into: &$0) }
            await scene.until { $0.rendered == 43 }
            await scene.loop.advance(by: .seconds(1))
            let both = try beat(await watcher.got.wait(count: 3).last)
            #expect(
                both.parts == [
                    "0": .init(seq: 1, topics: ["delivery/shop/sent": 1]),
                    "3": .init(seq: 42, topics: ["delivery/shop/sent": 42]),
                ])
            scene.bus.closed(Self.part(3))
            await scene.until { $0.rendered == 1 }
            // What is handed in after the end is published and not listed.
            scene.commit(&third) { note(.deliverySent, "shop", into: &$0) }
            await scene.bus.loop.run {}
            await scene.loop.advance(by: .seconds(1))
            let closed = try beat(await watcher.got.wait(count: 4).last)
            #expect(closed.parts == ["0": .init(seq: 1, topics: ["delivery/shop/sent": 1])])
            // The part comes back with what another node wrote meanwhile.
            scene.bus.opened(
                Self.part(3), newest: base + 50, heads: [.init(app: nil, kind: .deviceBrake, seq: base + 50)])
            await scene.until { $0.rendered == 51 }
            await scene.loop.advance(by: .seconds(1))
            let again = try beat(await watcher.got.wait(count: 5).last)
            #expect(again.parts["3"]?.seq == 50 && again.parts["3"]?.topics["device/-/brake"] == 50)
        }
    }

    @Test func `Heartbeats of many parts and topics are split`() async throws {
        try await BusScene.run(clock: .manual()) { settings, _ in
            settings.isOfCluster = true
            settings.messageBytes = 2000
        } _: { scene in
            let watcher = try await scene.subscriber("heartbeat")
            await scene.until(["heartbeat"])
            var total: UInt64 = 0
            for part in 0..<64 {
                let base = EventNumber.base(of: part)
                let heads = (1...20).map { LogWriter.Head(app: AppID("app\($0)"), kind: .deliverySent, seq: base + $0) }
                scene.bus.opened(Self.part(part), newest: base + 20, heads: heads)
                total += 20
            }
            await scene.until { [total] in $0.rendered == total }
            await scene.loop.advance(by: .seconds(1))
            let messages = await watcher.got.wait { got in
                got.contains { String(decoding: $0.frames[1], as: UTF8.self).contains(#""63":"#) }
            }
            #expect(messages.count > 10)
            var parts: [String: Beat.Part] = [:]
            for message in messages {
                // A message ends with the first part that exceeds the limit.
                #expect(message.frames[1].count < 2000 + 1000)
                try parts.merge(beat(message).parts) { one, _ in
                    Issue.record("a part is in two messages")
                    return one
                }
            }
            #expect(parts.count == 64 && parts.values.allSatisfy { $0.seq == 20 && $0.topics.count == 20 })
        }
    }
}
