import PushModel
import PushStore
import PushWire
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of `carillon trace` as a process, with a control server in the test process.
@Suite(.waits) struct TraceVerbTests {
    private static let (one, two) = (PipelineScene.id(1), PipelineScene.id(2))

    /// Adds the events of a message to two devices, one of which is gone, of another message, and of another app.
    private func tell(_ events: FakeEvents) {
        let message = LogWriter.message("order-4711")
        let (other, foreign) = (LogWriter.message("order"), LogWriter.message("order-4711", app: PipelineScene.news))
        events.commit(at: 0) { writer, now in
            writer.add(accepted: message, named: 2, at: now)
            writer.add(accepted: other, named: 1, at: now)
            writer.add(accepted: foreign, named: 1, at: now)
        }
        events.commit(at: 38) { writer, now in
            writer.add(.sent(providerID: nil), of: message, to: Self.one, at: now)
            writer.add(.sent(providerID: nil), of: other, to: Self.one, at: now)
            writer.add(
                .retry(Refusal(status: 503, reason: "ServiceUnavailable"), after: .seconds(1)), of: message,
                to: Self.two, at: now)
        }
        events.commit(at: 1250) { writer, now in
            writer.add(
                .rejected(Refusal(status: 410, reason: "Unregistered"), deactivates: nil), of: message, to: Self.two,
                attempt: 2, at: now)
            var counts = OutcomeCounts()
            (counts.sent, counts.rejected) = (1, 1)
            writer.complete(message, counts, at: now)
        }
        events.commit(at: 70_000) { writer, now in
            writer.add(.deviceDeactivated, device: Self.two, reason: "Unregistered", at: now)
            writer.add(.deviceDeactivated, device: Self.one, reason: "by_hand", at: now)
        }
    }

