extension ProviderReason {
    /// Its row of the table, or nil for a word that is new.
    package var known: KnownReason? { KnownReason.named(rawValue) }

    package var isKnown: Bool { known != nil }

    /// For metrics: the name of a known reason, in one spelling, or `other`. A closed set, whatever a peer answers.
    package var label: String { known?.names[0] ?? Self.otherLabel }

    package static let otherLabel = "other"

    // PROTOCOLS A7.
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

    // PROTOCOLS A12: channels and broadcasts.
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

extension Refusal {
    /// What it is about; nil where neither status nor reason tells.
    package var concern: RefusalConcern? {
        if let known = reason?.known { return known.concern }
        return switch status {
        case 403: .credential
        case 410: .device
        case 413: .notification
        case 500...: .provider
        default: nil
        }
    }

    /// The push service itself could not do it, so that any other push would have ended the same way. Nothing else may
    /// stop the pushes of an app: an answer about a device, a topic or a notification says that the service works.
    package var isTroubleOfProvider: Bool {
        switch concern {
        case .provider: true
        case .connection: status >= 500
        case .notification, .device, .channel, .topic, .credential: false
        // Not an answer of the provider but of something on the way to it, which lets no push through.
        case nil: status < 200 || (300..<400).contains(status)
        }
    }

    /// What happened and what to do about it, in words for a person.
    package var explanation: (meaning: String, advice: String) {
        if let known = reason?.known { return (known.meaning, known.advice) }
        let word = reason.map { "the unknown reason \($0)" } ?? "no reason"
        let advice =
            switch disposition {
            case .renewTokenOnce, .halt: "check the app's credential and its rights in the developer account"
            case .deactivate: "stop sending to this token"
            case .retry: "nothing to do: it is tried again after a while"
            default: "look the reason up in the provider's documentation"
            }
        return ("the provider answered \(status) and \(word)", advice)
    }
}
