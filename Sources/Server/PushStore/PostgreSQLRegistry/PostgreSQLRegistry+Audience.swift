package import PushModel
import PushPostgreSQL

extension PostgreSQLRegistry {
    package func pages(of lookUps: [AudienceLookUp]) async throws -> [AudiencePage?] {
        let results = try await sessions.read { section in for lookUp in lookUps { Self.ask(lookUp, on: section) } }
        return try zip(lookUps, results).map { lookUp, result -> AudiencePage? in
            if result.rowCount > AudienceLookUp.mostDevices { return nil }
            let devices = try result.rows.compactMap { row in
                switch lookUp.subject {
                case .user(let user): try row.addressed(id: 1, token: 2, locale: 3, of: user, in: lookUp.wording)
                case .tag: try row.addressed(id: 0, token: 1, locale: 2, in: lookUp.wording)
                }
            }
            return AudiencePage(devices: devices, next: nil)
        }
    }

    private static func ask(_ lookUp: AudienceLookUp, on section: PostgreSQLSection) {
        let limit = Int64(AudienceLookUp.mostDevices + 1)
        switch lookUp.subject {
        case .user(let user):
            section.call(RegistryStatements.users(for: lookUp.wording)) { parameters in
                parameters.append(texts: [user])
                parameters.append(text: lookUp.app.name)
                parameters.append(after: nil)
                parameters.append(int8: limit)
                parameters.append(int4: Int32(lookUp.kind.number))
            }
        case .tag(let tag):
            section.call(RegistryStatements.ofTag(for: lookUp.wording)) { parameters in
                parameters.append(bytea: Array(tag.utf8))
                parameters.append(text: lookUp.app.name)
                parameters.append(int8: limit)
                parameters.append(int4: Int32(lookUp.kind.number))
            }
        }
    }

    package func page(
        of audience: Audience, app: AppID, kind: AddressKind, wording: Wording?, after cursor: AudienceCursor?,
        limit: Int
    ) async throws -> AudiencePage {
        let size = min(max(1, limit), Self.largestPage)
        do {
            switch audience {
            case .everyone: return try await page(ofEveryone: app, kind, wording: wording, after: cursor, size: size)
            case .tags(let expression):
                return try await page(of: expression, in: app, kind, wording: wording, after: cursor, size: size)
            case .users(let users):
                return try await page(ofUsers: users, in: app, kind, wording: wording, after: cursor, size: size)
            case .devices(let devices): return try await page(ofDevices: devices, app, kind, wording, cursor, size)
            case .tokens(let tokens): return try await page(ofTokens: tokens, app, kind, wording, cursor, size)
            case .activities(let names): return try await page(ofActivities: names, in: app, after: cursor, size: size)
            }
        } catch let failure as PostgreSQLFailure {
            throw AudienceFault("the database cannot resolve the audience: \(failure)")
        }
    }

    /// Returns a page of rows that begin with an id and a token, and a locale if the message has forms. The last may be
    /// one too many.
    static func page(_ result: PostgreSQLResult, in wording: Wording?, size: Int) throws -> AudiencePage {
        var devices: [AudiencePage.Device] = []
        devices.reserveCapacity(size)
        var last: DeviceID?
        for row in result.rows.prefix(size) {
            if let device = try row.addressed(id: 0, token: 1, locale: 2, in: wording) { devices.append(device) }
        }
        if result.rowCount > size { last = try result.row(size - 1).deviceID(0) }
        return AudiencePage(devices: devices, next: last.map { AudienceCursor(after: $0) })
    }

    private func page(
        ofEveryone app: AppID, _ kind: AddressKind, wording: Wording?, after cursor: AudienceCursor?, size: Int
    ) async throws -> AudiencePage {
        let after = try cursor?.device()
        let results = try await sessions.read { section in
            let statement = wording == nil ? RegistryStatements.everyone : RegistryStatements.everyoneWithLocales
            return section.call(statement) { parameters in
                parameters.append(text: app.name)
                parameters.append(after: after)
                parameters.append(int8: Int64(size + 1))
                parameters.append(int4: Int32(kind.number))
            }
        }
        return try Self.page(results[0], in: wording, size: size)
    }

