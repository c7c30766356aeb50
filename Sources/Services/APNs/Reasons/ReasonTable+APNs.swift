package import PushModel

extension ReasonTable {
    /// The reasons of APNs: every status and reason that is documented or was observed, each once
    /// (Documentation/Protocols.md, "A7. Status and reason" and "A12. Broadcast channels").
    package static let apns = ReasonTable(
        badRequests + forbidden + others + channels,
        credentialAdvice: "check the app's credential and its rights in the developer account"
    ) { status in
        switch status {
        // Every known 403 concerns the credential, not the notification: to drop would lose the whole queue because of
        // a bad credential. A new token on a new connection fixes what can be fixed automatically; then the app halts.
        case 403: (.renewTokenOnce, .credential)
        // The status itself means that the token is no longer active.
        case 410: (.deactivate, .device)
        case 413: (.drop, .notification)
        default: ReasonTable.ofStatus(status)
        }
    }

    private static let badRequests: [KnownReason] = [
        .init(
            400, names: ["BadCollapseId"], disposition: .drop, concern: .notification,
            meaning: "the collapse id is longer than 64 bytes or malformed",
            advice: "shorten collapse_id to at most 64 bytes of UTF-8"),
        .init(
            400, names: ["BadDeviceToken"], disposition: .deactivate, concern: .device, isMisdirected: true,
            meaning: "the token is not one of this environment, or is malformed",
            advice: "check that the app's environment (production or sandbox) is the one that issued the token"),
        .init(
            400, names: ["BadExpirationDate"], disposition: .drop, concern: .notification,
            meaning: "the provider does not accept the expiration time",
            advice: "give expires_at in whole seconds since 1970; for a channel that stores nothing it must be 0"),
        .init(
            400, names: ["BadMessageId"], disposition: .drop, concern: .notification,
            meaning: "the id of the request is not a canonical UUID",
            advice: "send apns-id as 8-4-4-4-12 lower-case hexadecimal digits, or leave it out"),
        .init(
            400, names: ["BadPriority"], disposition: .drop, concern: .notification,
            meaning: "the priority is not 1, 5 or 10, or not allowed here",
            advice: "use 10, 5 or 1; background notifications must not use 10"),
        .init(
            400, names: ["BadTopic"], disposition: .drop, concern: .topic, meaning: "the topic is malformed",
            advice: "set the app's topic to its bundle id, without suffix"),
        // Neither `halt` nor `drop` fits perfectly. With `halt`, one message of a push type that the credential does
        // not cover would let any producer stop all other push types of the app. With `drop`, each delivery ends with
        // its reason where the producer sees it, so none is lost silently, and `concern` allows a gateway to hold back
        // the other deliveries of this topic.
        .init(
            400, names: ["TopicDisallowed"], disposition: .drop, concern: .topic, isForbidden: true,
            meaning: "the credential may not send to this topic",
            advice:
                """
                compare the app's topic and the push type with the topics of its key or certificate, then send again; \
                a topic-specific key has a list of topics
                """),
        .init(
            400, names: ["DeviceTokenNotForTopic"], disposition: .deactivate, concern: .device, isMisdirected: true,
            meaning: "the token belongs to another app than the topic",
            advice: "check that the device was registered under the app whose bundle id issued the token"),
        .init(
            400, names: ["DuplicateHeaders"], disposition: .drop, concern: .notification,
            meaning: "a header was sent twice",
            advice: "this is a defect of the sender: report it with the version in use"),
        .init(
            400, names: ["IdleTimeout"], disposition: .reconnect, concern: .connection,
            meaning: "the provider closed a connection that had long been idle",
            advice: "nothing to do: another connection takes over"),
        .init(
            400, names: ["InvalidPushType"], disposition: .drop, concern: .notification,
            meaning: "the provider does not know the push type",
            advice: "use one of the documented push types; channels take liveactivity only"),
        .init(
            400, names: ["MissingDeviceToken"], disposition: .drop, concern: .notification,
            meaning: "the path named no device token",
            advice: "this is a defect of the sender: report it with the version in use"),
        .init(
            400, names: ["MissingTopic"], disposition: .drop, concern: .topic,
            meaning: "no topic was sent, and the certificate allows more than one",
            advice: "set the app's topic to its bundle id"),
        .init(
            400, names: ["PayloadEmpty"], disposition: .drop, concern: .notification, meaning: "the payload is empty",
            advice: "send a JSON object as payload"),
    ]

