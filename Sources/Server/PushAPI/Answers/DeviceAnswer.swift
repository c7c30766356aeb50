import PushLoop
package import PushModel
package import PushTime
package import PushWire

/// A device, without its token. Times are milliseconds since 1970; unknown values are left out.
package struct DeviceAnswer: JSONAnswer, Equatable {
    package var id: String
    package var app: String
    package var active: Bool
    package var kind: String?
    package var activity: String?
    package var activityType: String?
    package var installation: String?
    package var user: String?
    package var tags: [String]
    package var locale: String?
    package var timeZone: String?
    package var platform: String?
    package var appVersion: String?
    package var registeredAt: WallTime?
    package var seenAt: WallTime?
    package var deactivatedAt: WallTime?
    package var reason: String?

    package enum CodingKeys: String, CodingKey {
        case app, active, kind, activity, installation, user, tags, locale, platform, reason
        case id = "device"
        case activityType = "activity_type"
        case timeZone = "time_zone"
        case appVersion = "app_version"
        case registeredAt = "registered_at"
        case seenAt = "seen_at"
        case deactivatedAt = "deactivated_at"
    }

    package init(_ device: DeviceRecord) {
        id = device.id.description
        app = device.app.name
        active = device.isActive
        kind = device.place.kind?.rawValue
        (activity, activityType) = (device.place.activity, device.place.activityType)
        installation = device.place.installation
        (user, tags, locale, platform) = (device.user, device.tags, device.locale, device.platform)
        (timeZone, appVersion) = (device.timeZone, device.appVersion)
        (registeredAt, seenAt, deactivatedAt) = (device.registeredAt, device.seenAt, device.deactivatedAt)
        reason = device.reason
    }
}

package struct DeviceListAnswer: JSONAnswer, Equatable {
    package var devices: [DeviceAnswer]
    package var next: PageCursor
}

/// A device with its token, for a backup.
package struct ExportedDevice: Codable, Sendable, Equatable {
    package var device: DeviceAnswer
    /// The text of the token; left out if it is unknown, because only the feedback service named the device.
    package var token: String?

    package init(_ record: DeviceRecord, codec: any ServiceCodec) {
        device = DeviceAnswer(record)
        token = record.token.map { codec.text(of: $0) }
    }

    private enum TokenKey: CodingKey {
        case token
    }

    package init(from decoder: any Decoder) throws {
        device = try DeviceAnswer(from: decoder)
        token = try decoder.container(keyedBy: TokenKey.self).decodeIfPresent(String.self, forKey: .token)
    }

    package func encode(to encoder: any Encoder) throws {
        try device.encode(to: encoder)
        var fields = encoder.container(keyedBy: TokenKey.self)
        try fields.encodeIfPresent(token, forKey: .token)
    }
}

package struct DeviceExportAnswer: JSONAnswer, Equatable {
    package var devices: [ExportedDevice]
    package var next: PageCursor
}

/// The result of one registration.
package struct RegistrationAnswer: JSONAnswer, Equatable {
    package var id: String?
    /// `registered`, `known` or `reactivated`.
    package var change: String?
    /// The reason why the registration was rejected; then `id` and `change` are left out.
    package var error: Problem?

    package enum CodingKeys: String, CodingKey {
        case change, error
        case id = "device"
    }

    package init(_ device: RegisteredDevice) {
        id = device.id.description
        change = device.change.rawValue
    }

    package init(refused problem: Problem) {
        error = problem
    }
}

/// The results of a list of registrations, in the order of the request.
package struct RegistrationListAnswer: JSONAnswer, Equatable {
    package var devices: [RegistrationAnswer]
}

package struct DeactivationAnswer: JSONAnswer, Equatable {
    package var id: String
    /// False if the device was already inactive.
    package var deactivated: Bool

    package enum CodingKeys: String, CodingKey {
        case deactivated
        case id = "device"
    }
}

package struct ReactivationAnswer: JSONAnswer, Equatable {
    package var id: String
    /// False if the device was already active.
    package var reactivated: Bool

    package enum CodingKeys: String, CodingKey {
        case reactivated
        case id = "device"
    }
}

/// The effect of one registration or change.
package struct DeviceChangeAnswer: JSONAnswer, Equatable {
    package var id: String
    /// `registered`, `known` or `reactivated`.
    package var change: String

    package static var about: [String: String] {
        [
            "device": "The id of the device, which does not reveal its token.",
            "change": "One of registered, known and reactivated.",
        ]
    }

    package enum CodingKeys: String, CodingKey {
        case change
        case id = "device"
    }

    package init(_ device: RegisteredDevice) {
        id = device.id.description
        change = device.change.rawValue
    }

    /// Writes the answer directly: apps register at each launch, and a JSON encoder costs more than the rest of the
    /// answer.
    package func bytes() -> [UInt8] {
        JSONValue.object(["change": .string(change), "device": .string(id)]).bytes + [UInt8(ascii: "\n")]
    }
}

package struct RemovalAnswer: JSONAnswer, Equatable {
    package var id: String
    package var removed: Bool

    package enum CodingKeys: String, CodingKey {
        case removed
        case id = "device"
    }
}

/// The removal of all addresses of an installation.
package struct InstallationRemovalAnswer: JSONAnswer, Equatable {
    package var installation: String
    /// The ids of the addresses that were removed.
    package var devices: [String]
    package var removed: Bool
}

extension RemovalAnswer {
    /// The removal of one address, or of all addresses of an installation.
    package enum OneOrMany: AnswerBody {
        case one(RemovalAnswer)
        case many(InstallationRemovalAnswer)

        package static var mediaType: String { RemovalAnswer.mediaType }

        package func bytes() throws -> [UInt8] {
            switch self {
            case .one(let answer): try answer.bytes()
            case .many(let answer): try answer.bytes()
            }
        }

        package static func schema(in book: inout NamedSchemas) -> JSONValue {
            ["anyOf": [RemovalAnswer.schema(in: &book), InstallationRemovalAnswer.schema(in: &book)]]
        }
    }
}

extension RegistrationListAnswer {
    /// The result of a request for one device, or for a list.
    package enum OneOrMany: AnswerBody {
        case one(RegistrationAnswer)
        case many(RegistrationListAnswer)

        package static var mediaType: String { RegistrationAnswer.mediaType }

        package func bytes() throws -> [UInt8] {
            switch self {
            case .one(let answer): try answer.bytes()
            case .many(let answers): try answers.bytes()
            }
        }

        package static func schema(in book: inout NamedSchemas) -> JSONValue {
            ["anyOf": [RegistrationAnswer.schema(in: &book), RegistrationListAnswer.schema(in: &book)]]
        }
    }
}
