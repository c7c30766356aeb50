import ActiveObject
package import PushModel
import PushTime

/// A device as stored in `registry.db`: a token of one app, or a device that is only known from feedback.
struct Device: ActiveRecord {
    var objectId: Int64?
    /// The only name of a device outside of this file. It is derived from app and token, so these need no unique index.
    var deviceId: DeviceID
    var app: String
    var token: KeptToken
    var user: String?
    var locale: String?
    var platform: String?
    var appVersion: String?
    /// The time of the first registration; nil if the device was never registered.
    var registeredAt: WallTime?
    var seenAt: WallTime?
    var deactivatedAt: WallTime?
    var reason: String?
    /// The time at which the device was known to be inactive. A registration after it makes the device active again.
    var evidence: WallTime?
    /// When an operator or a registration last made the device active again, or the time of a later deactivation that
    /// did not apply. Deactivations that were written until then do not apply any more; later ones do, also with earlier
    /// evidence if it was an operator. Until then, monitors know that the device is active.
    var reactivatedAt: WallTime?
    /// The number of the kind (``AddressKind``); nil for alerts, so that a file of an earlier version needs no change.
    var kind: Int?
    /// Whether a registration stated the kind; nil if none did.
    var isKindStated: Bool?
    var activity: String?
    var activityType: String?
    var installation: String?
    var timeZone: String?

    init(_ id: DeviceID, app: AppID, token: Address?) {
        deviceId = id
        self.app = app.name
        self.token = KeptToken(token)
    }

    static var columns: [Column<Device>] {
        [Column(\.token, isPrivate: true), Column(\.user, isPrivate: true)]
    }

    /// The second and the third index return the devices of an app, and those of one kind, in the order of their rows, as
    /// paging needs it. No index contains `deactivatedAt`, and that of the users has the kind, too: SQLite would consider
    /// the others more selective than a list of users, which is wrong.
    static var indexes: [Index<Device>] {
        [
            .unique(\.deviceId), Index(\.app), Index(\.app, \.kind), Index(\.user, \.app, \.kind),
            Index(\.installation, \.app), Index(\.activity, \.app),
        ]
    }

    static var tags: HasMany<Device, DeviceTag> { HasMany(\.device) }
}

/// A tag, stored as text and not as a foreign key: audiences name tags by their text, and a table in between would cost
/// one more lookup per row.
struct DeviceTag: ActiveRecord {
    var objectId: Int64?
    /// The row number of the device.
    var device: Int64
    var tag: String

    /// The first index tests whether a device has a tag. The second one finds the devices with a tag, in row order.
    static var indexes: [Index<DeviceTag>] { [.unique(\.device, \.tag), Index(\.tag, \.device)] }
}

/// The number of the last applied event. The table has one row, which is written in the transaction of the changes.
struct AppliedMark: ActiveRecord {
    static let row: Int64 = 1

    var objectId: Int64? = Self.row
    var number: UInt64

    init(_ number: UInt64) {
        self.number = number
    }
}

/// The key of the ids of the devices (``Identities``), in the one row of its table. Without it, a ledger that is made in
/// the place of a lost one would give the same tokens other ids. Files of earlier versions get it when they are opened.
struct DeviceSecret: ActiveRecord {
    static let row: Int64 = 1

    var objectId: Int64? = Self.row
    var secret: KeyBytes

    static var columns: [Column<DeviceSecret>] { [Column(\.secret, isPrivate: true)] }

    init(_ identities: Identities) {
        secret = KeyBytes(identities.secret)
    }
}

/// A token as a column value. It is empty if the token is unknown.
struct KeptToken: ColumnBytes, Equatable {
    let token: Address?

    init(_ token: Address?) {
        self.token = token
    }

    init?(columnBytes bytes: UnsafeRawBufferPointer) {
        switch bytes.count {
        case 0:
            token = nil
        case 32:
            // Nearly all tokens have this length, and a page contains a thousand of them.
            let words = unsafe (bytes.word(at: 0), bytes.word(at: 8), bytes.word(at: 16), bytes.word(at: 24))
            guard let token = Address(storedWords: words) else { return nil }
            self.token = token
        default:
            guard let token = unsafe Address(stored: bytes) else { return nil }
            self.token = token
        }
    }

    func withColumnBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe (token?.storedBytes ?? []).withUnsafeBytes(body)
    }
}

