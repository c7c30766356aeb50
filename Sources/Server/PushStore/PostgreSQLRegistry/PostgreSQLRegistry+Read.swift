package import PushModel
import PushPostgreSQL
import PushTime

extension PostgreSQLRegistry {
    package func sightings(of devices: [DeviceID]) async throws -> [Sighting?] {
        let wanted = Set(devices)
        guard !wanted.isEmpty else { return [] }
        let results = try await sessions.read { section in
            section.call(RegistryStatements.sightings) { $0.append(ids: wanted) }
        }
        var sightings: [DeviceID: Sighting] = [:]
        for row in results[0].rows {
            sightings[try row.deviceID(0)] = Sighting(
                seen: try row.time(1), address: try row.keptToken(2).token, timeZone: try row.text(3))
        }
        return devices.map { sightings[$0] }
    }

    func find(_ ids: [DeviceID]) async throws -> [Device] { try await rows(ids).map(\.device) }

    func activities(_ which: ActivityState, since time: WallTime) async throws -> [DeviceID] {
        let statement =
            switch which {
            case .silent: RegistryStatements.silentActivities
            case .ended: RegistryStatements.endedActivities
            }
        let results = try await sessions.read { section in
            section.call(statement) { parameters in
                parameters.append(int8: time.milliseconds)
                parameters.append(int8: Int64(ActivityUpkeep.pageSize))
            }
        }
        return try results[0].rows.map { try $0.deviceID(0) }
    }

    private func rows(_ ids: some Sequence<DeviceID> & Sendable) async throws -> [DeviceRow] {
        let results = try await sessions.read { section in
            section.call(RegistryStatements.devices) { $0.append(ids: ids) }
        }
        return try results[0].rows.map { try DeviceRow($0) }
    }

    package func device(_ id: DeviceID) async throws -> DeviceRecord? { try await rows([id]).first?.record }

    /// Lists devices in the order of their ids.
    package func list(_ filter: DeviceFilter, after cursor: AudienceCursor?, limit: Int) async throws -> DeviceList {
        let after = try cursor?.device()
        let size = min(max(1, limit), Self.largestPage)
        let query = ListQuery(filter)
        let results = try await sessions.read { section in
            section.call(query.statement) { query.append(after: after, limit: size + 1, to: &$0) }
        }
        let rows = try results[0].rows.prefix(size).map { try DeviceRow($0) }
        let next = results[0].rowCount > size ? rows.last.map { AudienceCursor(after: $0.device.deviceId) } : nil
        return DeviceList(devices: try rows.map { try $0.record }, next: next)
    }
}

/// The statement of a list of devices.
private struct ListQuery: Sendable {
    let filter: DeviceFilter
    let statement: PostgreSQLStatement

    init(_ filter: DeviceFilter) {
        self.filter = filter
        var conditions = ["d.id > $1"]
        var types: [PostgreSQLType] = [.bytea, .int8]
        func parameter(_ type: PostgreSQLType) -> String {
            types.append(type)
            return "$\(types.count)"
        }
        if filter.app != nil { conditions.append("d.app = \(parameter(.text))") }
        if filter.user != nil { conditions.append("d.account = \(parameter(.bytea))") }
        if filter.kind != nil { conditions.append("d.kind = \(parameter(.int4))") }
        if filter.installation != nil { conditions.append("d.installation = \(parameter(.bytea))") }
        if filter.activity != nil { conditions.append("d.activity = \(parameter(.bytea))") }
        var source = "carillon.devices d"
        if filter.tag != nil {
            source += " JOIN carillon.device_tags t ON t.id = d.id AND t.app = d.app"
            conditions += ["t.tag = \(parameter(.bytea))", "t.id > $1"]
            if filter.app != nil { conditions.append("t.app = $3") }
        }
        if let isActive = filter.isActive { conditions.append("d.deactivated IS \(isActive ? "" : "NOT ")NULL") }
        let columns = RegistryStatements.columns.split(separator: ", ").map { "d.\($0)" }.joined(separator: ", ")
        statement = .once(
            sql: """
                SELECT \(columns) FROM \(source) WHERE \(conditions.joined(separator: " AND "))
                ORDER BY \(filter.tag == nil ? "d" : "t").id LIMIT $2
                """,
            parameters: types)
    }

    func append(after: DeviceID?, limit: Int, to parameters: inout PostgreSQLParameters) {
        if let after { parameters.append(id: after) } else { parameters.append(bytea: []) }
        parameters.append(int8: Int64(limit))
        if let app = filter.app { parameters.append(text: app.name) }
        if let user = filter.user { parameters.append(bytea: Array(user.utf8)) }
        if let kind = filter.kind { parameters.append(int4: Int32(kind.number)) }
        if let installation = filter.installation { parameters.append(bytea: Array(installation.utf8)) }
        if let activity = filter.activity { parameters.append(bytea: Array(activity.utf8)) }
        if let tag = filter.tag { parameters.append(bytea: Array(tag.utf8)) }
    }
}

extension AudienceCursor {
    /// Creates a cursor behind a device. Its form differs from that of the registry in a file.
    init(after device: DeviceID) {
        self.init("d\(device)")
    }

    func device() throws -> DeviceID {
        guard text.first == "d", let device = DeviceID(text.dropFirst()) else { throw BadCursor() }
        return device
    }
}
