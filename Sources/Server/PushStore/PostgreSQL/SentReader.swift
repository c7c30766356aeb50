import PushLoop
package import PushModel
import PushPostgreSQL
import PushTime
import PushWire

/// Finds sent deliveries by their ids, in the log of all parts. What was stored since the last search is read first.
actor SentReader {
    private static let groupsAtOnce: Int64 = 1024
    /// The number of groups of each part that the first search reads.
    private static let maxGroups: Int64 = 65_536

    private let call: StoreCall
    private let parts: Int
    private var index = SentIndex()
    /// The last group of each part that is in the index; nil before the first search.
    private var read: [Int64]?
    private var isReading = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ call: StoreCall, parts: Int) {
        self.call = call
        self.parts = parts
    }

    func find(_ ids: [DeliveryID]) async throws -> [DeliveryID: SentDelivery] {
        try await readNews()
        var search = DeliverySearch(ids)
        let numbers = search.rows { index.groups(of: $0) }
        for start in stride(from: 0, to: numbers.count, by: 64) {
            let some = numbers[start..<min(start + 64, numbers.count)]
            let results = try await call.run { section in
                section.call(StoreStatements.logsOf) { parameters in
                    parameters.append(int4Array: some.lazy.map { Int32(EventNumber.part(of: $0)) })
                    parameters.append(int8Array: some.lazy.map { Int64(bitPattern: $0) })
                }
            }
            for row in results[0].rows {
                let number = UInt64(bitPattern: try row.value(0, as: Int64.self))
                let time = WallTime(milliseconds: try row.value(1))
                for segment in StoredLogRow.decode(try row.value(2), number: number, time: time) ?? [] {
                    search.add(segment)
                }
            }
        }
        search.finishPart()
        return search.found
    }

    /// Reads what was stored since the last search. One reading at a time: another one would add the same groups again.
    private func readNews() async throws {
        while isReading { await withCheckedContinuation { waiting.append($0) } }
        isReading = true
        defer {
            isReading = false
            for continuation in waiting { continuation.resume() }
            waiting = []
        }
        var last = if let read { read } else { try await begin() }
        var isFull = true
        while isFull {
            let after = last
            let results = try await call.run { section in
                section.call(StoreStatements.sentAfter) { parameters in
                    parameters.append(int4Array: after.indices.lazy.map { Int32($0) })
                    parameters.append(int8Array: after)
                    parameters.append(int8: Self.groupsAtOnce)
                }
            }
            var counts = Array(repeating: Int64(0), count: parts)
            for row in results[0].rows {
                let number: Int64 = try row.value(0)
                let part = EventNumber.part(of: UInt64(bitPattern: number))
                guard part < parts else { continue }
                index.add(StoredSentRow.decode(try row.value(1)), number: UInt64(bitPattern: number))
                last[part] = number
                counts[part] += 1
            }
            read = last
            isFull = counts.contains(Self.groupsAtOnce)
        }
    }

    private func begin() async throws -> [Int64] {
        let parts = parts
        let results = try await call.run { section in
            section.call(StoreStatements.sentStart) { parameters in
                parameters.append(int4Array: (0..<parts).lazy.map { Int32($0) })
                parameters.append(int8: Self.maxGroups)
            }
        }
        var start = Array(repeating: Int64(0), count: parts)
        for row in results[0].rows {
            let part = Int(try row.value(0, as: Int32.self))
            if part < parts { start[part] = try row.optional(1) ?? 0 }
        }
        return start
    }
}

extension PostgreSQLLedger {
    package func sent(_ ids: [DeliveryID]) async throws -> [DeliveryID: SentDelivery] { try await sentReader.find(ids) }
}

extension StoreStatements {
    static let sentStart = PostgreSQLStatement(
        "sent-start",
        sql: """
            SELECT p, (SELECT number FROM carillon.groups WHERE part = p ORDER BY number DESC OFFSET $2 LIMIT 1)
            FROM unnest($1::int[]) AS p
            """,
        parameters: [.int4Array, .int8])
    static let sentAfter = PostgreSQLStatement(
        "sent-after",
        sql: """
            SELECT number, sent FROM unnest($1::int[], $2::bigint[]) AS known (p, n),
                LATERAL (SELECT number, sent FROM carillon.groups WHERE part = p AND number > n
                    ORDER BY number LIMIT $3) AS found
            """,
        parameters: [.int4Array, .int8Array, .int8])
    static let logsOf = PostgreSQLStatement(
        "logs-of",
        sql: """
            SELECT number, time, log FROM unnest($1::int[], $2::bigint[]) AS wanted (p, n)
            JOIN carillon.groups ON part = p AND number = n ORDER BY number
            """,
        parameters: [.int4Array, .int8Array])
}
