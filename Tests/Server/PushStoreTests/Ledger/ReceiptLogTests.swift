import Foundation
import PushModel
import TestSupport
import Testing

@testable import PushStore

@Suite struct ReceiptLogTests {
    private static let first = "002e14d5-51f5-4503-b5a8-c3a1af68eb20"
    private static let second = "8d3ffa2c-0000-4503-b5a8-c3a1af68eb21"

    private static func receipt(_ id: String, _ kind: EventKind = .receiptDidRenew, of app: AppID = LedgerScene.shop)
        -> ReceivedReceipt
    {
        var event = EventDraft(kind, app: app)
        event.add("notification_id", text: id)
        return ReceivedReceipt(event, id: id, app: app)
    }

    private static func topics(_ scene: LedgerScene) async throws -> [String] {
        try await scene.ledger.read(since: 0, limit: .max).segments.flatMap { try $0.events() }.map(\.topic)
    }

    @Test(arguments: LedgerKind.allCases) func `A notification becomes one event, however often it arrives`(
        kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            #expect(await scene.ledger.take(Self.receipt(Self.first)) == .stored(1))
            #expect(await scene.ledger.take(Self.receipt(Self.first)) == .duplicate)
            #expect(await scene.ledger.take(Self.receipt(Self.first, .receiptRefund)) == .duplicate)
            #expect(await scene.ledger.take(Self.receipt(Self.second, .receiptRefund)) == .stored(2))
            try await scene.reopen()
            #expect(await scene.ledger.take(Self.receipt(Self.first)) == .duplicate)
            #expect(try await Self.topics(scene) == ["receipt/shop/DID_RENEW", "receipt/shop/REFUND"])
            let last = try await scene.ledger.read(since: 1, limit: .max).segments.flatMap { try $0.events() }.last
            #expect(last?.details == #""notification_id":"\#(Self.second)""#)
        }
    }

    @Test(arguments: LedgerKind.allCases) func `Copies that arrive together become one event`(kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            let ledger = scene.ledger
            let results = await withTaskGroup { group in
                for _ in 0..<100 { group.addTask { await ledger.take(Self.receipt(Self.first)) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.count { $0 == .duplicate } == 99)
            #expect(results.count { $0 == .stored(1) } == 1)
            let topics = try await Self.topics(scene)
            #expect(topics.count == 1)
        }
    }

    @Test(arguments: LedgerKind.allCases) func `The same id of another app is another notification`(kind: LedgerKind)
        async throws
    {
        let news = try #require(AppID("news"))
        try await withLedger(on: kind) { scene in
            #expect(await scene.ledger.take(Self.receipt(Self.first)) == .stored(1))
            #expect(await scene.ledger.take(Self.receipt(Self.first, of: news)) == .stored(2))
        }
    }

    @Test(arguments: LedgerKind.allCases) func `Ids are remembered for 30 days, however short the log is`(
        kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            #expect(await scene.ledger.take(Self.receipt(Self.first)) == .stored(1))
            scene.retention.logAge = .seconds(60)
            scene.advance(.seconds(29 * 86_400))
            #expect(await scene.ledger.take(Self.receipt(Self.second)) == .stored(2))
            // In PostgreSQL, the tables of old days are dropped once a minute, when nobody reads them.
            repeat {
                scene.advance(.seconds(61))
                await scene.trim()
            } while try await Self.topics(scene).count > 1
            #expect(try await Self.topics(scene).count == 1)
            #expect(await scene.ledger.take(Self.receipt(Self.first)) == .duplicate)
            scene.advance(.seconds(2 * 86_400))
            await scene.trim()
            #expect(await scene.ledger.take(Self.receipt(Self.second)) == .duplicate)
            #expect(await scene.ledger.take(Self.receipt(Self.first)) == .stored(3))
        }
    }

    @Test func `Many expired ids are removed, a few at a time`() async throws {
        try await withLedger { scene in
            for index in 0..<200 { _ = await scene.ledger.take(Self.receipt("id-\(index)")) }
            scene.advance(.seconds(31 * 86_400))
            await scene.trim()
            let connection = try SQLiteConnection(scene.path)
            let count = try connection.prepare("SELECT count(*) FROM receipts")
            #expect(try count.step() && count.number(0) == 0)
        }
    }

    /// It runs in a process of its own, because the file size limit applies to a process.
    @Test func `A notification that a full disk refuses can be sent again`() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            try await withLedger { scene in
                #expect(await scene.ledger.take(Self.receipt(Self.first)) == .stored(1))
                limitFiles(to: 4096)
                guard case .failed(let words) = await scene.ledger.take(Self.receipt(Self.second)) else {
                    Issue.record("the ledger must fail")
                    return
                }
                #expect(words.contains("disk is full"))
                limitFiles(to: .max)
                await wait(while: await scene.settled().fault != nil)
                #expect(await scene.ledger.take(Self.receipt(Self.first)) == .duplicate)
                #expect(await scene.ledger.take(Self.receipt(Self.second)) == .stored(2))
                let topics = try await Self.topics(scene)
                #expect(topics.count == 2)
            }
        }
    }

    @Test func `A closed ledger refuses notifications`() async throws {
        try await withLedgerFolder { folder in
            let scene = try await LedgerScene(folder)
            await scene.ledger.close()
            guard case .failed = await scene.ledger.take(Self.receipt(Self.first)) else {
                Issue.record("the ledger must refuse")
                return
            }
        }
    }

    @Test func `Each type of Apple is a kind of its own, and others are not lost`() {
        #expect(EventKind.receipt(ofType: "DID_RENEW") == .receiptDidRenew)
        #expect(EventKind.receipt(ofType: "MIGRATION") == .receiptMigration)
        #expect(EventKind.receipt(ofType: "BRAND_NEW") == .receiptOther)
        #expect(EventKind.receipt(ofType: "other") == .receiptOther)
        #expect(EventKind.allCases.filter(\.isReceipt).allSatisfy { "\($0.family)" == "receipt" })
        #expect(EventKind.allCases.filter { !$0.isReceipt }.allSatisfy { "\($0.family)" != "receipt" })
    }
}