    @Test func `A trace shows all events of a message`() async throws {
        try await withPipeline { scene in
            tell(scene.events)
            let ended = try await scene.run("trace", "order-4711", "--app", "shop")
            #expect(
                ended.output == """
                    Message order-4711 of shop
                      2026-01-01T00:00:00.000Z  +0ms     accepted from a producer for 2 devices
                      2026-01-01T00:00:00.038Z  +38ms    sent to device \(Self.one): accepted by the push service (attempt 1, 38ms after the message was accepted)
                      2026-01-01T00:00:00.038Z  +38ms    deferred by the push service for device \(Self.two): 503 ServiceUnavailable: the provider is unavailable, retry in 1000ms (attempt 1, 38ms after the message was accepted)
                      2026-01-01T00:00:01.250Z  +1.2s    rejected by the push service for device \(Self.two): 410 Unregistered: the device no longer takes notifications of this app (attempt 2, 1250ms after the message was accepted)
                      2026-01-01T00:00:01.250Z  +1.2s    completed: 1 sent, 1 rejected
                      2026-01-01T00:01:10.000Z  +1m 10s  device \(Self.two) deactivated because the push service answered Unregistered: the device no longer takes notifications of this app

                    What to do:
                      Unregistered: stop sending to it; the device registers again if the app is reinstalled

                    """)
            #expect(ended.errors == "" && ended.status == 0)
            let both = try await scene.run("trace", "order-4711")
            #expect(
                both.output.hasPrefix("Message order-4711 of news, shop\n")
                    && both.output.contains("  news: accepted from"))
            let open = try await scene.run("trace", "order")
            #expect(open.output.hasSuffix("The message is not completed yet.\n"))
            #expect(open.output.split(separator: "\n").count == 4)
        }
    }

    @Test func `A trace shows all events of a device, also as JSON`() async throws {
        try await withPipeline { scene in
            tell(scene.events)
            let ended = try await scene.run("trace", Self.one.description)
            #expect(ended.output.hasPrefix("Device \(Self.one) of shop\n"))
            #expect(ended.output.contains("message order-4711: sent: accepted by the push service"))
            #expect(ended.output.contains("message order: sent: accepted by the push service"))
            #expect(ended.output.hasSuffix("device deactivated because an operator deactivated it (by_hand)\n"))
            #expect(ended.output.split(separator: "\n").count == 4)
            let lines = try await scene.run("trace", Self.two.description, "--json").output.split(separator: "\n")
            #expect(lines.count == 3)
            #expect(lines.allSatisfy { $0.contains("\"device\":\"\(Self.two)\"") && $0.hasPrefix("{\"v\":1,\"seq\":") })
        }
    }

    @Test func `A trace without events is reported`() async throws {
        try await withPipeline { scene in
            tell(scene.events)
            let nobody = try await scene.run("trace", "order-4712")
            #expect(nobody.status == 65)
            #expect(
                nobody.errors.contains(
                    "the stored events do not mention the message order-4712; it was never submitted"))
            let forced = try await scene.run("trace", Self.one.description, "--message")
            #expect(forced.status == 65 && forced.errors.contains("do not mention the message"))
            let none = try await scene.run("trace", PipelineScene.id(9).description)
            #expect(none.errors.contains("'carillon devices show' shows whether the device is registered"))
        }
    }

    @Test func `A later deactivation of a device that registered again is not part of the message`() async throws {
        try await withPipeline { scene in
            let message = LogWriter.message("m")
            scene.events.commit { writer, now in
                writer.add(
                    .rejected(Refusal(status: 410, reason: "Unregistered"), deactivates: nil), of: message,
                    to: Self.one, at: now)
                writer.add(.deviceRegistered, device: Self.one, at: now)
                writer.add(.deviceDeactivated, device: Self.one, reason: "Unregistered", at: now)
            }
            let ended = try await scene.run("trace", "m")
            #expect(!ended.output.contains("deactivated"))
        }
    }

    @Test func `A trace of a broadcast begins with a summary and names the audience`() async throws {
        try await withPipeline { scene in
            let message = Message(
                id: MessageID("news")!, app: PipelineScene.shop, priority: .five, payload: Array("{}".utf8))
            var request = PushRequest(message, to: .everyone)
            request.client = "orders"
            scene.events.commit { [request] writer, now in writer.add(accepted: request, at: now) }
            scene.events.commit(at: 2000) { writer, now in
                for number in 0..<30 {
                    let outcome: DeliveryOutcome =
                        number < 4
                        ? .rejected(Refusal(status: 410, reason: "Unregistered"), deactivates: nil)
                        : .sent(providerID: nil)
                    writer.add(outcome, of: message, to: PipelineScene.id(UInt8(number)), at: now)
                }
            }
            let ended = try await scene.run("trace", "news")
            #expect(
                ended.output.hasPrefix(
                    """
                    Message news of shop
                      for      all devices of the app
                      options  priority 5
                      so far   4 rejected, 26 sent
                      because  4 Unregistered
                      within   2.0s

                      2026-01-01T00:00:00.000Z  +0ms   accepted from the client orders for all devices of the app: priority 5
                    """), "\(ended.output)")
            let shown = try await scene.run("messages", "news")
            #expect(shown.output.contains("from      the client orders\n"), "\(shown.output)")
            #expect(shown.output.contains("for       all devices of the app\n"))
            let json = try await scene.run("messages", "news", "--json")
            #expect(json.output.contains(#""audience":"all","client":"orders""#), "\(json.output)")
        }
    }

    @Test func `A trace by apns-id shows one delivery with its message`() async throws {
        try await withPipeline { scene in
            tell(scene.events)
            let wanted = DeliveryID(high: 7, low: 9)
            let message = LogWriter.message("found")
            scene.events.commit(at: 80_000) { writer, now in
                writer.add(accepted: message, named: 2, at: now)
                for (device, id) in [(Self.one, wanted), (Self.two, DeliveryID(high: 7, low: 10))] {
                    writer.add(
                        DeliveryRecord(
                            seq: 1, fingerprint: PipelineScene.identities.message(of: message.app, id: message.id),
                            acceptedAt: now, message: message, device: device, deliveryID: id, attempt: 1,
                            outcome: .sent(providerID: nil)), at: now)
                }
            }
            let ended = try await scene.run("trace", "--apns-id", "\(wanted)")
            #expect(ended.output.hasPrefix("Delivery \(wanted) of shop\n"), "\(ended.output)\(ended.errors)")
            #expect(
                ended.output.contains("message found: accepted") && ended.output.contains("sent to device \(Self.one)"))
            #expect(!ended.output.contains(Self.two.description))
            let nobody = try await scene.run("trace", "--apns-id", "\(DeliveryID(high: 1, low: 1))")
            #expect(nobody.status == 65 && nobody.errors.contains("it was never sent, or its events were removed"))
        }
    }

    @Test func `A trace by user shows the events of all devices of the user`() async throws {
        try await withPipeline { scene in
            tell(scene.events)
            for (device, user) in [(Self.one, "ada"), (Self.two, "ada"), (PipelineScene.id(3), "eve")] {
                var record = DeviceRecord(id: device, app: PipelineScene.shop, token: nil)
                record.user = user
                scene.devices.put(record)
            }
            let ended = try await scene.run("trace", "--user", "ada")
            #expect(ended.output.hasPrefix("Devices of ada of shop\n"), "\(ended.output)\(ended.errors)")
            #expect(
                ended.output.contains("sent to device \(Self.one)") && ended.output.contains("for device \(Self.two)"))
            #expect(ended.output.split(separator: "\n").filter { $0.hasPrefix("  2026") }.count == 6)
            let none = try await scene.run("trace", "--user", "eve")
            #expect(
                none.status == 65 && none.errors.contains("'carillon devices list --user' lists these devices"))
        }
    }

    @Test func `An incomplete trace has a note, also with JSON`() async throws {
        try await withPipeline { scene in
            let message = LogWriter.message("many")
            scene.events.commit { writer, now in
                for _ in 0..<10_001 { writer.add(.sent(providerID: nil), of: message, to: Self.one, at: now) }
            }
            let lines = try await scene.run("trace", "many", "--json")
            #expect(lines.output.split(separator: "\n").count == 10_000)
            #expect(lines.errors.contains("the output is incomplete"), "\(lines.errors)")
        }
    }

    @Test func `Only events within the time range count for the limit`() async throws {
        try await withPipeline { scene in
            let message = LogWriter.message("many")
            scene.events.commit { writer, now in
                for _ in 0..<10_001 { writer.add(.sent(providerID: nil), of: message, to: Self.one, at: now) }
            }
            scene.events.commit(at: 3_600_000) { writer, now in
                writer.add(.sent(providerID: nil), of: message, to: Self.one, attempt: 2, at: now)
            }
            for subject in [["many"], [Self.one.description]] {
                let late = try await scene.run(["trace"] + subject + ["--since", "2026-01-01T00:30:00Z", "--json"])
                #expect(late.output.split(separator: "\n").count == 1 && late.errors == "", "\(late)")
                let none = try await scene.run(["trace"] + subject + ["--until", "2025-12-31T00:00:00Z"])
                #expect(none.status == 65 && none.errors.contains(" in that time;"), "\(none)")
            }
            // The limit also holds if it is reached exactly at the end of a segment.
            scene.events.forget(1)
            scene.events.commit(at: 3_700_000) { writer, now in
                for _ in 0..<9_999 { writer.add(.sent(providerID: nil), of: message, to: Self.one, at: now) }
            }
            #expect(try await scene.run("trace", "many", "--json").errors == "")
            scene.events.commit(at: 3_800_000) { writer, now in
                writer.add(.sent(providerID: nil), of: message, to: Self.one, at: now)
            }
            #expect(try await scene.run("trace", "many", "--json").errors.contains("the output is incomplete"))
        }
    }

    @Test func `All devices of a user share one limit, and devices that are left out are reported`() async throws {
        try await withPipeline { scene in
            let message = LogWriter.message("m")
            for number in 1...17 {
                for (user, first) in [("ada", 0), ("eve", 100)] where user == "eve" || number <= 3 {
                    let id = PipelineScene.id(UInt8(first + number))
                    var record = DeviceRecord(id: id, app: PipelineScene.shop, token: nil)
                    record.user = user
                    scene.devices.put(record)
                }
            }
            for time in 0..<4 {
                scene.events.commit(at: Int64(time) * 1000) { writer, now in
                    for number in 1...3 {
                        for _ in 0..<1000 {
                            writer.add(
                                .sent(providerID: nil), of: message, to: PipelineScene.id(UInt8(number)), at: now)
                        }
                    }
                }
            }
            let ada = try await scene.run("trace", "--user", "ada", "--json")
            let lines = ada.output.split(separator: "\n")
            #expect(lines.count == 10_000 && ada.errors.contains("the output is incomplete"), "\(ada.errors)")
            // The lines are the oldest events of all devices: no event of a device is missing before the end.
            #expect(lines.prefix(9000).filter { $0.contains(Self.one.description) }.count == 3000)
            #expect(!ada.errors.contains("more than 16 devices"))
            let eve = try await scene.run("trace", "--user", "eve")
            #expect(eve.status == 65 && eve.errors.contains("the user has more than 16 devices"), "\(eve.errors)")
            #expect(!eve.errors.contains("not all events could be searched"))
        }
    }

    @Test func `The deepest accepted tag expression can be displayed`() async throws {
        try await withPipeline { scene in
            let message = LogWriter.message("deep")
            var tags = TagExpression.tag("beta")
            for _ in 1..<TagExpression.maxDepth { tags = .all([tags, .not(.tag("x"))]) }
            let request = PushRequest(message, to: .tags(tags))
            scene.events.commit { writer, now in writer.add(accepted: request, at: now) }
            let story = try await scene.run("trace", "deep")
            #expect(story.output.contains("for the devices with the tags {"), "\(story.output)\(story.errors)")
            let events = try await scene.run("events", "--since", "0")
            #expect(events.output.contains("for the devices with the tags {"), "\(events.output)")
            let shown = try await scene.run("messages", "deep", "--json")
            // The tags are JSON, not a string that contains JSON.
            #expect(shown.output.contains(#""tags":{"all":[{"all":"#), "\(shown.output)")
            #expect(try await scene.run("messages", "deep").output.contains(#"the devices with the tags {"all":[{"#))
        }
    }

    @Test func `A damaged segment makes the trace incomplete`() async throws {
        try await withPipeline { scene in
            tell(scene.events)
            scene.events.damage(2)
            let ended = try await scene.run("trace", "order-4711")
            #expect(ended.output.contains("The output is incomplete; select a part with --since and --until."))
        }
    }

    @Test(
        arguments: [(-5, "0ms"), (0, "0ms"), (999, "999ms"), (1000, "1.0s"), (59_999, "59.9s"), (61_000, "1m 1s")]
            as [(Int64, String)])
    func `Elapsed times are formatted`(_ milliseconds: Int64, _ text: String) {
        #expect(TraceStory.elapsed(milliseconds) == text)
    }
}
