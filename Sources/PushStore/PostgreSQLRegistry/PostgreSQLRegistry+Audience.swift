package import PushModel
import PushPostgreSQL

extension PostgreSQLRegistry {
    package func page(
        of audience: Audience, app: AppID, after cursor: AudienceCursor?, limit: Int
    ) async throws -> AudiencePage {
        let size = min(max(1, limit), Self.largestPage)
        do {
            switch audience {
            case .everyone: return try await page(ofEveryone: app, after: cursor, size: size)
            case .tags(let expression): return try await page(of: expression, in: app, after: cursor, size: size)
            case .users(let users): return try await page(ofUsers: users, in: app, after: cursor, size: size)
            case .devices(let devices): return try await page(ofDevices: devices, in: app, after: cursor, size: size)
            case .tokens(let tokens): return try page(ofTokens: tokens, in: app, after: cursor, size: size)
            }
        } catch let failure as PostgreSQLFailure {
            throw AudienceFault("the database cannot resolve the audience: \(failure)")
        }
    }

    /// Returns a page of rows that begin with an id and a token, of which the last may be one too many.
    static func page(_ result: PostgreSQLResult, size: Int) throws -> AudiencePage {
        var devices: [AudiencePage.Device] = []
        devices.reserveCapacity(size)
        var last: DeviceID?
        for row in result.rows.prefix(size) {
            if let device = try row.addressed(id: 0, token: 1) { devices.append(device) }
        }
        if result.rowCount > size { last = try result.row(size - 1).deviceID(0) }
        return AudiencePage(devices: devices, next: last.map { AudienceCursor(after: $0) })
    }

    private func page(
        ofEveryone app: AppID, after cursor: AudienceCursor?, size: Int
    ) async throws -> AudiencePage {
        let after = try cursor?.device()
        let results = try await sessions.read { section in
            section.call(RegistryStatements.everyone) { parameters in
                parameters.append(text: app.name)
                parameters.append(after: after)
                parameters.append(int8: Int64(size + 1))
            }
        }
        return try Self.page(results[0], size: size)
    }

    // MARK: Names

    /// The maximum number of users in one statement.
    private static let usersAtOnce = 500

    /// Returns devices by user, in the order of the users, so that one user with a million devices costs no more than a
    /// million users with one device.
    private func page(
        ofUsers all: [String], in app: AppID, after cursor: AudienceCursor?, size: Int
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
        ofDevices all: [DeviceID], in app: AppID, after cursor: AudienceCursor?, size: Int
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
        ofTokens tokens: [Address], in app: AppID, after cursor: AudienceCursor?, size: Int
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
