import PushLoop
import PushModel
import PushRandom
import PushStore
import PushWire
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI

/// The places in the log that clients send: the numbers of the parts, which a client may choose as it likes.
@Suite(.waits) struct PlaceTests {
    private static let routes: [(path: String, parameter: String)] = [
        ("/v1/events?since=", "since"), ("/v1/messages?after=", "after"),
        ("/v1/apps/shop/messages/m1/deliveries?after=", "after"),
    ]

    private func fill(_ scene: PipelineScene, parts: [Int]) {
        for segment in 0..<6 {
            scene.events.commit(at: Int64(segment), part: parts[segment % parts.count]) { writer, now in
                let message = LogWriter.message("m\(segment)")
                writer.add(accepted: message, named: 1, at: now)
                writer.add(.sent(providerID: nil), of: message, to: PipelineScene.id(1), at: now)
            }
        }
    }

    private func ask(_ scene: PipelineScene, _ path: String) async throws -> (status: Int, text: String) {
        let answer = try await scene.control.client.send("GET", to: path)
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    @Test(arguments: ["1:8", "4:7", "0:7,1:8", "255:1", "0:0,1:1"])
    func `A place in another part is refused where the log has one part`(_ place: String) async throws {
        try await withPipeline { scene in
            fill(scene, parts: [0])
            for (path, parameter) in Self.routes {
                let answer = try await ask(scene, path + place)
                #expect(answer.status == 422, "\(path)\(place): \(answer)")
                #expect(answer.text.contains("\"bad_value\"") && answer.text.contains("\"\(parameter)\""), "\(answer)")
            }
            for name in ["since", "Last-Event-ID"] {
                let client = try scene.control.raw()
                let (query, field) = name == "since" ? ("?since=\(place)", "") : ("", "\(name): \(place)\r\n")
                try client.send(
                    "GET /v1/events\(query) HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\(field)\r\n")
                nonisolated(unsafe) let raw = client
                let answer = try await BlockingPool(name: "raw", threadCount: 1, queueLimit: 1).run { try raw.answer() }
                #expect(answer.status == 422, "\(name): \(answer)")
            }
        }
    }

    @Test func `A place of one part is a number, with or without the part`() async throws {
        try await withPipeline { scene in
            fill(scene, parts: [0])
            for (path, _) in Self.routes {
                let plain = try await ask(scene, path + "2")
                #expect(plain.status == 200, "\(plain)")
                #expect(try await ask(scene, path + "0:2") == plain)
            }
        }
    }

    /// Whatever place a client sends, the answer is a page or names the fault, and the next request is answered.
    @Test(arguments: [1, 4]) func `Each place is answered on each route`(_ parts: Int) async throws {
        try await withPipeline(parts: parts) { scene in
            fill(scene, parts: parts == 1 ? [0] : [0, 1, 3])
            var random = SeededRandom(seed: 5)
            let numbers: [UInt64] = [0, 1, 2, 3, 4, 5, 12, 13, EventNumber.maxWithin - 1, EventNumber.maxWithin]
            for _ in 0..<RunKind.rounds(60, long: 2000) {
                var place = LogPosition()
                for _ in 0...Int(random.next() % 3) {
                    let part = [0, 0, 0, 1, 2, 3, 4, 255][Int(random.next() % 8)]
                    place[part] = numbers[Int(random.next() % UInt64(numbers.count))]
                }
                if random.next() % 8 == 0 { place = LogPosition("\(Int64.max)") ?? place }
                try await check(scene, place, isForeign: place.parts.contains { $0.part >= parts })
            }
        }
    }

    private func check(_ scene: PipelineScene, _ place: LogPosition, isForeign: Bool) async throws {
        for route in Self.routes {
            let answer = try await ask(scene, route.path + place.description)
            let isFault =
                isForeign || route.path.hasPrefix("/v1/messages") && place == LogPosition()
                || route.path.hasSuffix("deliveries?after=") && place.parts.count > 1
            #expect(
                isFault ? answer.status == 422 : answer.status == 200 || answer.status == 404,
                "\(route.path)\(place): \(answer.text)")
        }
    }
}