extension UnsafeRawBufferPointer {
    /// Reads eight bytes in big-endian order.
    fileprivate func word(at offset: Int) -> UInt64 {
        unsafe UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

/// Stored as 16 bytes, in the order of its hexadecimal digits.
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

    /// The last time at which the device was certainly active.
    var lastSeen: WallTime? { later(of: seenAt, and: registeredAt) }

    /// Replaces times that were stored while the clock was far ahead. No deactivation would apply until then.
    mutating func replaceTimes(aheadOf now: WallTime) {
        let latest = now + AgeClock.tolerance
        if let time = registeredAt, time > latest { registeredAt = now }
        if let time = seenAt, time > latest { seenAt = now }
        if let time = reactivatedAt, time > latest { reactivatedAt = now }
    }

    private func later(of one: WallTime?, and other: WallTime?) -> WallTime? {
        guard let one, let other else { return one ?? other }
        return max(one, other)
    }

    var place: AddressPlace {
        get {
            var place = AddressPlace()
            if isKindStated == true { place.kind = AddressKind(number: UInt8(clamping: kind ?? 0)) }
            (place.activity, place.activityType, place.installation) = (activity, activityType, installation)
            return place
        }
        set {
            if let stated = newValue.kind {
                kind = Self.number(of: stated)
                isKindStated = true
            }
            (activity, activityType, installation) = (newValue.activity, newValue.activityType, newValue.installation)
        }
    }

    /// Returns the value of the column `kind`.
    static func number(of kind: AddressKind) -> Int? { kind == .alert ? nil : Int(kind.number) }

    static func active(in app: AppID, _ kind: AddressKind) -> Query<Device> {
        Self.where(\.app == app.name && \.kind == number(of: kind) && \.deactivatedAt == nil)
    }

    /// Returns the devices with these ids that exist, in no particular order. It runs one statement for each part of
    /// the list.
    static func find(_ ids: [DeviceID], in snapshot: Snapshot) throws -> [Device] {
        var found: [Device] = []
        found.reserveCapacity(ids.count)
        for start in stride(from: 0, to: ids.count, by: SQLiteRegistry.listLimit) {
            let part = Array(ids[start..<Swift.min(start + SQLiteRegistry.listLimit, ids.count)])
            found += try Self.where(.isIn(\.deviceId, values: part)).all(in: snapshot)
        }
        return found
    }

    /// Returns a page of addresses of Live Activities, in the order of the index that has the others at its other end.
    static func activities(_ which: ActivityState, since time: WallTime) -> Query<Device> {
        let query = Self.where(\.activity > "").order(by: \.activity).limit(ActivityUpkeep.pageSize)
        return switch which {
        case .silent: query.where(\.deactivatedAt == nil && \.seenAt <= time)
        case .ended: query.where(\.deactivatedAt <= time)
        }
    }

    /// Returns the devices of installations. They are found by the name alone: an index of apps seems more selective to
    /// SQLite than a list of names.
    static func find(in installations: Set<Installation>, of snapshot: Snapshot) throws -> [Device] {
        let names = Set(installations.map(\.name)).map(\.text)
        var found: [Device] = []
        for start in stride(from: 0, to: names.count, by: SQLiteRegistry.listLimit) {
            let part = Array(names[start..<Swift.min(start + SQLiteRegistry.listLimit, names.count)])
            found += try Self.where(.isIn(\.installation, values: part)).all(in: snapshot)
        }
        return found.filter { device in device.home.map { installations.contains($0) } ?? false }
    }

    /// - Parameter tags: the device's tags in any order.
    func record(_ tags: [DeviceTag]) throws(RegistryError) -> DeviceRecord {
        guard let app = AppID(app) else {
            throw RegistryError(
                .damaged, "registry.db is damaged: invalid app name of a device; restore it from a backup")
        }
        var record = DeviceRecord(id: deviceId, app: app, token: token.token, tags: tags.map(\.tag).sorted())
        record.user = isEmptied ? nil : user
        record.locale = locale
        record.platform = platform
        record.appVersion = appVersion
        record.place = place
        record.timeZone = timeZone
        record.registeredAt = registeredAt
        record.seenAt = seenAt
        record.deactivatedAt = deactivatedAt
        record.reason = reason
        return record
    }
}

extension EventDraft {
    /// An event that says that a device is active.
    init(_ kind: EventKind, of device: Device, app: AppID) {
        self.init(kind, app: app)
        self.device = device.deviceId
        add("address_kind", text: device.place.kind?.rawValue)
    }
}
