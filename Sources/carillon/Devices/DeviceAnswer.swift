import PushLoop
import PushModel

/// A device for people and tools: never with its token. Times are milliseconds since 1970; what is not known is left
/// out.
struct DeviceAnswer: Codable, Sendable, Equatable {
    var id: String
    var app: String
    var active: Bool
    var user: String?
    var tags: [String]
    var locale: String?
    var platform: String?
    var appVersion: String?
    var registeredAt: Int64?
    var seenAt: Int64?
    var deactivatedAt: Int64?
    var reason: String?

    enum CodingKeys: String, CodingKey {
        case app, active, user, tags, locale, platform, reason
        case id = "device"
        case appVersion = "app_version"
        case registeredAt = "registered_at"
        case seenAt = "seen_at"
        case deactivatedAt = "deactivated_at"
    }

    init(_ device: DeviceRecord) {
        id = device.id.description
        app = device.app.name
        active = device.isActive
        (user, tags, locale, platform) = (device.user, device.tags, device.locale, device.platform)
        appVersion = device.appVersion
        (registeredAt, seenAt, deactivatedAt) = (device.registeredAt, device.seenAt, device.deactivatedAt)
        reason = device.reason
    }
}

struct DeviceListAnswer: Codable, Sendable, Equatable {
    var devices: [DeviceAnswer]
    /// Given back as `after` for the next page; left out on the last.
    var next: String?
}

/// A device with its token, for a backup.
struct ExportedDevice: Codable, Sendable, Equatable {
    var device: DeviceAnswer
    /// Left out for one that only feedback told of.
    var token: String?

    init(_ record: DeviceRecord) {
        device = DeviceAnswer(record)
        token = record.token?.hex
    }

    private enum TokenKey: CodingKey {
        case token
    }

    init(from decoder: any Decoder) throws {
        device = try DeviceAnswer(from: decoder)
        token = try decoder.container(keyedBy: TokenKey.self).decodeIfPresent(String.self, forKey: .token)
    }

    func encode(to encoder: any Encoder) throws {
        try device.encode(to: encoder)
        var fields = encoder.container(keyedBy: TokenKey.self)
        try fields.encodeIfPresent(token, forKey: .token)
    }
}

struct DeviceExportAnswer: Codable, Sendable, Equatable {
    var devices: [ExportedDevice]
    var next: String?
}

/// What became of one registration.
struct RegistrationAnswer: Codable, Sendable, Equatable {
    var id: String?
    /// `registered`, `known` or `reactivated`.
    var change: String?
    /// Instead of these: why it was refused.
    var error: ControlFault?

    enum CodingKeys: String, CodingKey {
        case change, error
        case id = "device"
    }

    init(_ device: RegisteredDevice) {
        id = device.id.description
        change = device.change.rawValue
    }

    init(refused fault: ControlFault) {
        error = fault
    }
}

/// One for each that was sent, in their order.
struct RegistrationListAnswer: Codable, Sendable, Equatable {
    var devices: [RegistrationAnswer]
}

struct DeactivationAnswer: Codable, Sendable, Equatable {
    var id: String
    /// False where it was inactive already, or is not known.
    var deactivated: Bool

    enum CodingKeys: String, CodingKey {
        case deactivated
        case id = "device"
    }
}

struct RemovalAnswer: Codable, Sendable, Equatable {
    var id: String
    var removed: Bool

    enum CodingKeys: String, CodingKey {
        case removed
        case id = "device"
    }
}
