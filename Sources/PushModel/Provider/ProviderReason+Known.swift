extension ProviderReason {
    /// The row of this reason in the table of known reasons; nil for an unknown reason.
    package var known: KnownReason? { KnownReason.named(rawValue) }

    package var isKnown: Bool { known != nil }

    /// The label for metrics: the main name of a known reason, or `other`. The set of labels is closed, whatever a peer
    /// answers.
    package var label: String { known?.names[0] ?? Self.otherLabel }

    package static let otherLabel = "other"

    // Documentation/Protocols.md, "A7. Status and reason".
    package static let badCollapseID = ProviderReason(rawValue: "BadCollapseId")
    package static let badDeviceToken = ProviderReason(rawValue: "BadDeviceToken")
    package static let badExpirationDate = ProviderReason(rawValue: "BadExpirationDate")
    package static let badMessageID = ProviderReason(rawValue: "BadMessageId")
    package static let badPriority = ProviderReason(rawValue: "BadPriority")
    package static let badTopic = ProviderReason(rawValue: "BadTopic")
    package static let deviceTokenNotForTopic = ProviderReason(rawValue: "DeviceTokenNotForTopic")
    package static let duplicateHeaders = ProviderReason(rawValue: "DuplicateHeaders")
    package static let idleTimeout = ProviderReason(rawValue: "IdleTimeout")
    package static let invalidPushType = ProviderReason(rawValue: "InvalidPushType")
    package static let missingDeviceToken = ProviderReason(rawValue: "MissingDeviceToken")
    package static let missingTopic = ProviderReason(rawValue: "MissingTopic")
    package static let payloadEmpty = ProviderReason(rawValue: "PayloadEmpty")
    package static let topicDisallowed = ProviderReason(rawValue: "TopicDisallowed")
    package static let badCertificate = ProviderReason(rawValue: "BadCertificate")
    package static let badCertificateEnvironment = ProviderReason(rawValue: "BadCertificateEnvironment")
    package static let expiredProviderToken = ProviderReason(rawValue: "ExpiredProviderToken")
    package static let forbidden = ProviderReason(rawValue: "Forbidden")
    package static let invalidProviderToken = ProviderReason(rawValue: "InvalidProviderToken")
    package static let missingProviderToken = ProviderReason(rawValue: "MissingProviderToken")
    package static let unrelatedKeyIDInToken = ProviderReason(rawValue: "UnrelatedKeyIdInToken")
    package static let badEnvironmentKeyIDInToken = ProviderReason(rawValue: "BadEnvironmentKeyIdInToken")
    package static let badPath = ProviderReason(rawValue: "BadPath")
    package static let methodNotAllowed = ProviderReason(rawValue: "MethodNotAllowed")
    package static let unregistered = ProviderReason(rawValue: "Unregistered")
    package static let expiredToken = ProviderReason(rawValue: "ExpiredToken")
    package static let payloadTooLarge = ProviderReason(rawValue: "PayloadTooLarge")
    package static let tooManyProviderTokenUpdates = ProviderReason(rawValue: "TooManyProviderTokenUpdates")
    package static let tooManyRequests = ProviderReason(rawValue: "TooManyRequests")
    package static let internalServerError = ProviderReason(rawValue: "InternalServerError")
    package static let serviceUnavailable = ProviderReason(rawValue: "ServiceUnavailable")
    package static let shutdown = ProviderReason(rawValue: "Shutdown")

    // Documentation/Protocols.md, "A12. Broadcast channels".
    package static let featureNotEnabled = ProviderReason(rawValue: "FeatureNotEnabled")
    package static let missingChannelID = ProviderReason(rawValue: "MissingChannelId")
    package static let badChannelID = ProviderReason(rawValue: "BadChannelId")
    package static let channelNotRegistered = ProviderReason(rawValue: "ChannelNotRegistered")
    package static let badRequestParams = ProviderReason(rawValue: "BadRequestParams")
    package static let badRequestPayload = ProviderReason(rawValue: "BadRequestPayload")
    package static let missingPushType = ProviderReason(rawValue: "MissingPushType")
    package static let cannotCreateChannelConfig = ProviderReason(rawValue: "CannotCreateChannelConfig")
    package static let missingChannelQueueSize = ProviderReason(rawValue: "MissingChannelQueueSize")
    package static let topicMismatch = ProviderReason(rawValue: "TopicMismatch")
}
