import ActiveObject
import PushModel

/// A page of devices in row order. Row numbers do not change, so each device appears once, whatever is added or
/// removed.
struct RowPage {
    var devices: [Device] = []
    /// The row after which the next page begins; nil for the last page.
    var next: Int64?

    /// - Parameter queries: the queries that together find the devices, each of them a part.
    static func read(
        _ queries: [Query<Device>], after row: Int64, limit: Int, in snapshot: Snapshot
    ) throws -> RowPage {
        let devices = try queries.flatMap { try $0.where(\.objectId > row).limit(limit + 1).all(in: snapshot) }
        var page = RowPage(devices: devices.sorted { ($0.objectId ?? 0) < ($1.objectId ?? 0) })
        page.cut(to: limit)
        return page
    }

    /// - Parameters:
    ///   - expression: the condition on the tags.
    ///   - choices: the first page chooses how to find the devices, and later pages use its choice.
    static func read(
        _ query: Query<Device>, _ expression: TagExpression?, _ choices: TagChoices, after row: Int64, limit: Int,
        in snapshot: Snapshot
    ) throws -> RowPage {
        guard let expression else { return try read([query], after: row, limit: limit, in: snapshot) }
        let plan = try choices.plan(for: expression, isFirst: row == 0, in: snapshot)
        if plan.expression.isNever { return RowPage() }
        let search = TagSearch(query, plan.expression)
        switch plan.choice {
        case .everyRow: return try examine(search, after: row, limit: limit, in: snapshot)
        case .tags(let tags): return try drive(by: tags, search, after: row, limit: limit, in: snapshot)
        }
    }

    /// Examines the next rows. A page for which many rows were examined may have few devices or none, so that others
    /// who read the file do not wait for the end of the table.
    private static func examine(
        _ search: TagSearch, after row: Int64, limit: Int, in snapshot: Snapshot
    ) throws -> RowPage {
        let (sum, isGreater) = row.addingReportingOverflow(search.maxExamined)
        let end = isGreater ? .max : sum
        let newest = try Device.query.max(\.objectId, in: snapshot) ?? 0
        var page = RowPage(devices: try search.devices(after: row, upTo: end, limit: limit + 1, in: snapshot))
        if page.devices.count > limit {
            page.cut(to: limit)
        } else if end < newest {
            page.next = end
        }
        return page
    }

    /// Reads only the devices that have one of `tags`, because no others can match.
    private static func drive(
        by tags: [String], _ search: TagSearch, after row: Int64, limit: Int, in snapshot: Snapshot
    ) throws -> RowPage {
        var page = RowPage()
        var row = row
        while true {
            let (rows, isLast) = try Self.rows(
                with: tags, after: row, about: SQLiteRegistry.listLimit * 2, in: snapshot)
            if let last = rows.last {
                page.devices += try search.devices(rows, in: snapshot)
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

    mutating func cut(to limit: Int) {
        guard devices.count > limit else { return }
        devices.removeLast(devices.count - limit)
        next = devices.last?.objectId
    }
}

/// The devices that a query selects and that match a tag expression: a condition of SQLite if the expression has few
/// tags, else a test of what was read.
private struct TagSearch {
    /// The largest number of tags in a condition.
    private static let maxConditions = 8
    private static let pageSize = SQLiteRegistry.listLimit

    private let query: Query<Device>
    private let test: TagTest?
    /// The maximum number of rows to examine for a page.
    let maxExamined: Int64

    init(_ query: Query<Device>, _ expression: TagExpression) {
        let isNarrow = expression.tags.count <= Self.maxConditions
        self.query = isNarrow ? query.where(expression.criteria) : query
        test = isNarrow ? nil : TagTest(expression)
        maxExamined = isNarrow ? 50_000 : 20_000
    }

    /// Returns the first devices of a range of rows, in row order.
    func devices(after row: Int64, upTo end: Int64, limit: Int, in snapshot: Snapshot) throws -> [Device] {
        guard test != nil else {
            return try query.where(\.objectId > row && \.objectId <= end).limit(limit).all(in: snapshot)
        }
        var found: [Device] = []
        var at = row
        while found.count < limit {
            let page = try query.where(\.objectId > at && \.objectId <= end).limit(Self.pageSize).all(in: snapshot)
            found += try matching(page, in: snapshot)
            guard page.count == Self.pageSize, let last = page.last?.objectId else { break }
            at = last
        }
        return Array(found.prefix(limit))
    }

    /// Returns the devices in these rows, in row order.
    func devices(_ rows: [Int64], in snapshot: Snapshot) throws -> [Device] {
        let page = try query.where(.isIn(\.objectId, values: rows)).all(in: snapshot)
        return try matching(page, in: snapshot).sorted { ($0.objectId ?? 0) < ($1.objectId ?? 0) }
    }

    private func matching(_ devices: [Device], in snapshot: Snapshot) throws -> [Device] {
        guard let test else { return devices }
        let tags = try Device.tags.load(for: devices, in: snapshot)
        return devices.filter { device in test.matches((device.objectId.flatMap { tags[$0] } ?? []).lazy.map(\.tag)) }
    }
}
