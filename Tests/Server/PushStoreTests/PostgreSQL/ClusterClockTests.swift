import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// What is remembered in a cluster, and what goes, when the clock of the database jumps.
@Suite(.waits) struct ClusterClockTests {
    private static let hour = Duration.seconds(3600)
    private static let day = Duration.seconds(86_400)

    /// Drops what no part needs, as the owner of the first part does once a minute.
    private static func drop(_ scene: LedgerScene) async throws {
        guard let ledger = scene.ledger as? PostgreSQLLedger else { return }
        // The ledger makes partitions meanwhile, whose locks a drop does not wait for.
        while (try? await StoreTables(ledger.call).removePartitions()) == nil { try Task.checkCancellation() }
    }

    private static func carryOutAll(_ scene: LedgerScene) {
        for message in scene.listener.messages { scene.carryOut(message) }
    }

    @Test(arguments: [false, true]) func `Nothing is forgotten when the clock jumps ahead and back`(
        reopens: Bool
    ) async throws {
        try await withLedger(on: .postgresql) { scene in
            _ = await scene.accept([push("single"), push("wide", to: [1, 2])])
            _ = await scene.claim(2, "wide", [token(1), token(2)])
            Self.carryOutAll(scene)
            await scene.trim()
            scene.setClock(by: Self.day * 8)
            _ = await scene.accept(push("ahead"))
            if reopens { try await scene.reopen() }
            scene.advance(.seconds(61))
            let ahead = await scene.trim()
            try await Self.drop(scene)
            #expect(ahead.messageKeys == 3 && ahead.deliveryKeys == 2)
            scene.advance(Self.hour)
            #expect(await scene.trim().messageKeys == 3)
            scene.setClock(by: Self.day * -8)
            if reopens { try await scene.reopen() }
            scene.advance(.seconds(61))
            #expect(await scene.trim().messageKeys == 3)
            try await Self.drop(scene)
            try await scene.reopen()
            #expect(await scene.settled().messageKeys == 3)
            #expect(try await scene.ledger.read(since: 0, limit: 100).segments.first?.first == 1)
            #expect(await scene.accept([push("single"), push("wide", to: [1, 2])]).compactMap(\.seq).isEmpty)
        }
    }

    @Test func `A clock that stays ahead for a day is believed, whichever node counts the hours`() async throws {
        try await withLedger(on: .postgresql) { scene in
            _ = await scene.accept(push("old"))
            Self.carryOutAll(scene)
            await scene.trim()
            scene.setClock(by: Self.day * 20)
            for _ in 0..<3 {
                #expect(await scene.trim().messageKeys == 1)
                scene.advance(Self.hour * 10)
                try await scene.reopen()
            }
            #expect(await scene.trim().messageKeys == 0)
        }
    }

    /// Cancels a scheduled message, and returns the answer.
    private static func cancel(_ id: String, _ scene: LedgerScene) async -> Cancellation? {
        let answer = scene.cancel(id)
        await scene.settled()
        for order in scene.listener.orders.suffix(1) where answer.value == nil { scene.end(order) }
        await scene.settled()
        return answer.value
    }

    private static let cancelled = Cancellation.cancelled(CancelCounts(sent: 0, cancelled: 1))

    @Test func `Receipts and cancelled ids outlive a jump, too`() async throws {
        var event = EventDraft(.receiptRefund, app: LedgerScene.shop)
        event.add("notification_id", text: "n")
        let receipt = ReceivedReceipt(event, id: "n", app: LedgerScene.shop)
        try await withLedger(on: .postgresql) { scene in
            #expect(await scene.accept(push("a", notBefore: scene.now + 86_400)) == .accepted(seq: 1))
            #expect(await Self.cancel("a", scene) == Self.cancelled)
            _ = await scene.ledger.take(receipt)
            await scene.trim()
            scene.setClock(by: Self.day * 60)
            await scene.trim()
            scene.setClock(by: Self.day * -60)
            scene.advance(.seconds(61))
            await scene.trim()
            try await scene.reopen()
            #expect(await Self.cancel("a", scene) == Self.cancelled)
            #expect(await scene.ledger.take(receipt) == .duplicate)
            #expect(await scene.accept(push("a", to: [7], notBefore: scene.now + 86_400)).seq == nil)
        }
    }

    @Test func `Rows that were written while the clock was years ahead expire in the usual time`() async throws {
        try await withLedger(on: .postgresql) { scene in
            _ = await scene.accept(push("before"))
            scene.setClock(by: Self.day * 3650)
            _ = await scene.accept([push("ahead"), push("cancelled", notBefore: scene.now + 86_400)])
            #expect(await Self.cancel("cancelled", scene) == Self.cancelled)
            scene.setClock(by: Self.day * -3650)
            _ = await scene.accept(push("after"))
            for message in scene.listener.messages where message.message.id.text != "cancelled" {
                scene.carryOut(message)
            }
            #expect(await scene.trim().messageKeys == 4)
            scene.advance(Self.day * 6)
            #expect(await scene.trim().messageKeys == 4)
            scene.advance(Self.day * 2)
            #expect(await scene.trim().messageKeys == 0)
            // The day of the newest group stays, with the number from which the next one counts on.
            scene.advance(.seconds(61))
            await scene.trim()
            try await Self.drop(scene)
            let newest = await scene.settled().newest
            try await scene.reopen()
            #expect(await scene.settled().newest == newest)
            #expect(await scene.accept(push("cancelled")).seq != nil)
        }
    }

