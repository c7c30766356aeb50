import ActiveObject
import PushModel

/// Devices in the order of their rows, from behind one row on. A row keeps its number, so whatever comes and goes, each
/// device is met once.
struct RowPage {
    var devices: [Device] = []
    /// Behind which row the next page begins; nil when there is none.
    var next: Int64?

    /// - Parameter expression: what the tags have to be like.
    static func read(
        _ query: Query<Device>, _ expression: TagExpression?, after row: Int64, limit: Int, in snapshot: Snapshot
    ) throws -> RowPage {
        guard let expression else { return try scan(query, after: row, limit: limit, in: snapshot) }
        let query = query.where(expression.criteria)
        guard let tags = try TagChoice.rarest(of: expression, in: snapshot) else {
            return try scan(query, after: row, limit: limit, in: snapshot)
        }
        return try drive(by: tags, query, after: row, limit: limit, in: snapshot)
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
            let (rows, isLast) = try TagChoice.rows(with: tags, after: row, about: Registry.listLimit * 2, in: snapshot)
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

    private mutating func cut(to limit: Int) {
        guard devices.count > limit else { return }
        devices.removeLast(devices.count - limit)
        next = devices.last?.objectId
    }
}

/// From which tags to come to the devices of an expression.
enum TagChoice {
    /// To come from a tag costs for each device that has it as much as for this many rows to be looked at in turn.
    private static let rowsForOne = 24

    /// Tags one of which each device that is meant has, all of them rare; nil if there are none such, and every row is
    /// to be looked at.
    static func rarest(of expression: TagExpression, in snapshot: Snapshot) throws -> [String]? {
        let rows = Int(try Device.query.max(\.objectId, in: snapshot) ?? 0)
        let bound = rows / rowsForOne
        var costs: [String: Int] = [:]
        let choice = try expression.drivers(isNegated: false) { tag in
            if let known = costs[tag] { return known }
            // How many more does not matter, and to count them would cost.
            let cost = try DeviceTag.where(\.tag == tag).limit(bound + 1).count(in: snapshot)
            costs[tag] = cost
            return cost
        }
        guard let choice, choice.cost <= bound else { return nil }
        return choice.tags.sorted()
    }

    /// Rows of devices that have one of the tags, ascending and each once; and whether there are no more.
    static func rows(
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
}

extension TagExpression {
    /// As SQLite looks at it, row by row.
    var criteria: Criteria<Device> {
        switch self {
        case .tag(let tag): .has(Device.tags, where: \.tag == tag)
        case .all(let parts): .all(of: parts.map(\.criteria))
        case .any(let parts): .any(of: parts.map(\.criteria))
        case .not(let part): !part.criteria
        }
    }

    /// The cheapest set of tags of which every match has at least one; nil if matches need not have any.
    fileprivate func drivers(
        isNegated: Bool, cost: (String) throws -> Int
    ) rethrows -> (tags: Set<String>, cost: Int)? {
        switch (self, isNegated) {
        case (.tag(let tag), false):
            return ([tag], try cost(tag))
        case (.tag, true):
            return nil
        case (.not(let part), _):
            return try part.drivers(isNegated: !isNegated, cost: cost)
        case (.all(let parts), false), (.any(let parts), true):
            // One part will do.
            return try parts.compactMap { try $0.drivers(isNegated: isNegated, cost: cost) }.min { $0.cost < $1.cost }
        case (.any(let parts), false), (.all(let parts), true):
            // Of every part.
            var all: (tags: Set<String>, cost: Int) = ([], 0)
            for part in parts {
                guard let some = try part.drivers(isNegated: isNegated, cost: cost) else { return nil }
                all.tags.formUnion(some.tags)
                all.cost += some.cost
            }
            return all
        }
    }
}
