import Foundation
import PushLoop
import PushModel
import PushPipeline
import PushWire
import TestSupport
import Testing

/// Tests of replays of a log that has several parts.
@Suite struct ReplayPartsTests {
    private struct Number: Hashable, Sendable {
        let part: Int
        let seq: UInt64
    }

    private struct Answer {
        var numbers: [Number] = []
        var end: [String: Any] = [:]
        var error: [String: Any]?
        var next: [String: UInt64] { (end["next"] as? [String: NSNumber] ?? [:]).mapValues(\.uint64Value) }
    }

    private static func isLast(_ got: Got) -> Bool { got.topic.hasPrefix("replay-e") }

    /// Asks and waits for the whole answer.
    private func ask(_ peer: BusPeer, _ request: String) async throws -> Answer {
        let earlier = peer.got.events.count
        try await peer.ask("replay/1", request)
        let got = await peer.got.wait { got in got.dropFirst(earlier).contains { Self.isLast($0) } }
        var answer = Answer()
        for one in got.dropFirst(earlier) {
            let object = Self.isLast(one) ? try JSONSerialization.jsonObject(with: Data(one.frames[1])) : nil
            switch one.topic {
            case "event/1":
                for line in one.frames[2].split(separator: 10) {
                    let event = try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
                    answer.numbers.append(
                        Number(
                            part: (event["part"] as? NSNumber)?.intValue ?? 0,
                            seq: try #require(event["seq"] as? NSNumber).uint64Value))
                }
            case "replay-end/1": answer.end = try #require(object as? [String: Any])
            default: answer.error = object as? [String: Any]
            }
        }
        return answer
    }

    private static func text(_ place: [String: UInt64]) -> String {
        "{" + place.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    }

    /// Runs a bus whose log has events in the parts 0, 2 and 3 of 5; part 3 has none of app `b`.
    private func run(_ body: (BusScene, Set<Number>) async throws -> Void) async throws {
        try await BusScene.run { settings, _ in
            settings.isOfCluster = true
            settings.replays.page = 20
            settings.replays.lookedAt = 60
        } _: { scene in
            scene.log.partCount = 5
            var all: Set<Number> = []
            for (part, count) in [(0, 95), (2, 33), (3, 140)] {
                var writer = LogWriter(next: EventNumber.base(of: part) + 1)
                for number in 1...UInt64(count) {
                    if writer.count == 0 || number % 10 == 1 { writer.begin(time: 1000, reserving: 0) }
                    note(.deliverySent, number % 3 == 0 && part != 3 ? "b" : "a", into: &writer)
                    if number % 10 == 0 || number == UInt64(count) { scene.log.append(writer.finish()) }
                    all.insert(Number(part: part, seq: number))
                }
            }
            try await body(scene, all)
        }
    }

    /// Each request continues where the last one ended. Every event arrives once.
    @Test(arguments: [("", 7), ("", 100_000), ("delivery/b/", 10), ("device/", 5)])
    func `A replay by a place reads all parts`(_ prefix: String, _ limit: Int) async throws {
        try await run { scene, all in
            let peer = try await scene.requester()
            var place: [String: UInt64] = [:]
            var seen: [Number] = []
            var rounds = 0
            while true {
                let answer = try await ask(
                    peer, #"{"since":\#(Self.text(place)),"prefix":"\#(prefix)","limit":\#(limit)}"#)
                #expect(answer.numbers.count <= limit && answer.error == nil)
                seen += answer.numbers
                rounds += 1
                if answer.next == place { break }
                place = answer.next
            }
            #expect(place == ["0": 95, "2": 33, "3": 140] && rounds > 2)
            let wanted = all.filter {
                prefix.isEmpty || prefix == "delivery/b/" && $0.part != 3 && $0.seq % 3 == 0
            }
            #expect(seen.count == wanted.count && Set(seen) == wanted)
            // The events of a part are in order.
            for part in 0..<5 {
                let own = seen.filter { $0.part == part }.map(\.seq)
                #expect(own == own.sorted())
            }
        }
    }

    @Test func `A replay by a number reads one part`() async throws {
        try await run { scene, _ in
            let peer = try await scene.requester()
            let third = try await ask(peer, #"{"since":130,"part":3}"#)
            #expect(third.numbers == (131...140).map { Number(part: 3, seq: $0) })
            #expect(third.end["next"] as? Int == 140 && third.end["oldest"] as? Int == 1)
            let first = try await ask(peer, #"{"since":90}"#)
            #expect(first.numbers == (91...95).map { Number(part: 0, seq: $0) })
            let empty = try await ask(peer, #"{"since":0,"part":4}"#)
            #expect(empty.numbers.isEmpty && empty.end["next"] as? Int == 0)
            let unknown = try await ask(peer, #"{"since":0,"part":5}"#)
            #expect(unknown.error?["error"] as? String == "bad_field")
        }
    }

    /// A subscriber learns where it begins.
    @Test func `A place beyond all events is answered with the newest ones`() async throws {
        try await run { scene, _ in
            let peer = try await scene.requester()
            let list = (0..<256).map { "\"\($0)\":281474976710655" }.joined(separator: ",")
            let answer = try await ask(peer, "{\"since\":{\(list)},\"limit\":1}")
            #expect(answer.numbers.isEmpty && answer.next == ["0": 95, "2": 33, "3": 140])
        }
    }

    @Test func `A damaged segment of a part is skipped by its place`() async throws {
        try await run { scene, all in
            // The first segment of part 2 follows ten segments of part 0.
            let whole = try #require(try await scene.log.read(since: EventNumber.base(of: 2), limit: 1).segments.first)
            let damaged = LogSegment(
                first: whole.first, count: whole.count, time: whole.time, bytes: Array(whole.bytes.dropLast(2)))
            scene.log.replace(10, damaged)
            let peer = try await scene.requester()
            let answer = try await ask(peer, #"{"since":{"0":95,"3":140}}"#)
            #expect(answer.error?["error"] as? String == "damaged")
            let next = (answer.error?["next"] as? [String: NSNumber] ?? [:]).mapValues(\.uint64Value)
            #expect(next == ["0": 95, "2": 10, "3": 140])
            let rest = try await ask(peer, "{\"since\":\(Self.text(next))}")
            #expect(Set(rest.numbers) == all.filter { $0.part == 2 && $0.seq > 10 })
        }
    }
}
