import PushLogic
import PushModel
import PushRandom
import PushTime
import PushWire
import Testing

@testable import PushStore

/// The bytes of stored groups: they are read back as they were, and damaged ones are refused.
@Suite struct StoredGroupTests {
    private static let base = EventNumber.base(of: 5)

    /// Returns the rows of a group of part 5 that accepts two messages, of which one is for later, and ends another.
    private func rows() throws -> LedgerRows {
        let identities = try #require(Identities(secret: Array(0..<32)))
        var machine = LedgerMachine(
            identities, writer: LogWriter(next: Self.base + 1),
            dedupe: DedupeMachine(window: .seconds(600), limit: 1000, space: .part(5, of: 64)), storeName: "test")
        let lookup = PartLookup()
        var group = LedgerGroup()
        group.requests = [RequestBatch([push("a"), push("b", to: [1, 2])]) { _ in }]
        let now = WallTime(milliseconds: 1_700_000_000_000)
        let first = try machine.decide(group, at: now, using: lookup)
        machine.commit(first)
        group.requests = [RequestBatch([push("c"), push("d", notBefore: 1_700_000_500)]) { _ in }]
        let message = first.accepted[1]
        let record = DeliveryRecord(
            seq: message.seq, fingerprint: message.fingerprint, acceptedAt: message.acceptedAt,
            message: message.message, device: DeviceID(high: 7, low: 8), deliveryID: DeliveryID(high: 1, low: 2),
            attempt: 1,
            outcome: .sent(providerID: nil))
        group.outcomes = [
            (
                [record],
                [
                    CompletedMessage(
                        seq: first.accepted[0].seq, message: first.accepted[0].message, counts: OutcomeCounts())
                ], []
            )
        ]
        return try machine.decide(group, at: now, using: lookup).rows
    }

    @Test func `A row of keys is read as it was written`() throws {
        let rows = try rows()
        let row = try #require(StoredKeyRow(StoredKeyRow.encode(rows), number: rows.number))
        #expect(row.row.accepted.count == 2 && row.row.ended.count == 1)
        #expect(row.row.completed == [Self.base + 1])
        #expect(row.row.ended[0].seq == Self.base + 2)
        #expect(row.heads == rows.heads)
        #expect(row.next == rows.number + rows.segments.reduce(0) { $0 + UInt64($1.count) })
    }

    @Test func `The segments of a row are read as they were written`() throws {
        let rows = try rows()
        let bytes = StoredLogRow.encode(rows)
        let segments = try #require(StoredLogRow.decode(bytes, number: rows.number, time: rows.time))
        let written = rows.segments.filter { $0.count > 0 }
        #expect(segments.map(\.first) == written.map(\.first))
        #expect(segments.map(\.bytes) == written.map(\.bytes))
        let topics = try segments.flatMap { try $0.events() }.map(\.topic)
        let accepted = topics.count { $0 == "message/shop/accepted" }
        #expect(accepted == 2)
        #expect(topics.contains("delivery/shop/sent") && topics.contains("message/shop/completed"))
    }

    @Test func `The heads of bodies are read as they were written`() throws {
        let rows = try rows()
        let bodies = StoredBodies(rows.messages[0])
        let (apps, heads) = try #require(StoredBodies.heads(bodies.heads))
        #expect(apps == [LedgerScene.shop])
        #expect(heads == rows.messages[0].heads)
    }

    /// Every truncation, and many changed bytes: no reader traps, and a shorter row is never taken for a whole one.
    @Test func `Damaged bytes are refused`() throws {
        let rows = try rows()
        let keys = StoredKeyRow.encode(rows)
        for count in 0..<keys.count { #expect(StoredKeyRow(Array(keys[..<count]), number: rows.number) == nil) }
        let log = StoredLogRow.encode(rows)
        let whole = rows.segments.count { $0.count > 0 }
        for count in 1..<log.count {
            let read = StoredLogRow.decode(Array(log[..<count]), number: rows.number, time: rows.time)
            let isShorter = (read?.count ?? 0) < whole
            #expect(isShorter)
        }
        var random = SeededRandom(seed: 11)
        let heads = StoredBodies(rows.messages[0]).heads
        for _ in 0..<20_000 {
            func changed(_ bytes: [UInt8]) -> [UInt8] {
                var bytes = bytes
                for _ in 0...Int(random.next() % 3) {
                    bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
                }
                return bytes
            }
            if let row = StoredKeyRow(changed(keys), number: rows.number) {
                #expect(EventNumber.part(of: row.next) == 5)
                let isInside = row.heads.allSatisfy { EventNumber.part(of: $0.seq) == 5 && $0.seq < row.next }
                #expect(isInside)
            }
            for segment in StoredLogRow.decode(changed(log), number: rows.number, time: rows.time) ?? [] {
                #expect(segment.count > 0 && EventNumber.part(of: segment.last) == 5)
            }
            _ = StoredBodies.heads(changed(heads))
        }
    }
}

/// A database may hold any numbers. The number before the first one of a part is of no event.
@Suite struct StoredNumberTests {
    @Test func `A row whose numbers begin before its part is damaged`() {
        let time = WallTime(milliseconds: 0)
        for part in [0, 5] {
            let base = EventNumber.base(of: part)
            var log: [UInt8] = []
            log.appendVarint(0)
            log.appendVarint(1)
            log.appendSigned(0)
            log.appendVarint(0)
            #expect(StoredLogRow.decode(log, number: base, time: time) == nil)
            #expect(StoredLogRow.decode(log, number: base + 1, time: time)?.first?.last == base + 1)
            let empty = LedgerRows(at: time, number: base)
            #expect(StoredKeyRow(StoredKeyRow.encode(empty, count: 0), number: base) == nil)
            #expect(StoredKeyRow(StoredKeyRow.encode(empty, count: 1), number: base)?.next == base + 1)
        }
    }

