import PushModel
import PushPostgreSQL

/// Audiences of tags: through the few devices that have one of them, or device by device.
extension PostgreSQLRegistry {
    func page(
        of expression: TagExpression, in app: AppID, _ kind: AddressKind, after cursor: AudienceCursor?, size: Int
    ) async throws -> AudiencePage {
        // The parser of the database limits the depth, and the stack of this process does, too.
        guard expression.depth <= 4 * TagExpression.maxDepth else {
            throw AudienceFault("the tag expression is nested too deeply; combine its parts")
        }
        let after = try cursor?.device()
        let plan = try await plan(for: expression, in: app, isFirst: cursor == nil)
        if plan.expression.isNever { return AudiencePage(devices: [], next: nil) }
        switch plan.choice {
        case .everyRow: return try await examine(plan.expression, in: app, kind, after: after, size: size)
        case .tags(let tags):
            return try await drive(by: tags, matching: plan.expression, in: app, kind, after: after, size: size)
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

    /// Examines the devices of the app one after the other.
    private func examine(
        _ expression: TagExpression, in app: AppID, _ kind: AddressKind, after: DeviceID?, size: Int
    ) async throws -> AudiencePage {
        var tags: [String] = []
        let condition = expression.condition(&tags, firstParameter: 5)
        let statement = PostgreSQLStatement.once(
            sql: """
                SELECT d.id, d.token FROM carillon.devices d
                WHERE d.app = $1 AND d.kind = $4 AND d.id > $2 AND d.deactivated IS NULL AND \(condition)
                ORDER BY d.id LIMIT $3
                """,
            parameters: [.text, .bytea, .int8, .int4] + tags.map { _ in .bytea })
        let results = try await sessions.read { [tags] section in
            section.call(statement) { parameters in
                parameters.append(text: app.name)
                parameters.append(after: after)
                parameters.append(int8: Int64(size + 1))
                parameters.append(int4: Int32(kind.number))
                for tag in tags { parameters.append(bytea: Array(tag.utf8)) }
            }
        }
        return try Self.page(results[0], size: size)
    }

    /// Reads only the devices that have one of `tags`, because no others can match.
    private func drive(
        by driving: [String], matching expression: TagExpression, in app: AppID, _ kind: AddressKind,
        after start: DeviceID?, size: Int
    ) async throws -> AudiencePage {
        var tags: [String] = []
        let condition = expression.condition(&tags, firstParameter: 3)
        let statement = PostgreSQLStatement.once(
            sql: """
                SELECT d.id, d.token FROM carillon.devices d
                WHERE d.id = ANY($1) AND d.kind = $2 AND d.deactivated IS NULL AND \(condition) ORDER BY d.id
                """,
            parameters: [.byteaArray, .int4] + tags.map { _ in .bytea })
        var devices: [AudiencePage.Device] = []
        var after = start
        while true {
            let (ids, isLast) = try await ids(
                with: driving, in: app, after: after, about: max(64, size - devices.count))
            if let last = ids.last {
                let results = try await sessions.read { [tags] section in
                    section.call(statement) { parameters in
                        parameters.append(ids: ids)
                        parameters.append(int4: Int32(kind.number))
                        for tag in tags { parameters.append(bytea: Array(tag.utf8)) }
                    }
                }
                for row in results[0].rows {
                    if let device = try row.addressed(id: 0, token: 1) { devices.append(device) }
                }
                after = last
            }
            if devices.count > size {
                devices.removeLast(devices.count - size)
                return AudiencePage(devices: devices, next: devices.last.map { AudienceCursor(after: $0.id) })
            }
            if isLast { return AudiencePage(devices: devices, next: nil) }
            if devices.count == size { return AudiencePage(devices: devices, next: after.map { .init(after: $0) }) }
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