    /// The clock jumps both ways, nodes come and go, and what no part needs is dropped.
    @Test(arguments: 0..<UInt64(RunKind.rounds(1, long: 40)))
    func `Ids are known for the window, and no longer than a few days more, however the clock jumps`(
        seed: UInt64
    ) async throws {
        try await withLedger(on: .postgresql) { scene in
            var random = SeededRandom(seed: seed)
            var walk = Walk()
            for step in 0..<RunKind.rounds(12, long: 120) {
                try await walk.step(step, scene, &random)
            }
            try await walk.end(scene)
        }
    }

    /// The answer to a removal is lost: the row is gone, and only the memory of the node has the id.
    @Test func `A cancelled id is forgotten after the window also if the answer to its removal is lost`() async throws {
        let start: Int64 = 1_700_000_000_000
        var options = try await SharedPostgreSQL.shared.store(parts: 1, at: WallTime(milliseconds: start))
        let admin = try await TestSessions.one(to: options.database)
        let proxy = try CuttingProxy(to: try await SharedPostgreSQL.shared.server().port)
        options.hosts = [PostgreSQLHost(name: "127.0.0.1", port: proxy.port)]
        let scene = try await LedgerScene(of: options, at: start)
        _ = await scene.accept(push("a", notBefore: scene.now + 86_400))
        #expect(await Self.cancel("a", scene) == Self.cancelled)
        scene.advance(Self.day * 8)
        proxy.mark("carillon.cancels")
        proxy.holdMarked(.answers)
        scene.ledger.trim()
        try await wait(while: try await admin.count("SELECT count(*) FROM carillon.cancels") > 0)
        proxy.cut()
        proxy.release(.answers)
        // All connections were cut, and that which reads may come up last.
        await wait(while: await scene.trim().messageKeys > 0)
        var answer = await scene.accept(push("a", notBefore: scene.now + 86_400))
        while case .failed = answer { answer = await scene.accept(push("a", notBefore: scene.now + 86_400)) }
        #expect(answer.seq != nil)
        await scene.ledger.close()
        await admin.close()
    }

    private struct Walk {
        /// The largest time by which the clock is set back: what is accepted then looks older afterward.
        static let furthestBack: Int64 = 6 * 3_600_000

        /// The time that has passed, and that by which the clock is wrong.
        var passed: Int64 = 0
        var wrong: Int64 = 0
        var sinceJump: Int64 = 0
        /// When the ids were accepted.
        var accepted: [String: Int64] = [:]

        mutating func step(_ step: Int, _ scene: LedgerScene, _ random: inout SeededRandom) async throws {
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1:
                let id = "m\(step)"
                #expect(await scene.accept(push(id)).seq != nil)
                accepted[id] = passed
                for message in scene.listener.messages.suffix(1) { scene.carryOut(message) }
                await scene.settled()
            case 2, 3:
                // A clock that is ahead comes back within the day after which it would be believed.
                let longest = wrong > 0 ? 20 * 3_600_000 - sinceJump : 40 * 3_600_000
                pass(max(61_000, Int64.random(in: 0...max(0, longest), using: &random)), scene)
                if wrong > 0, sinceJump > 19 * 3_600_000 { set(0, scene) }
            case 4:
                let jump = Duration.seconds(Int64.random(in: 7200...300_000_000, using: &random)).wholeMilliseconds
                set(wrong == 0 ? jump : 0, scene)
            case 5: set(wrong == 0 ? -Int64.random(in: 0...Self.furthestBack, using: &random) : 0, scene)
            case 6:
                await scene.trim()
                try await scene.reopen()
            default: try await ClusterClockTests.drop(scene)
            }
            await scene.trim()
            let window = LedgerRetention().window.wholeMilliseconds - Self.furthestBack
            for (id, time) in accepted where passed - time < window {
                let answer = await scene.accept(push(id))
                #expect(answer.seq == nil, "\(id) was accepted again after \(passed - time) ms")
            }
        }

        private mutating func pass(_ time: Int64, _ scene: LedgerScene) {
            // A running node looks at the clock all the time.
            passed += time
            sinceJump += time
            scene.advance(.milliseconds(time))
        }

        private mutating func set(_ wrong: Int64, _ scene: LedgerScene) {
            scene.setClock(by: .milliseconds(wrong - self.wrong))
            (self.wrong, sinceJump) = (wrong, 0)
        }

        mutating func end(_ scene: LedgerScene) async throws {
            set(0, scene)
            _ = await scene.accept(push("last"))
            for message in scene.listener.messages.suffix(1) { scene.carryOut(message) }
            await scene.settled()
            for _ in 0..<16 {
                pass(86_400_000, scene)
                await scene.trim()
                await scene.trim()
            }
            let status = await scene.settled()
            #expect(status.messageKeys == 0 && status.deliveryKeys == 0)
        }
    }
}
