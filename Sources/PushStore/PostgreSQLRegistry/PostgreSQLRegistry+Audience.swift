package import PushModel
import PushPostgreSQL

extension PostgreSQLRegistry {
    package func page(
        of audience: Audience, app: AppID, after cursor: AudienceCursor?, limit: Int
    ) async throws -> AudiencePage {
        let size = min(max(1, limit), Self.largestPage)
        do {
            switch audience {
            case .everyone: return try await page(ofEveryone: app, cursor, size)
            case .tags(let expression): return try await page(of: expression, app, cursor, size)
            case .users(let users): return try await page(ofUsers: users, app, cursor, size)
            case .devices(let devices): return try await page(ofDevices: devices, app, cursor, size)
            case .tokens(let tokens): return try page(ofTokens: tokens, app, cursor, size)
            }
        } catch let failure as PostgreSQLFailure {
            throw AudienceFault("the database cannot resolve the audience: \(failure)")
        }
    }

    /// Returns a page of rows that begin with an id and a token, of which the last may be one too many.
    private static func page(_ result: PostgreSQLResult, _ size: Int) throws -> AudiencePage {
        var devices: [AudiencePage.Device] = []
        devices.reserveCapacity(size)
        var last: DeviceID?
        for row in result.rows.prefix(size) {
            if let device = try row.addressed(id: 0, token: 1) { devices.append(device) }
        }
        if result.rowCount > size { last = try result.row(size - 1).deviceID(0) }
        return AudiencePage(devices: devices, next: last.map { AudienceCursor(after: $0) })
    }

    private func page(ofEveryone app: AppID, _ cursor: AudienceCursor?, _ size: Int) async throws -> AudiencePage {
        let after = try cursor?.device()
        let results = try await sessions.read { section in
            section.call(RegistryStatements.everyone) { parameters in
                parameters.append(text: app.name)
                parameters.append(after: after)
                parameters.append(int8: Int64(size + 1))
            }
        }
        return try Self.page(results[0], size)
    }

    // MARK: Tags

    private func page(
        of expression: TagExpression, _ app: AppID, _ cursor: AudienceCursor?, _ size: Int
    ) async throws -> AudiencePage {
        // The parser of the database limits the depth, and the stack of this process does, too.
        guard expression.depth <= 4 * TagExpression.maxDepth else {
            throw AudienceFault("the tag expression is nested too deeply; combine its parts")
        }
        let after = try cursor?.device()
        switch try await choice(for: expression, app, isFirst: cursor == nil) {
        case .everyRow: return try await examine(expression, app, after, size)
        case .tags(let tags): return try await drive(by: tags, expression, app, after, size)
        }
    }

