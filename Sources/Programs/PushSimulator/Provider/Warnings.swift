/// The problems of a request that Apple accepts although the notification will not have the intended effect. They are
/// kept with the record of the request.
///
/// The simulator rejects only what Apple is documented or known to reject. Other violations of Apple's documents become
/// warnings.
package struct Warnings: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    static let pushTypeMissing = Warnings(rawValue: 1 << 0)
    static let apsMissing = Warnings(rawValue: 1 << 1)
    static let apsNotAnObject = Warnings(rawValue: 1 << 2)
    static let apsKeyUnknown = Warnings(rawValue: 1 << 3)
    static let apsKeyRepeated = Warnings(rawValue: 1 << 4)
    static let apsValueOfWrongType = Warnings(rawValue: 1 << 5)
    static let backgroundWithoutContentAvailable = Warnings(rawValue: 1 << 6)
    static let backgroundWithAlert = Warnings(rawValue: 1 << 7)
    static let backgroundWithoutPriority = Warnings(rawValue: 1 << 8)
    static let alertWithNothingToShow = Warnings(rawValue: 1 << 9)
    static let mdmKeyMissing = Warnings(rawValue: 1 << 10)
    static let mdmWithAPS = Warnings(rawValue: 1 << 11)
    static let containerIdentifierMissing = Warnings(rawValue: 1 << 12)
    static let contentChangedMissing = Warnings(rawValue: 1 << 13)
    static let pushToTalkPriority = Warnings(rawValue: 1 << 14)
    static let pushToTalkExpiration = Warnings(rawValue: 1 << 15)
    static let locationPriority = Warnings(rawValue: 1 << 16)
    static let activityEventMissing = Warnings(rawValue: 1 << 17)
    static let activityEventUnknown = Warnings(rawValue: 1 << 18)
    static let activityTimestampMissing = Warnings(rawValue: 1 << 19)
    static let activityContentStateMissing = Warnings(rawValue: 1 << 20)
    static let activityStartIncomplete = Warnings(rawValue: 1 << 21)
    static let activityPriority = Warnings(rawValue: 1 << 22)
    static let expirationPassed = Warnings(rawValue: 1 << 23)
    static let expirationTooFar = Warnings(rawValue: 1 << 24)
    static let payloadNotAnObject = Warnings(rawValue: 1 << 25)
    static let signatureAsDER = Warnings(rawValue: 1 << 26)
    static let broadcastStart = Warnings(rawValue: 1 << 27)
    static let activityStale = Warnings(rawValue: 1 << 28)
    static let activityOverBudget = Warnings(rawValue: 1 << 29)
    static let activityNotShown = Warnings(rawValue: 1 << 30)
    static let accessoryKeyMissing = Warnings(rawValue: 1 << 31)

    private static let names: [StaticString] = [
        "push_type_missing", "aps_missing", "aps_not_an_object", "aps_key_unknown", "aps_key_repeated",
        "aps_value_of_wrong_type", "background_without_content_available", "background_with_alert",
        "background_without_priority", "alert_with_nothing_to_show", "mdm_key_missing", "mdm_with_aps",
        "container_identifier_missing", "content_changed_missing", "push_to_talk_priority", "push_to_talk_expiration",
        "location_priority", "activity_event_missing", "activity_event_unknown", "activity_timestamp_missing",
        "activity_content_state_missing", "activity_start_incomplete", "activity_priority", "expiration_passed",
        "expiration_too_far", "payload_not_an_object", "signature_as_der", "broadcast_start",
        "activity_stale", "activity_over_budget", "activity_not_shown", "accessory_key_missing",
    ]

    package var list: [String] {
        Self.names.indices.filter { rawValue & 1 << UInt32($0) != 0 }.map { Self.names[$0].description }
    }
}