    @Test func `The horizon of any day is a time`() {
        for day in [Int32.min, -1, 0, 20_000, Int32.max] {
            let expected = max(Int64(day) * 24, Int64(Int32.min)) * 3_600_000
            #expect(LedgerHorizon(day: day, hour: .min).time.milliseconds == expected)
        }
    }

    /// Numbers of a log that a database holds add up without a trap.
    @Test func `Counts of any size are added`() {
        var counts = MessageSummary.Counts()
        counts.sent = .max
        counts += counts
        #expect(counts.sent == .max - 1 && counts.total == .max - 1)
    }
}

/// The schedule of one part, compared with a plain list.
@Suite struct DueIndexTests {
    @Test(arguments: [1, 2, 3] as [UInt64]) func `Messages come up in the order of their times`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var index = DueIndex()
        var waiting: [UInt64: Int64] = [:]
        var released: Set<UInt64> = []
        for step in 1...20_000 as ClosedRange<UInt64> {
            let due = Int64(random.next() % 5000)
            switch random.next() % 6 {
            case 0...2:
                let key = AcceptedKey(fingerprint: step, content: 2, audience: 3, isSingle: true)
                index.add(step, due: UnixSeconds(due), key: key)
                waiting[step] = due
            case 3:
                let next = index.next(at: UnixSeconds(due))
                let first = waiting.min { ($0.value, $0.key) < ($1.value, $1.key) }
                let expected = first.flatMap { $0.value <= due ? $0.key : nil }
                #expect(next == expected)
                if let next {
                    waiting[next] = nil
                    released.insert(next)
                }
            case 4:
                if let any = waiting.keys.randomElement(using: &random) {
                    index.remove(any)
                    waiting[any] = nil
                }
                if let any = released.randomElement(using: &random) {
                    index.remove(any)
                    released.remove(any)
                }
            default:
                if step % 64 == 0 {
                    #expect(index.nextDue?.value == waiting.values.min())
                }
            }
            #expect(index.count == waiting.count + released.count)
        }
    }

    @Test func `A message that could not be read comes up again`() {
        var index = DueIndex()
        let key = AcceptedKey(fingerprint: 1, content: 2, audience: 3, isSingle: true)
        index.add(9, due: UnixSeconds(100), key: key)
        #expect(index.next(at: UnixSeconds(99)) == nil && index.next(at: UnixSeconds(100)) == 9)
        #expect(index.next(at: UnixSeconds(100)) == nil && index.nextDue == nil && index.key(of: 9) == key)
        index.putBack(9)
        index.putBack(9)
        #expect(index.next(at: UnixSeconds(100)) == 9 && index.next(at: UnixSeconds(100)) == nil)
        index.remove(9)
        #expect(index.isEmpty && index.numbers(from: 0, count: 100).isEmpty)
    }

    @Test func `The numbers of scheduled messages in a range are found both ways`() {
        var index = DueIndex()
        let key = AcceptedKey(fingerprint: 1, content: 2, audience: 3, isSingle: true)
        for seq in stride(from: 10, to: 100, by: 10) as StrideTo<UInt64> {
            index.add(seq, due: UnixSeconds(1), key: key)
        }
        #expect(index.numbers(from: 20, count: 3) == [20])
        #expect(index.numbers(from: 15, count: 50) == [20, 30, 40, 50, 60])
        #expect(index.numbers(from: .max - 1, count: 50) == [])
    }
}
