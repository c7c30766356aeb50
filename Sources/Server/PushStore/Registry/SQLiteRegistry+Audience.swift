import ActiveObject
package import PushModel

extension SQLiteRegistry {
    package func pages(of lookUps: [AudienceLookUp]) async throws -> [AudiencePage?] {
        try await database.read { [smallAudiences] snapshot in
            let found = try smallAudiences.devices(of: lookUps, in: snapshot)
            return zip(lookUps, found).map { lookUp, devices -> AudiencePage? in
                guard let devices else { return nil }
                return AudiencePage(devices: devices.compactMap { $0.addressed(in: lookUp.wording) }, next: nil)
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
            case .everyone: return try await rowPage(nil, app, kind, wording, cursor, size)
            case .tags(let expression): return try await rowPage(expression, app, kind, wording, cursor, size)
            case .users(let users): return try await page(ofUsers: users, app, kind, wording, cursor, size)
            case .devices(let devices): return try await page(ofDevices: devices, app, kind, wording, cursor, size)
            case .tokens(let tokens): return try await page(ofTokens: tokens, app, kind, wording, cursor, size)
            case .activities(let names): return try await page(ofActivities: names, app, cursor, size)
            }
        } catch let error as ActiveObjectError where error.isOfQuestion {
            throw AudienceFault(error.description)
        }
    }

    private func rowPage(
        _ expression: TagExpression?, _ app: AppID, _ kind: AddressKind, _ wording: Wording?,
        _ cursor: AudienceCursor?, _ size: Int
    ) async throws -> AudiencePage {
        let row = try cursor?.row() ?? 0
        return try await database.read { [choices] snapshot in
            let page = try RowPage.read(
                Device.active(in: app, kind), expression, choices, after: row, limit: size, in: snapshot)
            return AudiencePage(
                devices: page.devices.compactMap { $0.addressed(in: wording) },
                next: page.next.map { AudienceCursor(row: $0) })
        }
    }

    /// Returns devices by user, one list of users at a time. Within a list the order is that of the index, so that one
    /// user with a million devices costs no more than a million users with one device.
    private func page(
        ofUsers users: [String], _ app: AppID, _ kind: AddressKind, _ wording: Wording?, _ cursor: AudienceCursor?,
        _ size: Int
    ) async throws -> AudiencePage {
        let users = named.users(users)
        let start = try cursor?.place() ?? (0, nil)
        let (devices, next) = try await database.read { snapshot in
            var devices: [AudiencePage.Device] = []
            var (index, position) = start
            while index < users.count {
                let end = min(index + Self.listLimit, users.count)
                let page = try Device.active(in: app, kind).where(.isIn(\.user, values: Array(users[index..<end])))
                    .order(by: \.user).page(size: size - devices.count, after: position, in: snapshot)
                devices += page.records.compactMap { $0.addressed(in: wording) }
                position = page.next
                if position == nil { index = end }
                if devices.count >= size || position != nil { break }
            }
            return (devices, index < users.count ? AudienceCursor(index, position) : nil)
        }
        if next == nil { named.forget(users: users) }
        var inactive: [DeviceID] = []
        if cursor == nil { inactive = try await emptied(of: users, in: app, kind: kind, limit: size) }
        return AudiencePage(devices: devices, inactive: inactive, next: next)
    }

    /// Returns what is left of the devices of erased users.
    private func emptied(
        of users: [String], in app: AppID, kind: AddressKind, limit size: Int
    ) async throws -> [DeviceID] {
        let pseudonyms = users.filter { UserErasure.isPseudonym($0) }
        if pseudonyms.isEmpty { return [] }
        return try await database.read { snapshot in
            var found: [DeviceID] = []
            for start in stride(from: 0, to: pseudonyms.count, by: Self.listLimit) where found.count < size {
                let part = Array(pseudonyms[start..<min(start + Self.listLimit, pseudonyms.count)])
                found += try Device.where(\.app == app.name && \.kind == Device.number(of: kind))
                    .where(.isIn(\.user, values: part)).limit(size - found.count).all(in: snapshot)
                    .filter(\.isEmptied).map(\.deviceId)
            }
            return found
        }
    }
}

extension SQLiteRegistry {
    /// Returns the addresses of Live Activities in row order. If they have none that is active, the page names one that is
    /// not: then the activities have ended.
    private func page(
        ofActivities names: [String], _ app: AppID, _ cursor: AudienceCursor?, _ size: Int
    ) async throws -> AudiencePage {
        let row = try cursor?.row() ?? 0
        return try await database.read { snapshot in
            let query = Device.where(\.app == app.name && .isIn(\.activity, values: names))
            var page = RowPage(
                devices: try query.where(\.deactivatedAt == nil && \.objectId > row).limit(size + 1).all(in: snapshot))
            page.cut(to: size)
            var inactive: [DeviceID] = []
            if page.devices.isEmpty, row == 0 {
                inactive = try query.where(\.deactivatedAt != nil).limit(1).all(in: snapshot).map(\.deviceId)
            }
            return AudiencePage(
                devices: page.devices.compactMap { $0.addressed(in: nil) }, inactive: inactive,
                next: page.next.map { AudienceCursor(row: $0) })
        }
    }
}

extension ActiveObjectError {
    /// Whether the query itself is invalid, now and later. Errors with an SQLite result code concern the file or the
    /// system, and may be temporary.
    fileprivate var isOfQuestion: Bool {
        guard resultCode == nil else { return false }
        return switch code {
        case .badSQL, .badPosition, .outOfRange: true
        default: false
        }
    }
}

extension Device {
    /// Returns the address with the variant of a message; nil if the device has no token, or if the message has values,
    /// and none for its user any more.
    func addressed(in wording: Wording?) -> AudiencePage.Device? {
        guard let token = token.token, let variant = wording.map({ $0.variant(locale: locale, user: user) }) ?? 0
        else { return nil }
        return AudiencePage.Device(id: deviceId, token: token, variant: variant)
    }
}

extension AudienceCursor {
    init(row: Int64) {
        self.init(String(row))
    }

    /// Creates a cursor within an audience of users.
    ///
    /// - Parameters:
    ///   - index: the index of the first user of a list.
    ///   - position: the position within that list.
    fileprivate init(_ index: Int, _ position: Position<Device>?) {
        self.init(position.map { "\(index).\($0.text)" } ?? "\(index)")
    }

    func row() throws -> Int64 {
        guard let row = Int64(text), row >= 0, String(row) == text else { throw Self.bad }
        return row
    }

    func index(within count: Int) throws -> Int {
        let row = try row()
        guard row <= Int64(count) else { throw Self.bad }
        return Int(row)
    }

    fileprivate func place() throws -> (Int, Position<Device>?) {
        guard let dot = text.firstIndex(of: ".") else { return (try index(within: .max), nil) }
        guard let index = Int(text[..<dot]), index >= 0 else { throw Self.bad }
        do {
            return (index, try Position<Device>(text: String(text[text.index(after: dot)...])))
        } catch {
            throw Self.bad
        }
    }

    private static var bad: BadCursor { BadCursor() }
}
