import Foundation
import PushModel
import PushTime
import TestTraits
import Testing

@testable import PushStore

/// Directories of earlier versions open with all that they contain.
@Suite(.waits) struct FixtureTests {
    @Test func `The fixtures of all releases are there`() {
        let names = Set(FormatFixture.all.map(\.name))
        let made: Set = ["main-761ff57", "release-0.1.0", "ledger-3", "ledger-4", "registry-4"]
        #expect(names.isSuperset(of: made), "a fixture is never removed: \(names)")
    }

    private func events(_ scene: LedgerScene, upTo newest: UInt64) async throws -> [SeenEvent] {
        try await scene.ledger.read(since: 0, limit: .max).segments.flatMap { try $0.events() }.filter {
            $0.seq <= newest
        }
    }

    @Test(arguments: FormatFixture.all)
    func `A ledger opens with all of its facts`(fixture: FormatFixture) async throws {
        let facts = fixture.facts
        try await fixture.unpacked { folder in
            let scene = try await LedgerScene(folder, at: facts.time)
            let events = try await events(scene, upTo: facts.newest)
            #expect(events.count == facts.events)
            #expect(Set(events.map(\.topic)).map { $0.split(separator: "/") }.allSatisfy { $0.count == 3 })
            let kinds = Set(events.map { "\($0.topic.split(separator: "/")[0]).\($0.topic.split(separator: "/")[2])" })
            #expect(kinds.sorted() == facts.kinds)

            let status = await scene.settled()
            #expect(status.waiting == facts.waiting.count + 1)
            #expect(status.scheduled == facts.scheduled.count)
            #expect(scene.backlog.paused.keys.map(\.name) == facts.paused)
            let waiting = (facts.waiting + [facts.half]).sorted { $0.seq < $1.seq }
            #expect(scene.backlog.lanes.flatMap(\.seqs).sorted() == waiting.map(\.seq))

            // Every id is known.
            for pushed in facts.pushed {
                #expect(await scene.accept(pushed.request) == .duplicate(seq: pushed.seq), "\(pushed.id)")
            }
            // What waits is whole.
            for message in try await scene.load(waiting.map(\.seq)) {
                let pushed = try #require(waiting.first { $0.seq == message.seq })
                #expect(message.message.id.text == pushed.id && message.message.app.name == pushed.app)
                #expect(message.message.payload == LedgerScene.payload)
                #expect(message.audience == .tokens(pushed.deviceTokens))
                #expect(message.message.onUnknown == pushed.request.message.onUnknown)
            }
            // What was sent of the message that is half out is not sent again.
            let app = try #require(AppID(facts.half.app))
            let devices = facts.half.deviceTokens.map { scene.identities.device(of: app, token: $0) }
            let page = ClaimPage(
                seq: facts.half.seq, fingerprint: scene.identities.message(of: app, id: MessageID(facts.half.id)!),
                devices: devices)
            let verdicts = await scene.claim([page])[0]
            #expect(verdicts == devices.map { facts.sentHalf.contains("\($0)") ? .done : .new })
            #expect(facts.sentHalf.count == 2)
            let due = try await scene.due(at: facts.scheduled.compactMap(\.notBefore).max() ?? 0)
            #expect(due.messages.map(\.seq).sorted() == facts.scheduled.map(\.seq))
            for id in facts.receipts {
                let receipt = ReceivedReceipt(
                    EventDraft(.receiptDidRenew, app: LedgerScene.shop), id: id, app: LedgerScene.shop)
                #expect(await scene.ledger.take(receipt) == .duplicate)
            }
            // Numbers go on.
            let next = try #require(await scene.accept(push("new")).seq)
            #expect(next > facts.newest)
            #expect(try await scene.ledger.trace(.message(MessageID(facts.done[0].id)!), limit: 10).isEmpty == false)
            try await scene.reopen()
            #expect(await scene.accept(facts.done[0].request) == .duplicate(seq: facts.done[0].seq))
            await scene.ledger.close()
            #expect(try LedgerFacts(of: "\(folder)/ledger.db").version == LedgerSchema.version)
        }
    }

