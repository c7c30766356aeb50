import PushModel
import PushWire
import TestSupport
import Testing

@testable import carillon

/// `carillon trace` as a process, against a control server in this one.
@Suite(.timeLimit(.minutes(10))) struct TraceVerbTests {
    private static let (one, two) = (PipelineScene.id(1), PipelineScene.id(2))

    /// A message to two devices, one of which is gone; another message and another app among it.
    private func tell(_ events: FakeEvents) {
        let message = LogWriter.message("order-4711")
        let (other, foreign) = (LogWriter.message("order"), LogWriter.message("order-4711", app: PipelineScene.news))
        events.commit(at: 0) { writer, now in
            writer.add(accepted: message, named: 2, at: now)
            writer.add(accepted: other, named: 1, at: now)
            writer.add(accepted: foreign, named: 1, at: now)
        }
        events.commit(at: 38) { writer, now in
            writer.add(.sent(uniqueID: nil), of: message, to: Self.one, at: now)
            writer.add(.sent(uniqueID: nil), of: other, to: Self.one, at: now)
            writer.add(
                .retry(Refusal(status: 503, reason: .serviceUnavailable), after: .seconds(1)), of: message,
                to: Self.two, at: now)
        }
        events.commit(at: 1250) { writer, now in
            writer.add(
                .rejected(Refusal(status: 410, reason: .unregistered)), of: message, to: Self.two, attempt: 2, at: now)
            var counts = OutcomeCounts()
            (counts.sent, counts.rejected) = (1, 1)
            writer.complete(message, counts, at: now)
        }
        events.commit(at: 70_000) { writer, now in
            writer.add(.deviceDeactivated, device: Self.two, reason: "Unregistered", at: now)
            writer.add(.deviceDeactivated, device: Self.one, reason: "by_hand", at: now)
        }
    }

    @Test func `a message's story, to the end`() async throws {
        try await withPipeline { scene in
            tell(scene.events)
            let ended = try await scene.run("trace", "order-4711", "--app", "shop")
            #expect(
                ended.output == """
                    Message order-4711 of shop
                      2026-01-01T00:00:00.000Z  +0ms     accepted from a producer for 2 devices
                      2026-01-01T00:00:00.038Z  +38ms    sent to device \(Self.one): the push service accepted it (attempt 1, 38ms after it was accepted)
                      2026-01-01T00:00:00.038Z  +38ms    put off by the push service for device \(Self.two): 503 ServiceUnavailable: the provider is unavailable, again in 1000ms (attempt 1, 38ms after it was accepted)
                      2026-01-01T00:00:01.250Z  +1.2s    refused by the push service for device \(Self.two): 410 Unregistered: the device no longer takes notifications of this app (attempt 2, 1250ms after it was accepted)
                      2026-01-01T00:00:01.250Z  +1.2s    completed: 1 sent, 1 rejected
                      2026-01-01T00:01:10.000Z  +1m 10s  device \(Self.two) deactivated because the push service answered Unregistered: the device no longer takes notifications of this app

                    What to do:
                      ServiceUnavailable: nothing to do: it is tried again after a while
                      Unregistered: stop sending to it; it registers anew if the app is installed again

                    """)
            #expect(ended.errors == "" && ended.status == 0)
            let both = try await scene.run("trace", "order-4711")
            #expect(
                both.output.hasPrefix("Message order-4711 of news, shop\n")
                    && both.output.contains("  news: accepted from"))
            let open = try await scene.run("trace", "order")
            #expect(open.output.hasSuffix("It is not completed yet.\n"))
            #expect(open.output.split(separator: "\n").count == 4)
        }
    }

    @Test func `a device's story, and the events as they are`() async throws {
        try await withPipeline { scene in
            tell(scene.events)
            let ended = try await scene.run("trace", Self.one.description)
            #expect(ended.output.hasPrefix("Device \(Self.one) of shop\n"))
            #expect(ended.output.contains("message order-4711: sent: the push service accepted it"))
            #expect(ended.output.contains("message order: sent: the push service accepted it"))
            #expect(ended.output.hasSuffix("device deactivated because an operator said so (by_hand)\n"))
            #expect(ended.output.split(separator: "\n").count == 4)
            let lines = try await scene.run("trace", Self.two.description, "--json").output.split(separator: "\n")
            #expect(lines.count == 3)
            #expect(lines.allSatisfy { $0.contains("\"device\":\"\(Self.two)\"") && $0.hasPrefix("{\"v\":1,\"seq\":") })
        }
    }

    @Test func `what is not there is said`() async throws {
        try await withPipeline { scene in
            tell(scene.events)
            let nobody = try await scene.run("trace", "order-4712")
            #expect(nobody.status == 65)
            #expect(
                nobody.errors.contains(
                    "nothing of the message order-4712 is in the kept events; it was never handed in"))
            let forced = try await scene.run("trace", Self.one.description, "--message")
            #expect(forced.status == 65 && forced.errors.contains("nothing of the message"))
            let none = try await scene.run("trace", PipelineScene.id(9).description)
            #expect(none.errors.contains("'carillon devices show' says whether it is known"))
        }
    }

    @Test func `a device that registered again was not deactivated for the message`() async throws {
        try await withPipeline { scene in
            let message = LogWriter.message("m")
            scene.events.commit { writer, now in
                writer.add(.rejected(Refusal(status: 410, reason: .unregistered)), of: message, to: Self.one, at: now)
                writer.add(.deviceRegistered, device: Self.one, at: now)
                writer.add(.deviceDeactivated, device: Self.one, reason: "Unregistered", at: now)
            }
            let ended = try await scene.run("trace", "m")
            #expect(!ended.output.contains("deactivated"))
        }
    }

    @Test func `damaged parts leave the story incomplete`() async throws {
        try await withPipeline { scene in
            tell(scene.events)
            scene.events.damage(2)
            let ended = try await scene.run("trace", "order-4711")
            #expect(ended.output.contains("There is more of it, which is not shown."))
        }
    }

    @Test(
        arguments: [(-5, "0ms"), (0, "0ms"), (999, "999ms"), (1000, "1.0s"), (59_999, "59.9s"), (61_000, "1m 1s")]
            as [(Int64, String)])
    func `times that passed`(_ milliseconds: Int64, _ text: String) {
        #expect(TraceStory.elapsed(milliseconds) == text)
    }
}
