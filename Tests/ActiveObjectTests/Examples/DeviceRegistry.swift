import ActiveObject
import Foundation

/// A registry of devices, as one would be built on records.
enum Registry {
    /// The bytes that a push service knows a device by.
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

    /// One push token of one app, with what is known of it.
    struct Device: ActiveRecord, Equatable {
        var objectId: Int64?
        var app: String
        var token: PushToken
        /// 16 bytes that follow from app and token and tell nobody what they are.
        var deviceId: Data
        var user: String?
        var locale: String?
        var platform: Platform?
        var appVersion: String?
        /// When it registered first, and when it did last: what a feedback's time is compared with is the second.
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

        /// The second by itself gives the devices of an app in the order of their keys, which pages go by.
        static var indexes: [Index<Device>] {
            [.unique(\.app, \.token), .unique(\.deviceId), Index(\.app), Index(\.app, \.user)]
        }

        static var tags: HasMany<Device, DeviceTag> { HasMany(\.deviceId) }
    }

    /// The tag itself and no key of one: an audience names tags by their text, and a table between would be one look-up more
    /// for each row.
    struct DeviceTag: ActiveRecord, Equatable {
        var objectId: Int64?
        var deviceId: Int64
        var tag: String

        /// The first answers "has this device that tag?", the second "who has that tag?" in the order of devices.
        static var indexes: [Index<DeviceTag>] { [.unique(\.deviceId, \.tag), Index(\.tag, \.deviceId)] }
        static var device: BelongsTo<DeviceTag, Device> { BelongsTo(\.deviceId, onRemove: .cascade) }
        static var references: [Reference<DeviceTag>] { [Reference(device)] }
    }

    /// Which devices an audience means.
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

        /// What it means.
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

extension Registry.Device {
    /// Those that are known keep the time of their first registration; whoever registers is active.
    @discardableResult
    static func register(_ devices: [Self], in transaction: Transaction) throws -> Int {
        try upsertAll(
            devices, on: \.app, \.token, updating: .allBut(\.registeredAt, \.deviceId), in: transaction)
    }

    static func active(in app: String) -> Query<Self> {
        Self.where(\.app == app && \.deactivatedAt == nil)
    }

    struct Feedback: Sendable {
        let token: Registry.PushToken
        let time: Date
        let reason: String
    }

    /// Deactivates each unless it has registered since its time, and gives those that it deactivated.
    static func deactivate(_ feedback: [Feedback], of app: String, in transaction: Transaction) throws -> [Self] {
        let latest = Dictionary(feedback.map { ($0.token, $0) }) { $0.time < $1.time ? $1 : $0 }
        let known = try active(in: app).where(.isIn(\.token, feedback.map(\.token))).all(in: transaction)
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

    /// The device goes on under another token. A row that the new token has already gives way.
    static func change(
        _ old: Registry.PushToken, of app: String, to new: Registry.PushToken, deviceId: Data,
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
