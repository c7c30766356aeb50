/// The devices that an audience names now.
package struct AudienceAnswer: JSONAnswer, Equatable {
    package var count: Int
    package var isComplete: Bool
    /// The ids of the first devices.
    package var devices: [String]
    package var inactive: Int
    package var unknown: Int
    package var ofOtherKinds: Int
    /// Those that are not counted, because their users get the message in another app of the family; nil without `prefer`.
    package var preferred: Int?
    /// The answers for the members of a family; nil for an app.
    package var members: [Member]?

    /// The devices of a member of a family.
    package struct Member: Codable, Sendable, Equatable {
        package var app: String
        /// The word of its push service in the configuration.
        package var service: String
        package var count: Int
        package var isComplete: Bool
        package var inactive: Int
        package var unknown: Int
        package var ofOtherKinds: Int
        package var preferred: Int?

        init(_ answer: AudienceAnswer, of app: String, service: String) {
            (self.app, self.service) = (app, service)
            (count, isComplete, preferred) = (answer.count, answer.isComplete, answer.preferred)
            (inactive, unknown, ofOtherKinds) = (answer.inactive, answer.unknown, answer.ofOtherKinds)
        }

        package enum CodingKeys: String, CodingKey {
            case app, service, count, inactive, unknown, preferred
            case isComplete = "count_is_complete"
            case ofOtherKinds = "of_other_kinds"
        }
    }

    package static var about: [String: String] {
        [
            "count": "The number of active devices to which a message would be sent now.",
            "count_is_complete": "False if the count ended before all devices were examined.",
            "devices": "The ids of the first 10 devices.",
            "inactive": "The number of named tokens or device ids that are inactive.",
            "unknown": "The number of named device ids that are unknown.",
            "of_other_kinds": "The number of named addresses that are stated to be of another kind.",
            "preferred": "With prefer: the number of devices whose users get the message in an app that comes first.",
            "members": "For a family: the numbers of each member, in the order of the family.",
        ]
    }

    package enum CodingKeys: String, CodingKey {
        case count, devices, inactive, unknown, preferred, members
        case isComplete = "count_is_complete"
        case ofOtherKinds = "of_other_kinds"
    }
}
