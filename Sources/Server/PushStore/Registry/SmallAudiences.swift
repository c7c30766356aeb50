import ActiveObject
import PushModel

/// The statements for users and tags with few devices.
struct SmallAudiences: Sendable {
    /// The active devices of a user in an app, of one kind.
    let ofUser: KeyedQuery<Device>
    /// The devices with a tag, in all apps.
    let tagged: KeyedQuery<DeviceTag>
    /// The device of a row, if it is active in an app and of one kind.
    let inRow: KeyedQuery<Device>

    init() throws {
        ofUser = try KeyedQuery(\.user, \.app, \.kind, where: \.deactivatedAt == nil)
        tagged = try KeyedQuery(\.tag, order: [.ascending(\.device)])
        inRow = try KeyedQuery(\.objectId, \.app, \.kind, where: \.deactivatedAt == nil)
    }

    /// Returns the devices of each look-up; nil if there are too many.
    func devices(of lookUps: [AudienceLookUp], in snapshot: Snapshot) throws -> [[Device]?] {
        var (users, tags): ([[SQLValue]], [[SQLValue]]) = ([], [])
        for lookUp in lookUps {
            switch lookUp.subject {
            case .user(let user): users.append([.text(user)] + lookUp.place)
            case .tag(let tag): tags.append([.text(tag)])
            }
        }
        let most = AudienceLookUp.mostDevices
        var ofUsers = try ofUser.all(for: users, limit: most + 1, in: snapshot).makeIterator()
        var rows = try tagged.all(for: tags, limit: most + 1, in: snapshot).makeIterator()
        return try lookUps.map { lookUp in
            switch lookUp.subject {
            case .user: return ofUsers.next().flatMap { $0.count > most ? nil : $0 }
            case .tag:
                guard let rows = rows.next(), rows.count <= most else { return nil }
                let place = lookUp.place
                let keys = rows.map { [.integer($0.device)] + place }
                return try inRow.all(for: keys, limit: 1, in: snapshot).flatMap(\.self)
            }
        }
    }
}

extension AudienceLookUp {
    /// The app and the kind as the columns store them.
    fileprivate var place: [SQLValue] {
        [.text(app.name), Device.number(of: kind).map { SQLValue($0) } ?? .null]
    }
}