    private static let forbidden: [KnownReason] = [
        .init(
            403, names: ["BadCertificate"], disposition: .halt, concern: .credential,
            meaning: "the certificate is not a valid push certificate",
            advice: "check that the certificate has not expired or been revoked, and install a current one"),
        .init(
            403, names: ["BadCertificateEnvironment"], disposition: .halt, concern: .credential,
            meaning: "the certificate is for the other environment",
            advice: "set the app's environment to the one the certificate was issued for"),
        .init(
            403, names: ["ExpiredProviderToken"], disposition: .renewToken, concern: .credential,
            meaning: "the provider token is older than an hour",
            advice: "nothing if it happens once; if it repeats, set this machine's clock right"),
        .init(
            403, names: ["Forbidden"], disposition: .halt, concern: .credential,
            meaning: "the provider forbids this action",
            advice: "check in the developer account that the key or certificate is still in force for this app"),
        .init(
            403, names: ["InvalidProviderToken"], disposition: .renewTokenOnce, concern: .credential,
            meaning: "the provider rejected the provider token: wrong key, key id, team or topic, or a clock far off",
            advice: "compare key, key_id and team_id with the developer account, and check this machine's clock"),
        .init(
            403, names: ["MissingProviderToken"], disposition: .halt, concern: .credential,
            meaning: "neither a provider token nor a usable certificate came with the request",
            advice: "give the app a credential: a key with key_id and team_id, or a certificate"),
        .init(
            403, names: ["UnrelatedKeyIdInToken"], disposition: .reconnect, concern: .connection,
            meaning: "the token was signed with another key than the first request of the connection",
            advice: "nothing to do: a new connection uses the new key"),
        .init(
            403, names: ["BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken"], disposition: .halt,
            concern: .credential,
            meaning: "the key is restricted to the other environment",
            advice: """
                use a key of the app's environment, or set the environment to the one of the key: team-scoped and \
                topic-specific keys have one
                """),
    ]

    private static let others: [KnownReason] = [
        .init(
            404, names: ["BadPath"], disposition: .drop, concern: .notification,
            meaning: "the provider does not have the path of the request",
            advice: "this is a defect of the sender, or a request to the wrong host: check the app's endpoint"),
        .init(
            405, names: ["MethodNotAllowed"], disposition: .drop, concern: .notification,
            meaning: "the method is not allowed on this path",
            advice: "this is a defect of the sender, or a request to the wrong host: check the app's endpoint"),
        .init(
            410, names: ["Unregistered"], disposition: .deactivate, concern: .device,
            meaning: "the device no longer takes notifications of this app",
            advice: "stop sending to it; the device registers again if the app is reinstalled"),
        .init(
            410, names: ["ExpiredToken"], disposition: .deactivate, concern: .device, meaning: "the token has expired",
            advice: "stop sending to it; the app registers its next token itself"),
        .init(
            413, names: ["PayloadTooLarge"], disposition: .drop, concern: .notification,
            meaning: "the payload is larger than its push type allows",
            advice: "keep it within 4096 bytes (5120 for voip and broadcasts); let the app fetch what is larger"),
        .init(
            429, names: ["TooManyProviderTokenUpdates"], disposition: .slowMinting, concern: .credential,
            meaning: "provider tokens were renewed more often than every 20 minutes",
            advice: "share one token among all processes that use this key"),
        .init(
            429, names: ["TooManyRequests"], disposition: .retry, concern: .device,
            meaning: "too many notifications went to one device in a short time",
            advice: "send this device less, or use a collapse id"),
        .init(
            500, names: ["InternalServerError"], disposition: .retry, concern: .provider,
            meaning: "the provider had an internal error",
            advice: "nothing to do: the delivery is retried later"),
        .init(
            503, names: ["ServiceUnavailable", "Service Unavailable"], disposition: .retry, concern: .provider,
            meaning: "the provider is unavailable",
            advice: "nothing to do: the delivery is retried later"),
        .init(
            503, names: ["Shutdown"], disposition: .reconnect, concern: .connection,
            meaning: "the provider's server is shutting down",
            advice: "nothing to do: another connection takes over"),
    ]

    private static let channels: [KnownReason] = [
        .init(
            400, names: ["FeatureNotEnabled"], disposition: .drop, concern: .topic,
            meaning: "the app has no broadcast capability",
            advice: "enable the broadcast capability for this App ID in the developer account"),
        .init(
            400, names: ["MissingChannelId"], disposition: .drop, concern: .channel,
            meaning: "the request named no channel", advice: "name the channel by its id"),
        .init(
            400, names: ["BadChannelId"], disposition: .drop, concern: .channel, meaning: "the channel id is malformed",
            advice: "use the id exactly as the channel's creation returned it"),
        .init(
            400, names: ["ChannelNotRegistered"], disposition: .drop, concern: .channel,
            meaning: "there is no such channel in this app and environment",
            advice: "forget the channel, and create another if it is still needed"),
        .init(
            400, names: ["BadRequestParams"], disposition: .drop, concern: .channel,
            meaning: "the description of the channel has an unacceptable value",
            advice: "use message storage policy 0 or 1 and the push type LiveActivity"),
        .init(
            400, names: ["BadRequestPayload"], disposition: .drop, concern: .notification,
            meaning: "the body is not the JSON object that was expected",
            advice: "send a JSON object"),
        .init(
            400, names: ["MissingPushType"], disposition: .drop, concern: .notification,
            meaning: "the push type is missing",
            advice: "send the push type: liveactivity for a broadcast, LiveActivity for a new channel"),
        .init(
            400, names: ["CannotCreateChannelConfig"], disposition: .drop, concern: .channel,
            meaning: "the app already has the maximum of 10,000 channels",
            advice: "delete channels that are no longer used"),
        .init(
            400, names: ["MissingChannelQueueSize"], disposition: .drop, concern: .channel,
            meaning: "the message storage policy is missing or misspelled",
            advice: "send message-storage-policy, 0 or 1"),
        .init(
            403, names: ["TopicMismatch"], disposition: .drop, concern: .topic, isForbidden: true,
            meaning: "the certificate is not for the app in the path",
            advice: "use a certificate or key of that app"),
    ]
}
