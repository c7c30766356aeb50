import PushLoop
import PushModel
import PushWire
import ServerTestSupport
import TestSupport
import Testing

@testable import PushStore

/// What a page of messages reads of the log.
@Suite struct MessageListingTests {
    /// Counts the queries for single subjects.
    private final class CountingLog: EventLog {
        let events: FakeEvents
        let asked = Locked(0)

        init(_ events: FakeEvents) { self.events = events }

        var partCount: Int { events.partCount }
        func bounds() async throws -> [LogBounds] { try await events.bounds() }
        func read(since: UInt64, limit: Int) async throws -> LogPage {
            try await events.read(since: since, limit: limit)
        }
        func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment] {
            asked.withLock { $0 += 1 }
            return try await events.trace(subject, limit: limit)
        }
    }

    private struct Accepted {
        let id: String
        let users: [String]
    }

    private func counts(sent: UInt32) -> OutcomeCounts {
        var counts = OutcomeCounts()
        counts.sent = sent
        return counts
    }

    /// Accepts messages in random order of their events, for users of whom each name is a part of the next.
    private func tell(_ count: Int, to events: FakeEvents, _ random: inout SeededRandom) -> [Accepted] {
        var accepted: [Accepted] = []
        var open: [Message] = []
        for number in 0..<count {
            let message = LogWriter.message("m\(number)")
            let users = Int.random(in: 0..<4, using: &random) == 0 ? ["ada", "ad\"a"] : ["adam\(number % 3)"]
            let isLast = number == count - 1
            events.commit(at: Int64(number)) { writer, now in
                writer.add(accepted: PushRequest(message, to: .users(users)), at: now)
                open.append(message)
                while let one = open.first, isLast || Bool.random(using: &random) {
                    writer.complete(one, counts(sent: 1), at: now)
                    open.removeFirst()
                }
            }
            accepted.append(Accepted(id: message.id.text, users: users))
        }
        return accepted
    }

    private func all(_ filter: MessageHistory.Filter, of history: MessageHistory, limit: Int) async throws -> [String] {
        var (ids, cursor): ([String], UInt64?) = ([], nil)
        repeat {
            let page = try await history.list(filter, before: cursor, limit: limit)
            #expect(page.messages.count <= limit && page.messages.allSatisfy { $0.state == .completed })
            ids += page.messages.map(\.id)
            cursor = page.next.flatMap { UInt64($0) }
        } while cursor != nil
        return ids
    }

    @Test(arguments: [0, 50, 1_000_000] as [UInt64], [1, 7, 60])
    func `The pages for a user have each of its messages once, with its outcome`(nearby: UInt64, limit: Int)
        async throws
    {
        var random = SeededRandom(seed: nearby + UInt64(limit))
        let events = FakeEvents()
        let accepted = tell(120, to: events, &random)
        let history = MessageHistory(log: events, nearby: nearby)
        for user in ["ada", "ad\"a", "adam0", "adam", "x"] {
            var filter = MessageHistory.Filter()
            filter.user = user
            let expected = accepted.filter { $0.users.contains(user) }.reversed().map(\.id)
            #expect(try await all(filter, of: history, limit: limit) == Array(expected), "\(user)")
        }
    }

    @Test func `A page for a user without messages asks for none`() async throws {
        var random = SeededRandom(seed: 1)
        let log = CountingLog(FakeEvents())
        _ = tell(300, to: log.events, &random)
        var filter = MessageHistory.Filter()
        filter.user = "nobody"
        let newest = try #require(try await log.bounds().first?.newest)
        let page = try await MessageHistory(log: log, nearby: 0).list(filter, before: newest, limit: 50)
        #expect(page.messages.isEmpty && page.next == nil && log.asked.withLock { $0 } == 0)
    }

    /// The outcomes of these messages are too far behind the page to be read.
    @Test func `The log is asked only for messages that may be on the page`() async throws {
        let log = CountingLog(FakeEvents())
        for number in 0..<300 {
            let message = LogWriter.message("m\(number)")
            log.events.commit(at: Int64(number)) { writer, now in
                writer.add(accepted: PushRequest(message, to: .users(["ada"])), at: now)
                if number != 7 { writer.complete(message, counts(sent: 1), at: now) }
            }
        }
        let newest = try #require(try await log.bounds().first?.newest)
        let history = MessageHistory(log: log, nearby: 0)
        var filter = MessageHistory.Filter()
        filter.states = [.waiting]
        var page = try await history.list(filter, before: newest, limit: 50)
        #expect(page.messages.map(\.id) == ["m7"])
        // The last one is asked for, too: its end is on the page before.
        #expect(log.asked.withLock { $0 } == 2)
        filter.states = []
        filter.until = FakeEvents.start.adding(milliseconds: 9)
        page = try await history.list(filter, before: newest, limit: 50)
        #expect(page.messages.count == 10 && log.asked.withLock { $0 } == 12)
    }

    @Test func `A page ends when the log was asked for many messages, and the next one continues`() async throws {
        let log = CountingLog(FakeEvents())
        let messages = (0..<200).map { LogWriter.message("m\($0)") }
        for message in messages {
            log.events.commit { writer, now in writer.add(accepted: PushRequest(message, to: .users(["ada"])), at: now)
            }
        }
        log.events.commit { writer, now in
            for message in messages.dropFirst() { writer.complete(message, counts(sent: 1), at: now) }
        }
        let history = MessageHistory(log: log, nearby: 0)
        var filter = MessageHistory.Filter()
        filter.states = [.waiting]
        for user in [nil, "ada"] {
            filter.user = user
            var (ids, pages): ([String], Int) = ([], 0)
            var cursor: UInt64? = 201
            repeat {
                log.asked.withLock { $0 = 0 }
                let page = try await history.list(filter, before: cursor, limit: 20)
                #expect(log.asked.withLock { $0 } <= MessageListing.maxAsked)
                ids += page.messages.map(\.id)
                cursor = page.next.flatMap { UInt64($0) }
                pages += 1
            } while cursor != nil
            #expect(ids == ["m0"] && pages >= 4)
        }
    }

    @Test(arguments: [nil, "ada"]) func `A search ends when its task is cancelled`(user: String?) async throws {
        var random = SeededRandom(seed: 1)
        let events = FakeEvents()
        _ = tell(10, to: events, &random)
        let search = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var filter = MessageHistory.Filter()
            filter.user = user
            return try await MessageHistory(log: events).list(filter, before: nil, limit: 10)
        }
        await #expect(throws: CancellationError.self) { _ = try await search.value }
    }
}