    /// Returns the addresses of Live Activities. If they have none that is active, the page names one that is not: then the
    /// activities have ended.
    private func page(
        ofActivities names: [String], in app: AppID, after cursor: AudienceCursor?, size: Int
    ) async throws -> AudiencePage {
        let after = try cursor?.device()
        let results = try await sessions.read { section in
            section.call(RegistryStatements.activities) { parameters in
                parameters.append(texts: names)
                parameters.append(text: app.name)
                parameters.append(after: after)
                parameters.append(int8: Int64(size + 1))
            }
            section.call(RegistryStatements.inactiveOfActivities) { parameters in
                parameters.append(texts: names)
                parameters.append(text: app.name)
            }
        }
        let page = try Self.page(results[0], in: nil, size: size)
        guard page.devices.isEmpty, cursor == nil else { return page }
        return AudiencePage(devices: [], inactive: try results[1].rows.map { try $0.deviceID(0) }, next: page.next)
    }

    // MARK: Names

    /// The maximum number of users in one statement.
    private static let usersAtOnce = 500

    /// Returns devices by user, in the order of the users, so that one user with a million devices costs no more than a
    /// million users with one device.
    private func page(
        ofUsers all: [String], in app: AppID, _ kind: AddressKind, wording: Wording?, after cursor: AudienceCursor?,
        size: Int
    ) async throws -> AudiencePage {
        let users = named.users(all)
        var (index, after) = try cursor?.user(of: users.count) ?? (0, nil)
        var devices: [AudiencePage.Device] = []
        while index < users.count, devices.count < size {
            let part = users[index..<min(index + Self.usersAtOnce, users.count)]
            let wanted = size - devices.count
            let results = try await sessions.read { [after] section in
                section.call(RegistryStatements.users(for: wording)) { parameters in
                    parameters.append(texts: part)
                    parameters.append(text: app.name)
                    parameters.append(after: after)
                    parameters.append(int8: Int64(wanted))
                    parameters.append(int4: Int32(kind.number))
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
                let user = part[part.startIndex + Int(place) - 1]
                if let device = try row.addressed(id: 1, token: 2, locale: 3, of: user, in: wording) {
                    devices.append(device)
                }
            }
            if let last, results[0].rowCount >= wanted {
                (index, after) = (index + Int(last.place) - 1, last.id)
            } else {
                (index, after) = (part.endIndex, nil)
            }
        }
        let isLast = index >= users.count
        if isLast { named.forget(users: users) }
        return AudiencePage(
            devices: devices,
            inactive: cursor == nil ? try await emptied(of: users, in: app, kind: kind, limit: size) : [],
            next: isLast ? nil : AudienceCursor(user: index, after: after))
    }

    /// Returns what is left of the devices of erased users.
    private func emptied(
        of users: [String], in app: AppID, kind: AddressKind, limit size: Int
    ) async throws -> [DeviceID] {
        let pseudonyms = users.filter { UserErasure.isPseudonym($0) }
        var found: [DeviceID] = []
        for start in stride(from: 0, to: pseudonyms.count, by: Self.usersAtOnce) where found.count < size {
            let part = pseudonyms[start..<min(start + Self.usersAtOnce, pseudonyms.count)]
            let wanted = size - found.count
            let results = try await sessions.read { section in
                section.call(RegistryStatements.emptied) { parameters in
                    parameters.append(texts: part)
                    parameters.append(text: app.name)
                    parameters.append(int8: Int64(wanted))
                    parameters.append(int4: Int32(kind.number))
                }
            }
            found += try results[0].rows.map { try $0.deviceID(0) }
        }
        return found
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
