/// The devices that an audience names now.
package struct AudienceAnswer: JSONAnswer, Equatable {
    package var count: Int
    package var isComplete: Bool
    /// The ids of the first devices.
    package var devices: [String]
    package var inactive: Int
    package var unknown: Int
    package var ofOtherKinds: Int

    package static var about: [String: String] {
        [
            "count": "The number of active devices to which a message would be sent now.",
            "count_is_complete": "False if the count ended before all devices were examined.",
            "devices": "The ids of the first 10 devices.",
            "inactive": "The number of named tokens or device ids that are inactive.",
            "unknown": "The number of named device ids that are unknown.",
            "of_other_kinds": "The number of named addresses that are stated to be of another kind.",
        ]
    }

    package enum CodingKeys: String, CodingKey {
        case count, devices, inactive, unknown
        case isComplete = "count_is_complete"
        case ofOtherKinds = "of_other_kinds"
    }
}
