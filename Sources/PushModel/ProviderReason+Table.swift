/// One known reason of a provider: its status and its consequences (Documentation/Protocols.md, "A7. Status and reason"
/// and "A12. Broadcast channels").
package struct KnownReason: Sendable {
    package let status: Int
    /// The canonical name, followed by every other spelling that was observed.
    package let names: [String]
    package let disposition: Disposition
    package let concern: RefusalConcern
    /// What happened, as text for people.
    package let meaning: String
    /// What to do about it.
    package let advice: String

    fileprivate init(
        _ status: Int, _ names: [String], _ disposition: Disposition, _ concern: RefusalConcern, _ meaning: String,
        _ advice: String
    ) {
        self.status = status
        self.names = names
        self.disposition = disposition
        self.concern = concern
        self.meaning = meaning
        self.advice = advice
    }

    package var reason: ProviderReason { ProviderReason(rawValue: names[0]) }
}

/// What a refusal concerns, and so how far it reaches beyond the one notification.
package enum RefusalConcern: String, CaseIterable, Sendable {
    case notification, device, channel
    /// Every notification of that topic, and so of that push type, would end the same way; others would not.
    case topic
    case credential, connection, provider
}

extension KnownReason {
    /// Every status and reason that is documented or was observed, each once.
    package static let all: [KnownReason] = badRequests + forbidden + others + channels

    private static let badRequests: [KnownReason] = [
        .init(
            400, ["BadCollapseId"], .drop, .notification, "the collapse id is longer than 64 bytes or malformed",
            "shorten collapse_id to at most 64 bytes of UTF-8"),
        .init(
            400, ["BadDeviceToken"], .deactivate, .device,
            "the token is not one of this environment, or is malformed",
            "check that the app's environment (production or sandbox) is the one that issued the token"),
        .init(
            400, ["BadExpirationDate"], .drop, .notification, "the provider does not accept the expiration time",
            "give expires_at in whole seconds since 1970; for a channel that stores nothing it must be 0"),
        .init(
            400, ["BadMessageId"], .drop, .notification, "the id of the request is not a canonical UUID",
            "send apns-id as 8-4-4-4-12 lower-case hexadecimal digits, or leave it out"),
        .init(
            400, ["BadPriority"], .drop, .notification, "the priority is not 1, 5 or 10, or not allowed here",
            "use 10, 5 or 1; background notifications must not use 10"),
        .init(
            400, ["BadTopic"], .drop, .topic, "the topic is malformed",
            "set the app's topic to its bundle id, without suffix"),
        // Neither `halt` nor `drop` fits perfectly. With `halt`, one message of a push type that the credential does
        // not cover would let any producer stop all other push types of the app. With `drop`, each delivery ends with
        // its reason where the producer sees it, so none is lost silently, and `concern` allows a gateway to hold back
        // the other deliveries of this topic.
        .init(
            400, ["TopicDisallowed"], .drop, .topic, "the credential may not send to this topic",
            "compare the app's topic and the push type with the topics of its key or certificate, then send again"),
        .init(
            400, ["DeviceTokenNotForTopic"], .deactivate, .device, "the token belongs to another app than the topic",
            "check that the device was registered under the app whose bundle id issued the token"),
        .init(
            400, ["DuplicateHeaders"], .drop, .notification, "a header was sent twice",
            "this is a defect of the sender: report it with the version in use"),
        .init(
            400, ["IdleTimeout"], .reconnect, .connection, "the provider closed a connection that had long been idle",
            "nothing to do: another connection takes over"),
        .init(
            400, ["InvalidPushType"], .drop, .notification, "the provider does not know the push type",
            "use one of the documented push types; channels take liveactivity only"),
        .init(
            400, ["MissingDeviceToken"], .drop, .notification, "the path named no device token",
            "this is a defect of the sender: report it with the version in use"),
        .init(
            400, ["MissingTopic"], .drop, .topic,
            "no topic was sent, and the certificate allows more than one",
            "set the app's topic to its bundle id"),
        .init(
            400, ["PayloadEmpty"], .drop, .notification, "the payload is empty", "send a JSON object as payload"),
    ]

    private static let forbidden: [KnownReason] = [
        .init(
            403, ["BadCertificate"], .halt, .credential, "the certificate is not a valid push certificate",
            "check that the certificate has not expired or been revoked, and install a current one"),
        .init(
            403, ["BadCertificateEnvironment"], .halt, .credential, "the certificate is for the other environment",
            "set the app's environment to the one the certificate was issued for"),
        .init(
            403, ["ExpiredProviderToken"], .renewToken, .credential, "the provider token is older than an hour",
            "nothing if it happens once; if it repeats, set this machine's clock right"),
        .init(
            403, ["Forbidden"], .halt, .credential, "the provider forbids this action",
            "check in the developer account that the key or certificate is still in force for this app"),
        .init(
            403, ["InvalidProviderToken"], .renewTokenOnce, .credential,
            "the provider rejected the provider token: wrong key, key id, team or topic, or a clock far off",
            "compare key, key_id and team_id with the developer account, and check this machine's clock"),
        .init(
            403, ["MissingProviderToken"], .halt, .credential,
            "neither a provider token nor a usable certificate came with the request",
            "give the app a credential: a key with key_id and team_id, or a certificate"),
        .init(
            403, ["UnrelatedKeyIdInToken"], .reconnect, .connection,
            "the token was signed with another key than the first request of the connection",
            "nothing to do: a new connection uses the new key"),
        .init(
            403, ["BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken"], .halt, .credential,
            "the key is restricted to the other environment",
            "use a key of the app's environment, or set the environment to the one of the key"),
    ]