    @Test(arguments: FormatFixture.all)
    func `A registry opens with all devices and API keys`(fixture: FormatFixture) async throws {
        let facts = fixture.facts
        try await fixture.unpacked { folder in
            let scene = try await LedgerScene(folder, at: facts.time)
            let registry = try await SQLiteRegistry.open(
                directory: folder, identities: scene.identities, note: { _ in nil },
                now: { WallTime(milliseconds: facts.time) })
            #expect(try await registry.catchUp(from: scene.ledger))
            let devices = try await registry.list(DeviceFilter(), after: nil, limit: 1000).devices
            #expect(devices.count == facts.devices.count)
            for wanted in facts.devices {
                let found = try #require(devices.first { "\($0.id)" == wanted.device })
                #expect(found.app.name == wanted.app && found.user == wanted.user)
                #expect(found.tags == wanted.tags ?? [])
                #expect((found.deactivatedAt == nil) == wanted.active && found.reason == wanted.reason)
                #expect(found.locale == wanted.locale && found.platform == wanted.platform)
                #expect(found.place.kind?.rawValue == wanted.kind)
                #expect((found.place.activity, found.place.activityType) == (wanted.activity, wanted.activityType))
                #expect((found.place.installation, found.timeZone) == (wanted.installation, wanted.timeZone))
                if let token = found.token {
                    #expect(scene.identities.device(of: found.app, token: token) == found.id)
                }
            }
            let keys = registry.keys.keys.map(\.key)
            for wanted in facts.keys.flatMap(\.keys) {
                let same = keys.filter { $0.name.text == wanted.name }
                #expect(!same.isEmpty, "\(wanted.name)")
                for key in same {
                    #expect(key.apps?.map(\.name) == wanted.apps && key.rate == wanted.rate)
                    #expect(key.allowsBearer == wanted.bearer)
                }
            }
            #expect(keys.contains { $0.revokedAt != nil } && keys.contains { $0.rotatedUntil != nil })
            await registry.close()
            await scene.ledger.close()
            #expect(try RegistryFacts(of: "\(folder)/registry.db").version == RegistrySchema.version)
            // From now on, a new ledger would give the devices the same ids.
            let mark = try RegistryMark.read(ofStopped: "\(folder)/registry.db")
            #expect(try mark.secretOfNewLedger(in: folder) == scene.identities.secret)
        }
    }

    /// A power cut in the middle of a migration leaves any beginning of the write-ahead log.
    @Test func `A migration that is cut off leaves a file of one version or the other`() async throws {
        let fixture = try #require(FormatFixture.all.first { $0.facts.ledgerVersion == 1 })
        try await fixture.unpacked { folder in
            let path = "\(folder)/ledger.db"
            let before = (FileManager.default.contents(atPath: path + "-wal") ?? Data()).count
            let file: Data
            let log: Data
            do {
                let connection = try SQLiteConnection(path)
                connection.keepLogAtClose()
                try connection.run("PRAGMA wal_autocheckpoint = 0")
                #expect(try LedgerSchema.version(of: connection) == 1)
                try LedgerSchema.prepare(connection)
                file = try #require(FileManager.default.contents(atPath: path))
                log = try #require(FileManager.default.contents(atPath: path + "-wal"))
            }
            #expect(log.count > before)
            var seen: Set<Int64> = []
            for cut in stride(from: before, through: log.count, by: max(1, (log.count - before) / 40)) + [log.count] {
                try await withLedgerFolder { other in
                    try file.write(to: URL(filePath: "\(other)/ledger.db"))
                    try log.prefix(cut).write(to: URL(filePath: "\(other)/ledger.db-wal"))
                    do {
                        let connection = try SQLiteConnection("\(other)/ledger.db")
                        seen.insert(try LedgerSchema.version(of: connection))
                    }
                    let scene = try await LedgerScene(other, at: fixture.facts.time)
                    #expect(await scene.settled().waiting == fixture.facts.waiting.count + 1)
                    await scene.ledger.close()
                    try FileSnapshot.settle("\(other)/ledger.db")
                    #expect(try FileSnapshot.problems(of: "\(other)/ledger.db") == [])
                    #expect(try LedgerFacts(of: "\(other)/ledger.db").version == LedgerSchema.version)
                }
            }
            #expect(seen == [1, LedgerSchema.version])
        }
    }
}
