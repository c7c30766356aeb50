import Foundation
import PushLogic
import PushModel
import PushTime
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// A change of a format needs the next version and a directory among the fixtures, so that later versions read what this
/// one has written.
@Suite(.waits) struct SchemaTests {
    private static let remedy =
        "the format has changed: increase the version (LedgerSchema.version with a migration, or a migration in "
        + "RegistrySchema), and make a directory of the new version with Tools/fixture"

    /// The texts of all tables and indexes.
    private func schema(_ path: String) throws -> Set<String> {
        let connection = try SQLiteConnection(path)
        let rows = try connection.prepare("SELECT coalesce(sql, name) FROM sqlite_schema")
        defer { rows.reset() }
        var found: Set<String> = []
        while try rows.step() { found.insert(rows.text(0)) }
        return found
    }

    @Test func `The tables of this version are those of its fixture`() async throws {
        try await withLedgerFolder { folder in
            let scene = try await LedgerScene(folder)
            let registry = try await SQLiteRegistry.open(
                directory: folder, identities: scene.identities, note: { _ in nil })
            await registry.close()
            await scene.ledger.close()
            let (ledger, devices) = (try schema("\(folder)/ledger.db"), try schema("\(folder)/registry.db"))
            #expect(ledger.count > 10 && devices.count > 5)
            var hasFixture = false
            for fixture in FormatFixture.all {
                try await fixture.unpacked { copy in
                    for name in ["ledger.db", "registry.db"] { try FileSnapshot.settle("\(copy)/\(name)") }
                    guard try LedgerFacts(of: "\(copy)/ledger.db").version == LedgerSchema.version,
                        try RegistryFacts(of: "\(copy)/registry.db").version == RegistrySchema.version
                    else { return }
                    hasFixture = true
                    #expect(try schema("\(copy)/ledger.db") == ledger, "\(Self.remedy)")
                    // Earlier programs of this version have no use for the table of the secret.
                    let known = devices.filter { !$0.contains("\"device_secrets\"") }
                    #expect(try schema("\(copy)/registry.db").isSuperset(of: known), "\(Self.remedy)")
                    #expect(try schema("\(copy)/registry.db").isSubset(of: devices), "\(Self.remedy)")
                }
            }
            #expect(hasFixture, "\(Self.remedy)")
        }
    }

    @Test func `The page about backups has the versions of both files`() throws {
        let root = (0..<5).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let page = try String(contentsOf: root.appending(path: "Documentation/Backup.md"), encoding: .utf8)
        for (name, version) in [("ledger", LedgerFacts.knownVersion), ("registry", RegistryFacts.knownVersion)] {
            #expect(page.contains("\n| `\(name).db` | \(version) |"), "version \(version) of \(name).db")
        }
    }

    /// A migrated file has the tables of a new one.
    @Test(arguments: FormatFixture.all)
    func `A migrated file has the tables of a new one`(fixture: FormatFixture) async throws {
        try await withLedgerFolder { folder in
            let scene = try await LedgerScene(folder)
            await scene.ledger.close()
            let new = try schema("\(folder)/ledger.db")
            try await fixture.unpacked { copy in
                let migrated = try await LedgerScene(copy, at: fixture.facts.time)
                await migrated.ledger.close()
                #expect(try schema("\(copy)/ledger.db") == new)
            }
        }
    }

    /// The hash of the records that each version of the ledger writes into its columns. In version 4 it has changed once
    /// without a change of the format: messages to a few users are written with the lane of few devices. Each message
    /// keeps the lane with which it was written.
    private static let records: [Int64: UInt64] = [
        2: 13_560_621_587_202_339_922, 3: 13_560_621_587_202_339_922,
        4: 14_967_849_949_100_326_523,
    ]

    @Test func `The records in the columns are those of this version`() throws {
        var hash = SipHash(key: (0, 0))
        for seed in 1...100 as ClosedRange<UInt64> {
            var random = SeededRandom(seed: seed)
            let request = random.request()
            var bytes: [UInt8] = []
            MessageRecord.append(request.message, to: request.audience, needsClaim: seed % 2 == 0, &bytes)
            hash.add(bytes)
            var builder = MessageRowBuilder(first: seed)
            builder.add(request, seed, needsClaim: true)
            hash.add(builder.heads)
            hash.add(builder.bodies)
            hash.add(segment(of: request, seed).bytes)
        }
        var words: [UInt64] = []
        StoredCancelPart(seq: 1, underWay: 2, ended: 3, cancelled: 4).append(to: &words)
        AcceptedKey(fingerprint: 5, content: 6, audience: 7, isSingle: true).append(to: &words)
        for outcome in [nil, .sent, .rejected, .expired, .suppressed, .unknown] as [FinalOutcome?] {
            EndedKey(fingerprint: 8, seq: 9, outcome: outcome, isClaimed: true, isOnly: false).append(to: &words)
        }
        for word in words { hash.add(word) }
        let found = hash.hash64()
        #expect(found == Self.records[LedgerSchema.version], "\(Self.remedy); and add its hash \(found)")
    }

    private func segment(of request: PushRequest, _ seed: UInt64) -> LogSegment {
        let time = WallTime(milliseconds: 1_795_000_000_000)
        var writer = LogWriter(next: seed)
        writer.begin(time: time, reserving: 0)
        writer.add(accepted: request, at: time)
        let refusal = Refusal(status: 410, reason: ProviderReason(rawValue: "Unregistered"))
        for outcome in [
            .sent(providerID: nil), .rejected(refusal, deactivates: .gone), .retry(refusal, after: .seconds(1)),
            .expired,
            .suppressed(.inactive), .unknown(.connectionLost, isFinal: true),
        ] as [DeliveryOutcome] {
            writer.add(
                DeliveryRecord(
                    seq: seed, fingerprint: MessageFingerprint(3), acceptedAt: time, message: request.message,
                    device: DeviceID(high: 1, low: seed), deliveryID: DeliveryID(high: 2, low: seed), attempt: 1,
                    outcome: outcome), at: time.adding(milliseconds: 5))
        }
        var draft = EventDraft(.deviceDeactivated, app: request.message.app)
        draft.device = DeviceID(high: 3, low: seed)
        draft.evidence = time
        writer.add(draft, at: time.adding(milliseconds: 6))
        return writer.finish()
    }
}
