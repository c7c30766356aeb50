import PushModel
import Testing

@testable import PushStore

@Suite struct ScheduleTests {
    @Test(arguments: LedgerKind.allCases)
    func `Messages become due in the order of their times, page by page, each once`(kind: LedgerKind) async throws {
        try await withLedger(on: kind) { scene in
            let now = scene.now
            let replies = await scene.accept([
                push("c", notBefore: now + 30), push("a", notBefore: now + 10), push("b", notBefore: now + 20),
                push("a2", notBefore: now + 10), push("year", notBefore: now + 31_536_000),
                push("at once", notBefore: now - 1), push("now", notBefore: now),
            ])
            #expect(replies.compactMap(\.seq) == Array(1...7))
            #expect(scene.listener.messages.map(\.seq) == Array(1...7))
            #expect(await scene.settled().scheduled == 5)
            let early = try await scene.due(at: now + 9)
            #expect(early.messages.isEmpty)
            #expect(early.next?.value == now + 10)
            let first = try await scene.due(at: now + 25, limit: 2)
            #expect(first.messages.map(\.message.id.text) == ["a", "a2"])
            #expect(first.next?.value == now + 20)
            let second = try await scene.due(at: now + 25, limit: 2)
            #expect(second.messages.map(\.message.id.text) == ["b"])
            #expect(second.next?.value == now + 30)
            let third = try await scene.due(at: now + 40, limit: 10)
            #expect(third.messages.map(\.message.id.text) == ["c"])
            #expect(third.next?.value == now + 31_536_000)
            #expect(third.messages[0].message.payload == LedgerScene.payload)
            #expect(third.messages[0].acceptedAt.milliseconds == scene.clock.withLock { $0 })
        }
    }