    private static let others: [KnownReason] = [
        .init(
            404, ["BadPath"], .drop, .notification, "the provider does not have the path of the request",
            "this is a defect of the sender, or a request to the wrong host: check the app's endpoint"),
        .init(
            405, ["MethodNotAllowed"], .drop, .notification, "the method is not allowed on this path",
            "this is a defect of the sender, or a request to the wrong host: check the app's endpoint"),
        .init(
            410, ["Unregistered"], .deactivate, .device, "the device no longer takes notifications of this app",
            "stop sending to it; the device registers again if the app is reinstalled"),
        .init(
            410, ["ExpiredToken"], .deactivate, .device, "the token has expired",
            "stop sending to it; the app registers its next token itself"),
        .init(
            413, ["PayloadTooLarge"], .drop, .notification, "the payload is larger than its push type allows",
            "keep it within 4096 bytes (5120 for voip and broadcasts); let the app fetch what is larger"),
        .init(
            429, ["TooManyProviderTokenUpdates"], .slowMinting, .credential,
            "provider tokens were renewed more often than every 20 minutes",
            "share one token among all processes that use this key"),
        .init(
            429, ["TooManyRequests"], .retry, .device, "too many notifications went to one device in a short time",
            "send this device less, or use a collapse id"),
        .init(
            500, ["InternalServerError"], .retry, .provider, "the provider had an internal error",
            "nothing to do: the delivery is retried later"),
        .init(
            503, ["ServiceUnavailable", "Service Unavailable"], .retry, .provider, "the provider is unavailable",
            "nothing to do: the delivery is retried later"),
        .init(
            503, ["Shutdown"], .reconnect, .connection, "the provider's server is shutting down",
            "nothing to do: another connection takes over"),
    ]

    private static let channels: [KnownReason] = [
        .init(
            400, ["FeatureNotEnabled"], .drop, .topic, "the app has no broadcast capability",
            "enable the broadcast capability for this App ID in the developer account"),
        .init(
            400, ["MissingChannelId"], .drop, .channel, "the request named no channel", "name the channel by its id"),
        .init(
            400, ["BadChannelId"], .drop, .channel, "the channel id is malformed",
            "use the id exactly as the channel's creation returned it"),
        .init(
            400, ["ChannelNotRegistered"], .drop, .channel, "there is no such channel in this app and environment",
            "forget the channel, and create another if it is still needed"),
        .init(
            400, ["BadRequestParams"], .drop, .channel, "the description of the channel has an unacceptable value",
            "use message storage policy 0 or 1 and the push type LiveActivity"),
        .init(
            400, ["BadRequestPayload"], .drop, .notification, "the body is not the JSON object that was expected",
            "send a JSON object"),
        .init(
            400, ["MissingPushType"], .drop, .notification, "the push type is missing",
            "send the push type: liveactivity for a broadcast, LiveActivity for a new channel"),
        .init(
            400, ["CannotCreateChannelConfig"], .drop, .channel, "the app already has the maximum of 10,000 channels",
            "delete channels that are no longer used"),
        .init(
            400, ["MissingChannelQueueSize"], .drop, .channel, "the message storage policy is missing or misspelled",
            "send message-storage-policy, 0 or 1"),
        .init(
            403, ["TopicMismatch"], .drop, .topic, "the certificate is not for the app in the path",
            "use a certificate or key of that app"),
    ]

    private static let byName: [String: Int] = Dictionary(
        all.indices.flatMap { index in all[index].names.map { ($0, index) } }, uniquingKeysWith: { first, _ in first })

    package static func named(_ name: String) -> KnownReason? { byName[name].map { all[$0] } }
}

extension Disposition {
    /// Returns the action for a status and a reason. A known reason decides; otherwise the status does. O(1).
    package static func of(status: Int, reason: ProviderReason?) -> Disposition {
        if let known = reason?.known { return known.disposition }
        return switch status {
        // Every known 403 concerns the credential, not the notification: to drop would lose the whole queue because of
        // a bad credential. A new token on a new connection fixes what can be fixed automatically; then the app halts.
        case 403: .renewTokenOnce
        // The status itself means that the token is no longer active.
        case 410: .deactivate
        case 429, 500...: .retry
        case 400..<500: .drop
        // The provider accepted it with an unknown status; to send it again might cause a duplicate.
        case 200..<300: .drop
        // The answer comes from an intermediary, not from the provider, and does not concern the notification.
        default: .retry
        }
    }
}
