import ActiveObject
import Foundation

/// An example of a registry of devices built on records.
enum DeviceRegistry {
    /// The token by which a push service knows a device.
    struct PushToken: ColumnValue, Hashable {
        let bytes: Data

        static var valueClass: ValueClass { .blob }
        var sqlValue: SQLValue { .blob(bytes) }

        init?(_ bytes: Data) {
            guard (8...100).contains(bytes.count) else { return nil }
            self.bytes = bytes
        }

        init?(sqlValue: SQLValue) {
            guard case .blob(let bytes) = sqlValue else { return nil }
            self.init(bytes)
        }
    }

    enum Platform: String, Codable { case ios, macos, watchos }

    /// A push token of an app, with what is known about it.
    struct Device: ActiveRecord, Equatable {
        var objectId: Int64?
        var app: String
        var token: PushToken
        /// 16 bytes that are derived from app and token and do not reveal them.
        var deviceId: Data
        var user: String?
        var locale: String?
        var platform: Platform?
        var appVersion: String?
        /// The times of the first and of the last registration. The time of a feedback is compared with the last one.
        var registeredAt: Date
        var seenAt: Date
        var deactivatedAt: Date?
        var reason: String?

        static var columns: [Column<Device>] {
            [
                Column(\.token, isPrivate: true), Column(\.user, isPrivate: true),
                Column(\.registeredAt, dates: .unixMilliseconds), Column(\.seenAt, dates: .unixMilliseconds),
                Column(\.deactivatedAt, dates: .unixMilliseconds),
            ]
        }

        /// The second index alone returns the devices of an app in the order of their keys, which pages use.
        static var indexes: [Index<Device>] {
            [.unique(\.app, \.token), .unique(\.deviceId), Index(\.app), Index(\.app, \.user)]
        }

        static var tags: HasMany<Device, DeviceTag> { HasMany(\.deviceId) }
    }

    /// The tag itself, not a key: audiences name tags by their text, and a table in between would cost another lookup
    /// for each row.
    struct DeviceTag: ActiveRecord, Equatable {
        var objectId: Int64?
        var deviceId: Int64
        var tag: String

        /// The first index answers whether a device has a tag, the second which devices have a tag, in the order of
        /// devices.
        static var indexes: [Index<DeviceTag>] { [.unique(\.deviceId, \.tag), Index(\.tag, \.deviceId)] }
        static var device: BelongsTo<DeviceTag, Device> { BelongsTo(\.deviceId, onRemove: .cascade) }
        static var references: [Reference<DeviceTag>] { [Reference(device)] }
    }

    /// The devices that an audience selects.
    indirect enum TagExpression: Sendable {
        case tag(String)
        case all([TagExpression])
        case any([TagExpression])
        case not(TagExpression)

        var criteria: Criteria<Device> {
            switch self {
            case .tag(let tag): .has(Device.tags, where: \.tag == tag)
            case .all(let parts): .all(of: parts.map(\.criteria))
            case .any(let parts): .any(of: parts.map(\.criteria))
            case .not(let part): !part.criteria
            }
        }

        /// The audience as a criterion.
        func holds(_ tags: Set<String>) -> Bool {
            switch self {
            case .tag(let tag): tags.contains(tag)
            case .all(let parts): parts.allSatisfy { $0.holds(tags) }
            case .any(let parts): parts.contains { $0.holds(tags) }
            case .not(let part): !part.holds(tags)
            }
        }
    }
}

extension DeviceRegistry.Device {
    /// Registers devices. Known devices keep the time of their first registration, and every registered device is
    /// active.
    @discardableResult
    static func register(_ devices: [Self], in transaction: Transaction) throws -> Int {
        try upsertAll(
            devices, on: \.app, \.token, updating: .allBut(\.registeredAt, \.deviceId), in: transaction)
    }

    static func active(in app: String) -> Query<Self> {
        Self.where(\.app == app && \.deactivatedAt == nil)
    }

    struct Feedback: Sendable {
        let token: DeviceRegistry.PushToken
        let time: Date
        let reason: String
    }

    /// Deactivates each device unless it has registered since the time of the feedback, and returns those that it
    /// deactivated.
    static func deactivate(_ feedback: [Feedback], of app: String, in transaction: Transaction) throws -> [Self] {
        let latest = Dictionary(feedback.map { ($0.token, $0) }) { $0.time < $1.time ? $1 : $0 }
        let known = try active(in: app).where(.isIn(\.token, values: feedback.map(\.token))).all(in: transaction)
        var deactivated: [Self] = []
        for before in known {
            guard let news = latest[before.token], before.seenAt < news.time else { continue }
            var device = before
            device.deactivatedAt = news.time
            device.reason = news.reason
            try device.save(changedSince: before, in: transaction)
            deactivated.append(device)
        }
        return deactivated
    }

    /// Moves a device to another token. A row that already has the new token is removed.
    static func change(
        _ old: DeviceRegistry.PushToken, of app: String, to new: DeviceRegistry.PushToken, deviceId: Data,
        in transaction: Transaction
    ) throws -> Self? {
        guard old != new, let before = try first(where: \.app == app && \.token == old, in: transaction) else {
            return nil
        }
        try remove(where: \.app == app && \.token == new, in: transaction)
        var device = before
        device.token = new
        device.deviceId = deviceId
        try device.save(changedSince: before, in: transaction)
        return device
    }
}