    @Test(arguments: LedgerKind.allCases) func `An answer ends after some megabytes, and the next one continues`(
        kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            let now = scene.now
            let payload = [UInt8](repeating: 0x20, count: 3 << 20)
            let ids = ["a", "b", "c", "d", "e"]
            _ = await scene.accept(ids.map { push($0, notBefore: now + 10, payload: payload) })
            var due: [String] = []
            for count in [2, 2, 1] {
                let answer = try await scene.due(at: now + 10)
                #expect(answer.messages.count == count)
                #expect(answer.next?.value == (count == 1 ? nil : now + 10))
                due += answer.messages.map(\.message.id.text)
            }
            #expect(due == ids)
            _ = await scene.accept(ids.map { push("now \($0)", payload: payload) })
            #expect(try await scene.load(Array(1...10)).map(\.seq) == [1, 2])
            #expect(try await scene.load(Array(6...10)).map(\.seq) == [6, 7])
            #expect(try await scene.load([10]).map(\.seq) == [10])
        }
    }

    @Test(arguments: LedgerKind.allCases) func `Overtaken messages are returned in parts, too`(kind: LedgerKind)
        async throws
    {
        try await withLedger(on: kind) { scene in
            let now = scene.now
            let payload = [UInt8](repeating: 0x20, count: 3 << 20)
            _ = await scene.accept(push("far", notBefore: now + 1000))
            _ = try await scene.due(at: now + 1000)
            _ = await scene.accept(["a", "b", "c"].map { push($0, notBefore: now + 10, payload: payload) })
            let first = try await scene.due(at: now + 10)
            #expect(first.messages.map(\.message.id.text) == ["a", "b"])
            #expect(first.next?.value == now + 10)
            #expect(try await scene.due(at: now + 10).messages.map(\.message.id.text) == ["c"])
        }
    }

    /// The test counts the statements that write the outcomes.
    @Test func `Interleaved outcomes of two scheduled messages cost no more lookups`() async throws {
        try await withLedger { scene in
            let now = scene.now
            let tokens = (0..<200).map { token($0) }
            _ = await scene.accept(["a", "b"].map { push($0, to: Array(0..<200), notBefore: now + 10) })
            let messages = try await scene.due(at: now + 10).messages
            let before = await scene.settled().steps
            let records = tokens.flatMap { one in messages.flatMap { scene.sent($0, [one]) } }
            scene.ledger.record(records, completed: [])
            #expect(await scene.settled().steps - before < 20)
        }
    }

    @Test(arguments: LedgerKind.allCases) func `A message accepted after others of its time were handed out comes next`(
        kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            let now = scene.now
            _ = await scene.accept(push("a", notBefore: now + 100))
            let first = try await scene.due(at: now + 100)
            #expect(first.messages.count == 1)
            // The clock of the ledger is behind the clock of the caller.
            _ = await scene.accept([push("b", notBefore: now + 100), push("c", notBefore: now + 101)])
            #expect(await scene.settled().scheduled == 3)
            #expect(try await scene.load([2, 3]).map(\.message.id.text) == ["b", "c"])
            #expect(try await scene.due(at: now + 200).messages.map(\.message.id.text) == ["b", "c"])
        }
    }

    /// The clock was a year ahead for a moment, and the messages that were scheduled for that year were handed out.
    @Test(arguments: LedgerKind.allCases) func `After the clock was ahead, new scheduled messages wait for their time`(
        kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            let now = scene.now
            let year: Int64 = 31_536_000
            _ = await scene.accept([push("far", notBefore: now + year), push("near", notBefore: now + 60)])
            #expect(try await scene.due(at: now + year).messages.map(\.message.id.text) == ["near", "far"])
            _ = await scene.accept(["c", "a", "b"].map { push($0, notBefore: now + ($0 == "c" ? 500 : 100)) })
            _ = await scene.accept(push("last", notBefore: now + 2 * year))
            #expect(scene.listener.messages.suffix(4).filter(\.isScheduled).count == 4)
            #expect(try await scene.due(at: now + 99).next?.value == now + 100)
            let first = try await scene.due(at: now + 100, limit: 1)
            #expect(first.messages.map(\.message.id.text) == ["a"])
            #expect(first.next?.value == now + 100)
            let second = try await scene.due(at: now + 499)
            #expect(second.messages.map(\.message.id.text) == ["b"])
            #expect(second.next?.value == now + 500)
            let third = try await scene.due(at: now + 2 * year)
            #expect(third.messages.map(\.message.id.text) == ["c", "last"])
            #expect(third.next == nil)
        }
    }

    @Test func `A damaged message among overtaken ones is reported once`() async throws {
        try await withLedger { scene in
            let now = scene.now
            _ = await scene.accept(push("far", notBefore: now + 1000))
            _ = try await scene.due(at: now + 1000)
            _ = await scene.accept(["a", "b", "c"].map { push($0, notBefore: now + 10) })
            let other = try SQLiteConnection(scene.path)
            try other.run("UPDATE scheduled SET body = x'00ff' WHERE seq = 3")
            #expect(try await scene.due(at: now + 10).messages.map(\.seq) == [2])
            let error = await #expect(throws: LedgerFault.self) { _ = try await scene.due(at: now + 10) }
            #expect(error?.description.contains("message 3") == true)
            #expect(try await scene.due(at: now + 10).messages.map(\.seq) == [4])
        }
    }

    @Test func `After a restart unfinished scheduled messages become due again, with their counts`() async throws {
        try await withLedger { scene in
            let now = scene.now
            let tokens = [1, 2, 3].map { token($0) }
            _ = await scene.accept([push("a", to: [1, 2, 3], notBefore: now + 10), push("b", notBefore: now + 10)])
            let messages = try await scene.due(at: now + 10).messages
            #expect(messages.map(\.needsClaim) == [true, false])
            #expect(await scene.claim(1, "a", tokens) == [.new, .new, .new])
            scene.ledger.record(
                scene.sent(messages[0], [tokens[0]]) + scene.records(messages[0], [tokens[1]], .expired)
                    + scene.sent(messages[1], [tokens[0]]), completed: [scene.completed(messages[1], sent: 1)])
            try await scene.reopen()
            #expect(scene.backlog.nextDue?.value == now + 10)
            #expect(await scene.settled().scheduled == 1)
            let again = try await scene.due(at: now + 10).messages
            #expect(again.map(\.seq) == [1])
            #expect(again[0].counts.sent == 1)
            #expect(again[0].counts.expired == 1)
            #expect(await scene.claim(1, "a", tokens) == [.done, .done, .new])
            scene.ledger.record(scene.sent(again[0], [tokens[2]]), completed: [scene.completed(again[0], sent: 1)])
            try await scene.reopen()
            #expect(scene.backlog.nextDue == nil)
            let status = await scene.settled()
            #expect(status.scheduled == 0)
            #expect(try await scene.load([1, 2]).isEmpty)
            #expect(await scene.accept(push("a", to: [1, 2, 3], notBefore: now + 10)) == .duplicate(seq: 1))
        }
    }

    /// The numbers of the messages before and after the scheduled one are in the same row.
    @Test func `After a restart a scheduled message between others is not sent twice to a device`() async throws {
        try await withLedger { scene in
            let due = scene.now + 10
            _ = await scene.accept([push("a"), push("b", to: [1, 2], notBefore: due), push("c")])
            let message = try #require(try await scene.due(at: due).messages.first)
            #expect(await scene.claim(2, "b", [token(1), token(2)]) == [.new, .new])
            scene.ledger.record(scene.sent(message, [token(1)]), completed: [])
            try await scene.reopen()
            #expect(try await scene.due(at: due).messages.first?.counts.sent == 1)
            #expect(await scene.claim(2, "b", [token(1), token(2)]) == [.done, .new])
        }
    }

    @Test(arguments: LedgerKind.allCases) func `Scheduled messages between others are loaded from their own table`(
        kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            let now = scene.now
            let requests = (0..<100).map { push("m\($0)", notBefore: $0 % 3 == 1 ? now + 50 : nil) }
            #expect(await scene.accept(requests).compactMap(\.seq) == Array(1...100))
            let order = Array((1...100 as ClosedRange<UInt64>).reversed())
            #expect(try await scene.load(order).map(\.seq) == order)
            try await scene.reopen()
            #expect(scene.backlog.lanes.map(\.seqs) == [order.reversed().filter { $0 % 3 != 2 }])
            #expect(try await scene.load(order).map(\.message.id.text) == order.map { "m\($0 - 1)" })
            #expect(try await scene.due(at: now + 50).messages.map(\.seq) == order.reversed().filter { $0 % 3 == 2 })
        }
    }

    @Test(arguments: LedgerKind.allCases) func `A clock that is set back an hour changes only the times`(
        kind: LedgerKind
    ) async throws {
        try await withLedger(on: kind) { scene in
            let now = scene.now
            _ = await scene.accept([push("a"), push("b", notBefore: now + 10)])
            #expect(try await scene.due(at: now + 10).messages.count == 1)
            scene.setClock(by: .seconds(-3600))
            #expect(await scene.accept(push("a")) == .duplicate(seq: 1))
            #expect(await scene.accept(push("c", notBefore: now + 5)).seq == 4)
            #expect(await scene.settled().scheduled == 2)
            #expect(try await scene.due(at: now - 3600).messages.isEmpty)
            #expect(try await scene.due(at: now + 5).messages.map(\.seq) == [4])
            let kept = await scene.trim()
            #expect(kept.messageKeys == 3)
            try await scene.reopen()
            #expect(await scene.accept(push("a")) == .duplicate(seq: 1))
            #expect(await scene.accept(push("d")).seq == 6)
        }
    }
}
