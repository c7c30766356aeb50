import ActiveObject
import PushModel

/// Devices in the order of their rows, from behind one row on. A row keeps its number, so whatever comes and goes, each
/// device is met once.
struct RowPage {
    var devices: [Device] = []
    /// Behind which row the next page begins; nil when there is none.
    var next: Int64?

    /// - Parameters:
    ///   - expression: what the tags have to be like.
    ///   - choices: the page that begins at row 0 makes its choice, the others follow it.
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

    /// Only devices with one of `tags` can be meant: theirs are looked at, and no others.
    private static func drive(
        by tags: [String], _ query: Query<Device>, after row: Int64, limit: Int, in snapshot: Snapshot
    ) throws -> RowPage {
        var page = RowPage()
        var row = row
        while true {
            let (rows, isLast) = try Self.rows(with: tags, after: row, about: Registry.listLimit * 2, in: snapshot)
            if let last = rows.last {
                let found = try query.where(.isIn(\.objectId, rows)).all(in: snapshot)
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

    /// Rows of devices that have one of the tags, ascending and each once; and whether there are no more.
    private static func rows(
        with tags: [String], after row: Int64, about count: Int, in snapshot: Snapshot
    ) throws -> (rows: [Int64], isLast: Bool) {
        let size = max(32, 2 * count / max(1, tags.count))
        var rows: [Int64] = []
        // What lies behind the end of a list that is full is not known yet.
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
