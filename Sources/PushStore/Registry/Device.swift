import ActiveObject
package import PushModel

/// A device as it lies in `registry.db`: a token of one app, or what is left of one that only feedback told of.
struct Device: ActiveRecord {
    var objectId: Int64?
    /// The only name that a device has outside of this file. It follows from app and token, so these two need no key.
    var deviceId: DeviceID
    var app: String
    var token: KeptToken
    var user: String?
    var locale: String?
    var platform: String?
    var appVersion: String?
    /// Times are milliseconds since 1970. Nil: nobody ever registered it.
    var registeredAt: Int64?
    var seenAt: Int64?
    var deactivatedAt: Int64?
    var reason: String?
    /// The moment that what deactivated it spoke of: who registers after it is alive.
    var evidence: Int64?

    init(_ id: DeviceID, app: AppID, token: DeviceToken?) {
        deviceId = id
        self.app = app.name
        self.token = KeptToken(token)
    }

    static var columns: [Column<Device>] {
        [Column(\.token, isPrivate: true), Column(\.user, isPrivate: true)]
    }

    /// The second gives the devices of an app in the order of their rows, which pages go by. Nothing that is asked here
    /// names `deactivatedAt` in an index: SQLite would take that for narrower than a list of users, which it is not.
    static var indexes: [Index<Device>] {
        [.unique(\.deviceId), Index(\.app), Index(\.user, \.app)]
    }

    static var tags: HasMany<Device, DeviceTag> { HasMany(\.device) }
}

/// A tag itself and no key of one: an audience names tags by their text, and a table between would be one look-up more
/// for each row.
struct DeviceTag: ActiveRecord {
    var objectId: Int64?
    /// The row of the device.
    var device: Int64
    var tag: String

    /// The first answers "has this device that tag?", the second "who has that tag?" in the order of devices.
    static var indexes: [Index<DeviceTag>] { [.unique(\.device, \.tag), Index(\.tag, \.device)] }
}

/// How far in the event log the registry has come: one row, written together with what the events changed.
struct AppliedMark: ActiveRecord {
    static let row: Int64 = 1

    var objectId: Int64? = Self.row
    var number: UInt64

    init(_ number: UInt64) {
        self.number = number
    }
}

/// A token, or no bytes where there is none.
struct KeptToken: ColumnBytes, Equatable {
    let token: DeviceToken?

    init(_ token: DeviceToken?) {
        self.token = token
    }

    init?(columnBytes bytes: UnsafeRawBufferPointer) {
        switch bytes.count {
        case 0:
            token = nil
        case 32:
            // Nearly all are of this length, and a page is a thousand of them.
            token = unsafe DeviceToken(
                words: (bytes.word(at: 0), bytes.word(at: 8), bytes.word(at: 16), bytes.word(at: 24)))
        default:
            guard let token = unsafe DeviceToken(bytes: bytes) else { return nil }
            self.token = token
        }
    }

    func withColumnBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe (token?.bytes ?? []).withUnsafeBytes(body)
    }
}

extension UnsafeRawBufferPointer {
    /// The first of its eight bytes is the highest.
    fileprivate func word(at offset: Int) -> UInt64 {
        unsafe UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

/// As 16 bytes, in the order of its digits.
extension DeviceID: ColumnBytes {
    package init?(columnBytes bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        self.init(high: unsafe bytes.word(at: 0), low: unsafe bytes.word(at: 8))
    }

    package func withColumnBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe withUnsafeBytes(of: (high.bigEndian, low.bigEndian), body)
    }
}

extension Device {
    var isActive: Bool { deactivatedAt == nil }

    /// When it last was certainly alive.
    var lastSeen: Int64? { max(seenAt, registeredAt) }

    private func max(_ one: Int64?, _ other: Int64?) -> Int64? {
        guard let one, let other else { return one ?? other }
        return Swift.max(one, other)
    }

    static func active(in app: AppID) -> Query<Device> {
        Self.where(\.app == app.name && \.deactivatedAt == nil)
    }

    /// Those of `ids` that are there, in no order. In lists of which each is one statement.
    static func find(_ ids: [DeviceID], in snapshot: Snapshot) throws -> [Device] {
        var found: [Device] = []
        found.reserveCapacity(ids.count)
        for start in stride(from: 0, to: ids.count, by: Registry.listLimit) {
            let part = Array(ids[start..<Swift.min(start + Registry.listLimit, ids.count)])
            found += try Self.where(.isIn(\.deviceId, part)).all(in: snapshot)
        }
        return found
    }

    /// - Parameter tags: in any order.
    func record(_ tags: [DeviceTag]) throws(RegistryError) -> DeviceRecord {
        guard let app = AppID(app) else {
            throw RegistryError(.damaged, "registry.db has a device of an app that cannot be one: restore a backup")
        }
        var record = DeviceRecord(id: deviceId, app: app, token: token.token, tags: tags.map(\.tag).sorted())
        record.user = user
        record.locale = locale
        record.platform = platform
        record.appVersion = appVersion
        record.registeredAt = registeredAt
        record.seenAt = seenAt
        record.deactivatedAt = deactivatedAt
        record.reason = reason
        return record
    }
}
