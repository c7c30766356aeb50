import PushModel
import PushPostgreSQL

/// Audiences of tags: through the few devices that have one of them, or device by device.
extension PostgreSQLRegistry {
    /// The maximum number of devices to examine for a page.
    static let maxExamined = 50_000

    func page(
        of expression: TagExpression, in app: AppID, _ kind: AddressKind, wording: Wording? = nil,
        after cursor: AudienceCursor?, size: Int, examining most: Int = PostgreSQLRegistry.maxExamined
    ) async throws -> AudiencePage {
        // The parser of the database limits the depth, and the stack of this process does, too.
        guard expression.depth <= 4 * TagExpression.maxDepth else {
            throw AudienceFault("the tag expression is nested too deeply; combine its parts")
        }
        let after = try cursor?.device()
        let plan = try await plan(for: expression, in: app, isFirst: cursor == nil)
        if plan.expression.isNever { return AudiencePage(devices: [], next: nil) }
        switch plan.choice {
        case .everyRow:
            let condition = TagCondition(plan.expression, firstParameter: 6, wording: wording)
            return try await examine(condition, in: app, kind, after: after, size: size, most: most)
        case .tags(let tags):
            let condition = TagCondition(plan.expression, firstParameter: 3, wording: wording)
            return try await drive(
                by: tags, matching: condition, in: app, kind, after: after, size: size, most: most)
        }
    }

    func plan(for expression: TagExpression, in app: AppID, isFirst: Bool) async throws -> TagPlan {
        let bound = state.withLock { $0.status.registered + $0.status.unregistered } / StoredTagChoices.rowsForOne
        return try await choices.plan(for: expression, app: app, isFirst: isFirst) { tags in
            let results = try await sessions.read { section in
                section.call(RegistryStatements.tagCounts) { parameters in
                    parameters.append(texts: tags.map(\.text))
                    parameters.append(text: app.name)
                    parameters.append(int8: Int64(bound) + 1)
                }
            }
            var counts: [ExactText: Int] = [:]
            for row in results[0].rows {
                let place = try row.value(0, as: Int64.self)
                guard place >= 1, place <= tags.count else { continue }
                counts[tags[Int(place) - 1]] = Int(try row.value(1, as: Int64.self))
            }
            return (counts, bound)
        }
    }

    /// Examines the next devices of the app, one after the other. A page for which many were examined may have few
    /// devices or none, so that no question keeps the database busy for long.
    private func examine(
        _ condition: TagCondition, in app: AppID, _ kind: AddressKind, after start: DeviceID?, size: Int, most: Int
    ) async throws -> AudiencePage {
        let step = min(most, condition.rowsAtOnce)
        let statement = condition.examination
        var devices: [AudiencePage.Device] = []
        var (after, examined) = (start, 0)
        while true {
            let limit = condition.isTestedHere ? step : size + 1 - devices.count
            let results = try await sessions.read { [after] section in
                section.call(statement) { parameters in
                    parameters.append(text: app.name)
                    parameters.append(after: after)
                    parameters.append(int8: Int64(limit))
                    parameters.append(int4: Int32(kind.number))
                    parameters.append(int8: Int64(step))
                    condition.append(to: &parameters)
                }
            }
            var isOver = results[0].rowCount < limit
            for row in results[0].rows {
                after = try row.deviceID(0)
                if try row.value(4, as: Bool.self) { isOver = false }
                if let device = try condition.device(in: row) { devices.append(device) }
                if devices.count > size {
                    devices.removeLast()
                    return AudiencePage(devices: devices, next: devices.last.map { AudienceCursor(after: $0.id) })
                }
            }
            examined += step
            if isOver { return AudiencePage(devices: devices, next: nil) }
            if examined >= most { return AudiencePage(devices: devices, next: after.map { .init(after: $0) }) }
        }
    }

    /// Reads only the devices that have one of `tags`, because no others can match.
    private func drive(
        by driving: [String], matching condition: TagCondition, in app: AppID, _ kind: AddressKind,
        after start: DeviceID?, size: Int, most: Int
    ) async throws -> AudiencePage {
        let statement = condition.selection
        var devices: [AudiencePage.Device] = []
        var (after, examined) = (start, 0)
        while true {
            let (ids, isLast) = try await ids(
                with: driving, in: app, after: after, about: max(64, size - devices.count))
            if let last = ids.last {
                let results = try await sessions.read { section in
                    section.call(statement) { parameters in
                        parameters.append(ids: ids)
                        parameters.append(int4: Int32(kind.number))
                        condition.append(to: &parameters)
                    }
                }
                for row in results[0].rows {
                    if let device = try condition.device(in: row) { devices.append(device) }
                }
                after = last
            }
            examined += ids.count
            if devices.count > size {
                devices.removeLast(devices.count - size)
                return AudiencePage(devices: devices, next: devices.last.map { AudienceCursor(after: $0.id) })
            }
            if isLast { return AudiencePage(devices: devices, next: nil) }
            if devices.count == size || examined >= most {
                return AudiencePage(devices: devices, next: after.map { .init(after: $0) })
            }
        }
    }

    /// Returns devices with one of the tags, in the order of their ids and without duplicates, and whether these are the
    /// last.
    private func ids(
        with tags: [String], in app: AppID, after: DeviceID?, about count: Int
    ) async throws -> (ids: [DeviceID], isLast: Bool) {
        let size = max(32, 2 * count / max(1, tags.count))
        let results = try await sessions.read { section in
            section.call(RegistryStatements.tagged) { parameters in
                parameters.append(texts: tags)
                parameters.append(text: app.name)
                parameters.append(after: after)
                parameters.append(int8: Int64(size))
            }
        }
        var ids: Set<DeviceID> = []
        var ends: [Int64: (count: Int, last: DeviceID)] = [:]
        for row in results[0].rows {
            let (place, id) = (try row.value(0, as: Int64.self), try row.deviceID(1))
            ids.insert(id)
            let end = ends[place]
            ends[place] = ((end?.count ?? 0) + 1, max(end?.last ?? id, id))
        }
        // Devices behind the last one of a full list are not known yet.
        let horizon = ends.values.filter { $0.count >= size }.map(\.last).min()
        guard let horizon else { return (ids.sorted(), true) }
        return (ids.filter { $0 <= horizon }.sorted(), false)
    }
}

extension TagExpression {
    /// The nesting of the expression.
    fileprivate var depth: Int {
        switch self {
        case .tag: 0
        case .all(let parts), .any(let parts): 1 + (parts.map(\.depth).max() ?? 0)
        case .not(let part): 1 + part.depth
        }
    }
}
