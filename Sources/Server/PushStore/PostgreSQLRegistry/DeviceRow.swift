import PushModel
import PushPostgreSQL
import PushTime

/// A row of the table `devices`.
struct DeviceRow: Sendable {
    let device: Device
    let tags: Set<ExactText>
    /// The number of the write that stored the row.
    let version: Int64

    /// Reads a row with ``RegistryStatements/columns``.
    init(_ row: PostgreSQLRow) throws {
        guard let app = AppID(try row.value(1, as: String.self)) else { throw Self.damaged("app name") }
        var device = Device(try row.deviceID(0), app: app, token: try row.keptToken(2).token)
        device.user = try row.text(3)
        device.locale = try row.text(4)
        device.platform = try row.text(5)
        device.appVersion = try row.text(6)
        device.registeredAt = try row.time(7)
        device.seenAt = try row.time(8)
        device.deactivatedAt = try row.time(9)
        device.reason = try device.deactivatedAt == nil ? nil : row.text(10) ?? ""
        device.evidence = try row.time(11)
        device.reactivatedAt = try row.time(12)
        var tags: Set<ExactText> = []
        unsafe try row.forEachBytes(13) { unsafe tags.insert(ExactText(String(decoding: $0, as: UTF8.self))) }
        version = try row.value(14)
        if try row.value(16, as: Bool.self) {
            let number = try row.value(15, as: Int32.self)
            guard let kind = UInt8(exactly: number).flatMap({ AddressKind(number: $0) }) else {
                throw Self.damaged("kind")
            }
            device.place.kind = kind
        }
        device.activity = try row.text(17)
        device.activityType = try row.text(18)
        device.installation = try row.text(19)
        device.timeZone = try row.text(20)
        self.device = device
        self.tags = tags
    }

    static func damaged(_ column: String) -> RegistryError {
        RegistryError(
            .damaged,
            "the table carillon.devices is damaged: invalid \(column) of a device; restore it from a backup")
    }

    var record: DeviceRecord {
        get throws { try device.record(tags.map { DeviceTag(device: 0, tag: $0.text) }) }
    }
}

extension PostgreSQLRow {
    func deviceID(_ column: Int) throws -> DeviceID {
        let id = unsafe try withBytes(column) { unsafe DeviceID(columnBytes: $0) }
        guard let id else { throw DeviceRow.damaged("id") }
        return id
    }

    /// Returns the text of a `bytea`.
    func text(_ column: Int) throws -> String? {
        try optional(column, as: [UInt8].self).map { String(decoding: $0, as: UTF8.self) }
    }

    func keptToken(_ column: Int) throws -> KeptToken {
        let kept = unsafe try withBytes(column) { unsafe KeptToken(columnBytes: $0) }
        guard let kept else { throw DeviceRow.damaged("token") }
        return kept
    }

    func time(_ column: Int) throws -> WallTime? {
        try optional(column, as: Int64.self).map { WallTime(milliseconds: $0) }
    }

    /// Reads an id and a token from two columns, and from a third one the locale, if the message has forms. Returns nil
    /// if there is no token, or if the message has values, and none for the user.
    func addressed(
        id: Int, token: Int, locale: Int, of user: String? = nil, in wording: Wording?
    ) throws -> AudiencePage.Device? {
        guard let token = try keptToken(token).token else { return nil }
        guard let wording else { return AudiencePage.Device(id: try deviceID(id), token: token) }
        guard let variant = wording.variant(locale: try text(locale), user: user) else { return nil }
        return AudiencePage.Device(id: try deviceID(id), token: token, variant: variant)
    }
}

extension PostgreSQLParameters {
    mutating func append(id: DeviceID) {
        unsafe id.withColumnBytes { unsafe append(bytea: $0) }
    }

    mutating func append(ids: some Sequence<DeviceID>) {
        appendByteaArray { array in
            for id in ids { unsafe id.withColumnBytes { unsafe array.append($0) } }
        }
    }

    /// Appends the bytes of texts.
    mutating func append(texts: some Sequence<String>) {
        appendByteaArray { array in
            for var text in texts {
                text.withUTF8 { unsafe array.append(UnsafeRawBufferPointer($0)) }
            }
        }
    }
}
