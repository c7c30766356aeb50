import PushLogic
import PushLoop
package import PushModel
import PushPostgreSQL
import PushTime
import PushWire

/// Searching the log for the events of a message or a device.
///
/// The log of a cluster has no index of names. The database itself looks for the bytes of a name in the rows of a part:
/// it reads some hundred megabytes a second, and sends only the rows that contain the name. All events of a message are
/// in one part, unless an app reports a delivery to another node; a device, and a message whose app is not known, may
/// have events in all parts.
extension PostgreSQLLedger {
    /// The number of groups that one statement examines.
    private static let groupsAtOnce: Int64 = 8192
    /// The number of groups of a part that are examined, the newest ones. Older events are not found.
    static let maxGroups: Int64 = 262_144

    package func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment] {
        try await trace(subject, after: 0, limit: limit)
    }

    package func trace(_ subject: TraceSubject, after: UInt64, limit: Int) async throws -> [LogSegment] {
        guard case .message(let id, let app?) = subject else {
            return try await search(subject.name, after, limit)
        }
        let part = map.partition(of: app, id).number
        let isBegin = after <= EventNumber.base(of: part)
        let first = try await find(
            subject.name, in: part, after: EventNumber.base(of: part), limit: isBegin ? limit : Self.probed)
        // Messages to Live Activities are in the parts of the activities' names.
        let isWhole = first.contains { $0.isWhole(id, app) }
        if !isWhole { return try await search(subject.name, after, limit, known: isBegin ? (part, first) : nil) }
        if isBegin { return first }
        if EventNumber.part(of: after) > part { return [] }
        return try await find(subject.name, in: part, after: after, limit: limit)
    }

    /// The number of segments in which the acceptance of a message is looked for again.
    private static let probed = 16

    /// Searches all parts.
    ///
    /// - Parameter known: A part that was searched, and the segments that were found in it.
    private func search(
        _ name: [UInt8], _ after: UInt64, _ limit: Int, known: (part: Int, segments: [LogSegment])? = nil
    ) async throws -> [LogSegment] {
        var segments: [LogSegment] = []
        for part in 0..<map.count where part >= EventNumber.part(of: after) && segments.count < limit {
            if let known, known.part == part {
                segments += known.segments.prefix(limit - segments.count)
                continue
            }
            let first = max(after, EventNumber.base(of: part))
            segments += try await find(name, in: part, after: first, limit: limit - segments.count)
        }
        return segments
    }

    private func find(_ name: [UInt8], in part: Int, after: UInt64, limit: Int) async throws -> [LogSegment] {
        let call = call
        let number = Int32(part)
        let start = try await call.run { section in
            section.call(StoreStatements.searchStart) { parameters in
                parameters.append(int4: number)
                parameters.append(int8: Int64(bitPattern: after))
                parameters.append(int8: Self.maxGroups)
            }
        }[0]
        guard let row = start.rows.first(where: { _ in true }) else { return [] }
        var at: Int64 = try row.value(0)
        var segments: [LogSegment] = []
        while segments.count < limit {
            let page = at
            let results = try await call.run { section in
                section.call(StoreStatements.search) { parameters in
                    parameters.append(int4: number)
                    parameters.append(int8: page)
                    parameters.append(bytea: name)
                    parameters.append(int8: Self.groupsAtOnce)
                }
            }
            var (examined, last): (Int64, Int64) = (0, at)
            var found: [LogSegment] = []
            for row in results[0].rows {
                guard let log: [UInt8] = try row.optional(2) else {
                    (last, examined) = (try row.optional(0) ?? at, try row.value(1))
                    continue
                }
                let number = UInt64(bitPattern: try row.value(0, as: Int64.self))
                // A damaged group is skipped, as a damaged segment is.
                let time = WallTime(milliseconds: try row.value(1))
                for segment in StoredLogRow.decode(log, number: number, time: time) ?? []
                where segment.last > after && segment.contains(name) {
                    found.append(segment)
                }
            }
            segments += found.sorted { $0.first < $1.first }
            guard examined == Self.groupsAtOnce, last > at else { break }
            at = last
        }
        return Array(segments.prefix(limit))
    }
}

extension TraceSubject {
    /// The bytes that its events contain.
    fileprivate var name: [UInt8] {
        switch self {
        case .message(let id, _): return Array(id.text.utf8)
        case .device(let device):
            var name: [UInt8] = []
            name.appendWord(device.high)
            name.appendWord(device.low)
            return name
        }
    }
}

extension LogSegment {
    /// Whether the segment has the acceptance of a message that cannot be for Live Activities by name.
    fileprivate func isWhole(_ id: MessageID, _ app: AppID) -> Bool {
        let wanted = Array(id.text.utf8)
        var isWhole = false
        let isSound = couldBeRead { entry in
            guard entry.event.kind == .messageAccepted, entry.concerns(wanted), entry.app == app else { return true }
            isWhole = entry.details?.text("push_type") != "liveactivity"
            return false
        }
        return isSound && isWhole
    }

    /// Whether the bytes of the segment contain a name.
    fileprivate func contains(_ name: [UInt8]) -> Bool {
        guard let first = name.first, bytes.count >= name.count else { return false }
        var start = bytes.startIndex
        while let at = bytes[start...].firstIndex(of: first) {
            if bytes[at...].starts(with: name) { return true }
            start = at + 1
        }
        return false
    }
}

extension StoreStatements {
    /// The number before the groups that are examined: the group that has the given number and those after it, but only
    /// so many of the newest ones.
    static let searchStart = PostgreSQLStatement(
        "search-start",
        sql: """
            SELECT greatest(
                coalesce((SELECT max(number) FROM carillon.groups WHERE part = $1 AND number <= $2 + 1), $2 + 1) - 1,
                coalesce((SELECT number FROM carillon.groups WHERE part = $1 ORDER BY number DESC OFFSET $3 LIMIT 1), 0))
            """,
        parameters: [.int4, .int8, .int8])
    /// The groups that contain some bytes, in any order, and a row with the last number and the number of all groups that
    /// were examined.
    static let search = PostgreSQLStatement(
        "search",
        sql: """
            WITH examined AS MATERIALIZED (
                SELECT number, time, log FROM carillon.groups WHERE part = $1 AND number > $2
                ORDER BY number LIMIT $4)
            SELECT number, time, log FROM examined WHERE position($3 IN log) > 0
            UNION ALL SELECT max(number), count(*), NULL FROM examined
            """,
        parameters: [.int4, .int8, .bytea, .int8])
}
