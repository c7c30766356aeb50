import ActiveObject
import PushModel

/// A page of devices in row order. Row numbers do not change, so each device appears once, whatever is added or
/// removed.
struct RowPage {
    var devices: [Device] = []
    /// The row after which the next page begins; nil for the last page.
    var next: Int64?

    /// - Parameters:
    ///   - expression: the condition on the tags.
    ///   - choices: the first page chooses how to find the devices, and later pages use its choice.
    static func read(
        _ query: Query<Device>, _ expression: TagExpression?, _ choices: TagChoices, after row: Int64, limit: Int,
        in snapshot: Snapshot
    ) throws -> RowPage {
        guard let expression else { return try scan(query, after: row, limit: limit, in: snapshot) }
        let query = query.where(expression.criteria)
        switch try choices.choice(for: expression, isFirst: row == 0, in: snapshot) {
        case .everyRow: return try scan(query, after: row, limit: limit, in: snapshot)
        case .tags(let tags): return try drive(by: tags, query, after: row, limit: limit, in: snapshot)
        }
    }

    private static func scan(
        _ query: Query<Device>, after row: Int64, limit: Int, in snapshot: Snapshot
    ) throws -> RowPage {
        var page = RowPage(devices: try query.where(\.objectId > row).limit(limit + 1).all(in: snapshot))
        page.cut(to: limit)
        return page
    }

    /// Reads only the devices that have one of `tags`, because no others can match.
    private static func drive(
        by tags: [String], _ query: Query<Device>, after row: Int64, limit: Int, in snapshot: Snapshot
    ) throws -> RowPage {
        var page = RowPage()
        var row = row
        while true {
            let (rows, isLast) = try Self.rows(
                with: tags, after: row, about: SQLiteRegistry.listLimit * 2, in: snapshot)
            if let last = rows.last {
                let found = try query.where(.isIn(\.objectId, values: rows)).all(in: snapshot)
                page.devices += found.sorted { ($0.objectId ?? 0) < ($1.objectId ?? 0) }
                row = last
            }
            if page.devices.count > limit {
                page.cut(to: limit)
                return page
            }
            if isLast { return page }
            if page.devices.count == limit {
                page.next = row
                return page
            }
        }
    }

    /// Returns the rows of devices with one of the tags, ascending and without duplicates, and whether these are the
    /// last.
    private static func rows(
        with tags: [String], after row: Int64, about count: Int, in snapshot: Snapshot
    ) throws -> (rows: [Int64], isLast: Bool) {
        let size = max(32, 2 * count / max(1, tags.count))
        var rows: [Int64] = []
        // Rows after the last one of a full list are not known yet.
        var horizon: Int64?
        for tag in tags {
            let some = try DeviceTag.where(\.tag == tag && \.device > row).order(by: \.device).limit(size)
                .all(in: snapshot).map(\.device)
            if some.count == size, let last = some.last { horizon = min(horizon ?? last, last) }
            rows += some
        }
        if tags.count > 1 { rows = Set(rows).sorted() }
        if let horizon { rows.removeAll { $0 > horizon } }
        return (rows, horizon == nil)
    }

    private mutating func cut(to limit: Int) {
        guard devices.count > limit else { return }
        devices.removeLast(devices.count - limit)
        next = devices.last?.objectId
    }
}
