import PushModel
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// The lookup of deliveries by their ids, in trace runs and in the log after them.
@Suite(.waits) struct SentDeliveriesTests {
    private static func id(_ message: String, _ number: Int) -> DeliveryID {
        DeliveryID.derived(app: LedgerScene.shop, message: MessageID(message)!, token: token(number))
    }

    private static func displayed(_ message: String, _ number: Int, _ scene: LedgerScene) -> EventDraft {
        var event = EventDraft(.deliveryDisplayed, app: LedgerScene.shop)
        event.messageID = MessageID(message)
        event.device = scene.device(token(number))
        event.deliveryID = id(message, number)
        return event
    }

    private func runs(_ scene: LedgerScene) async throws -> Int {
        _ = await scene.settled()
        let connection = try SQLiteConnection(scene.path)
        let count = try connection.prepare("SELECT count(*) FROM trace_runs")
        _ = try count.step()
        return Int(count.number(0))
    }

    @Test func `Deliveries are found in runs and after them, with what was reported`() async throws {
        try await withLedger { scene in
            let fill = EventDraft(.connectionUp, app: nil)
            for round in 0..<3 {
                _ = await scene.accept([push("m\(round)", to: [1, 2])])
                for message in scene.listener.messages where message.message.id.text == "m\(round)" {
                    scene.carryOut(message)
                }
                _ = await scene.settled()
                if round > 0 { _ = await scene.note([Self.displayed("m0", 1, scene)]) }
                let ids = (0...round).flatMap { [Self.id("m\($0)", 1), Self.id("m\($0)", 2)] }
                for _ in 0..<2 {
                    let found = try await scene.sqlite.sent(ids + [Self.id("none", 1), DeliveryID(high: 0, low: 0)])
                    #expect(Set(found.keys) == Set(ids))
                    #expect(
                        found[Self.id("m\(round)", 2)]
                            == SentDelivery(
                                app: LedgerScene.shop, message: MessageID("m\(round)")!,
                                device: scene.device(token(2))))
                    #expect(found[Self.id("m0", 1)]?.seen == (round > 0 ? [.displayed] : []))
                    #expect(found[Self.id("m0", 2)]?.seen == [])
                }
                for _ in 0..<36 { _ = await scene.note(Array(repeating: fill, count: 4000)) }
                while try await runs(scene) <= round { _ = await scene.note([fill]) }
                let found = try await scene.sqlite.sent(ids)
                #expect(Set(found.keys) == Set(ids))
                if round == 1 { try await scene.reopen() }
            }
            // Deliveries whose events were removed are unknown.
            scene.retention.logBytes = 1
            await scene.trim()
            #expect(try await scene.sqlite.sent([Self.id("m0", 1), Self.id("m2", 1)]).isEmpty)
        }
    }

    @Test func `A made-up id with the hash of a busy name costs a few rows`() async throws {
        try await withLedger { scene in
            _ = await scene.accept([push("m", to: Array(1...3000))])
            scene.listener.messages.forEach(scene.carryOut)
            // Every one of these rows has an event of the id, which is not that of a sent delivery.
            for _ in 0..<40 {
                var event = EventDraft(.deliveryDisplayed, app: LedgerScene.shop)
                event.deliveryID = DeliveryID(high: 1, low: Self.id("m", 7).low)
                _ = await scene.note([event])
            }
            let found = try await scene.sqlite.sent([DeliveryID(high: 2, low: Self.id("m", 7).low)])
            #expect(found.isEmpty)
        }
    }

    @Test func `A filter has every name that was inserted, and few others`() {
        var random = SeededRandom(seed: 5)
        var filter = TraceFilter()
        let names = (0..<262_144).map { _ in UInt32.random(in: .min ... .max, using: &random) }
        names.forEach { filter.insert($0) }
        #expect(names.allSatisfy { filter.mayContain($0) })
        let others = (0..<100_000).count { _ in filter.mayContain(.random(in: .min ... .max, using: &random)) }
        #expect(others < 10_000)
    }
}