    func choice(for expression: TagExpression, _ app: AppID, isFirst: Bool) async throws -> TagChoice {
        let bound = state.withLock { $0.status.registered + $0.status.unregistered } / StoredTagChoices.rowsForOne
        return try await choices.choice(for: expression, app: app, isFirst: isFirst) { tags in
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
        _ expression: TagExpression, _ app: AppID, _ after: DeviceID?, _ size: Int
    ) async throws -> AudiencePage {
        var tags: [String] = []
        let condition = expression.condition(&tags, firstParameter: 4)
        let statement = PostgreSQLStatement.once(
            sql: """
                SELECT d.id, d.token FROM carillon.devices d
                WHERE d.app = $1 AND d.id > $2 AND d.deactivated IS NULL AND \(condition) ORDER BY d.id LIMIT $3
                """,
            parameters: [.text, .bytea, .int8] + tags.map { _ in .bytea })
        let results = try await sessions.read { [tags] section in
            section.call(statement) { parameters in
                parameters.append(text: app.name)
                parameters.append(after: after)
                parameters.append(int8: Int64(size + 1))
                for tag in tags { parameters.append(bytea: Array(tag.utf8)) }
            }
        }
        return try Self.page(results[0], size)
    }

    /// Reads only the devices that have one of `tags`, because no others can match.
    private func drive(
        by driving: [String], _ expression: TagExpression, _ app: AppID, _ start: DeviceID?, _ size: Int
    ) async throws -> AudiencePage {
        var tags: [String] = []
        let condition = expression.condition(&tags, firstParameter: 2)
        let statement = PostgreSQLStatement.once(
            sql: """
                SELECT d.id, d.token FROM carillon.devices d
                WHERE d.id = ANY($1) AND d.deactivated IS NULL AND \(condition) ORDER BY d.id
                """,
            parameters: [.byteaArray] + tags.map { _ in .bytea })
        var devices: [AudiencePage.Device] = []
        var after = start
        while true {
            let (ids, isLast) = try await ids(with: driving, app, after: after, about: max(64, size - devices.count))
            if let last = ids.last {
                let results = try await sessions.read { [tags] section in
                    section.call(statement) { parameters in
                        parameters.append(ids: ids)
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
        with tags: [String], _ app: AppID, after: DeviceID?, about count: Int
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

    // MARK: Names

    /// The maximum number of users in one statement.
    private static let usersAtOnce = 500

    /// Returns devices by user, in the order of the users, so that one user with a million devices costs no more than a
    /// million users with one device.
    private func page(
        ofUsers all: [String], _ app: AppID, _ cursor: AudienceCursor?, _ size: Int
    ) async throws -> AudiencePage {
        let users = named.users(all)
        var (index, after) = try cursor?.user(of: users.count) ?? (0, nil)
        var devices: [AudiencePage.Device] = []
        while index < users.count, devices.count < size {
            let part = users[index..<min(index + Self.usersAtOnce, users.count)]
            let wanted = size - devices.count
            let results = try await sessions.read { [after] section in
                section.call(RegistryStatements.users) { parameters in
                    parameters.append(texts: part)
                    parameters.append(text: app.name)
                    parameters.append(after: after)
                    parameters.append(int8: Int64(wanted))
                }
            }
            var last: (place: Int64, id: DeviceID)?
            for row in results[0].rows {
                let place = try row.value(0, as: Int64.self)
                let id = try row.deviceID(1)
                // The statement has no order of its own: the server joins in the order of the users.
                guard last.map({ ($0.place, $0.id) < (place, id) }) ?? true, place >= 1, place <= part.count else {
                    throw sessions.failure("the devices of users came in another order")
                }
                last = (place, id)
                if let device = try row.addressed(id: 1, token: 2) { devices.append(device) }
            }
            if let last, results[0].rowCount >= wanted {
                (index, after) = (index + Int(last.place) - 1, last.id)
            } else {
                (index, after) = (part.endIndex, nil)
            }
        }
        guard index < users.count else {
            named.forget(users: users)
            return AudiencePage(devices: devices, next: nil)
        }
        return AudiencePage(devices: devices, next: AudienceCursor(user: index, after: after))
    }

    /// Returns the named devices in their order. A page contains at most `size` active, inactive and unknown devices in
    /// total.
    private func page(
        ofDevices all: [DeviceID], _ app: AppID, _ cursor: AudienceCursor?, _ size: Int
    ) async throws -> AudiencePage {
        let devices = named.devices(all)
        let start = try cursor?.index(within: devices.count) ?? 0
        let end = min(start + size, devices.count)
        let part = Array(devices[start..<end])
        let results = try await sessions.read { section in
            section.call(RegistryStatements.named) { parameters in
                parameters.append(ids: part)
                parameters.append(text: app.name)
            }
        }
        var known: [DeviceID: AudiencePage.Device?] = [:]
        for row in results[0].rows {
            let isActive = try row.value(2, as: Bool.self)
            known[try row.deviceID(0)] = .some(isActive ? try row.addressed(id: 0, token: 1) : nil)
        }
        var active: [AudiencePage.Device] = []
        var (inactive, unknown) = ([DeviceID](), [DeviceID]())
        for id in part {
            switch known[id] {
            case .some(.some(let device)): active.append(device)
            case .some(.none): inactive.append(id)
            case .none: unknown.append(id)
            }
        }
        if end == devices.count { named.forget(devices: devices) }
        return AudiencePage(
            devices: active, inactive: inactive, unknown: unknown,
            next: end < devices.count ? AudienceCursor(row: Int64(end)) : nil)
    }

    /// Returns the tokens that are not inactive. Other callers can send to tokens without the registry.
    private func page(
        ofTokens tokens: [DeviceToken], _ app: AppID, _ cursor: AudienceCursor?, _ size: Int
    ) throws -> AudiencePage {
        let start = try cursor?.index(within: tokens.count) ?? 0
        let end = min(start + size, tokens.count)
        let all = tokens[start..<end].map { AudiencePage.Device(id: identities.device(of: app, token: $0), token: $0) }
        return AudiencePage(
            devices: all.filter { !gone.contains($0.id) }, inactive: all.map(\.id).filter { gone.contains($0) },
            next: end < tokens.count ? AudienceCursor(row: Int64(end)) : nil)
    }
}

extension PostgreSQLParameters {
    /// Appends the id behind which a page begins.
    mutating func append(after id: DeviceID?) {
        if let id { append(id: id) } else { append(bytea: []) }
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

extension AudienceCursor {
    /// Creates a cursor within an audience of users: behind a device of the user with this index.
    fileprivate init(user index: Int, after device: DeviceID?) {
        self.init(device.map { "u\(index).\($0)" } ?? "u\(index)")
    }

    fileprivate func user(of count: Int) throws -> (Int, DeviceID?) {
        let parts = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
        guard text.first == "u", let first = parts.first, let index = Int(first), String(index) == first,
            (0..<count).contains(index)
        else { throw BadCursor() }
        switch parts.count {
        case 1: return (index, nil)
        case 2:
            guard let device = DeviceID(parts[1]) else { throw BadCursor() }
            return (index, device)
        default: throw BadCursor()
        }
    }
}
