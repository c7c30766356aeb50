package import PushModel

extension ReasonTable {
    /// The refusals of the push services of browsers: the words for their statuses, and those of Apple
    /// (Documentation/WebPush.md, "What the answers mean").
    ///
    /// An app has subscriptions at many push services. So no refusal is one of the whole app: none counts as trouble of
    /// the provider, and none halts it because of the credential. A subscription may belong to another key, and some
    /// services refuse good keys now and then; only 404 and 410 end a device.
    package static let webPush = ReasonTable(
        aboutSubscriptions + aboutMessages + aboutServices + aboutKeys + KnownReason.aboutOrigins,
        credentialAdvice: "check that the page subscribes with the public key of the app (carillon keys show FILE)",
        isUncertain: true
    ) { status in
        switch status {
        case 404, 410: (.deactivate, .device)
        case 406, 429, 500...: (.retry, .device)
        case 401, 403: (.drop, .device)
        // Without an answer, the origin was not reached.
        case ..<200: (.retry, .device)
        // A redirection is never followed: it could lead into a private network.
        case 300..<400: (.drop, .device)
        default: (.drop, .notification)
        }
    }

    private static let aboutSubscriptions: [KnownReason] = [
        .init(
            404, names: ["SubscriptionUnknown"], disposition: .deactivate, concern: .device,
            meaning: "the push service does not know the subscription any more",
            advice: "stop sending to it; the page subscribes again when it is opened"),
        .init(
            410, names: ["SubscriptionGone"], disposition: .deactivate, concern: .device,
            meaning: "the subscription has ended, or its person has withdrawn the permission",
            advice: "stop sending to it; the page subscribes again when it is opened"),
    ]

    private static let aboutMessages: [KnownReason] = [
        .init(
            400, names: ["BadRequest"], disposition: .drop, concern: .notification,
            meaning: "the push service does not accept the request", advice: "the device is kept; try another payload"),
        .init(
            400, names: ["BadTtl"], disposition: .drop, concern: .notification,
            meaning: "the push service does not accept the time to live", advice: "check expires_at"),
        .init(
            400, names: ["BadWebPushTopic"], disposition: .drop, concern: .notification,
            meaning: "the push service does not accept the topic", advice: "report it as a fault of Carillon"),
        .init(
            400, names: ["BadUrgency"], disposition: .drop, concern: .notification,
            meaning: "the push service does not accept the urgency", advice: "give another priority"),
        .init(
            400, names: ["BadWebPushRequest"], disposition: .drop, concern: .notification,
            meaning: "the push service does not accept the encrypted message",
            advice: "register the whole subscription again, as the browser gives it; the device is kept"),
        .init(
            404, names: ["BadPath"], disposition: .drop, concern: .notification,
            meaning: "the push service has no such path, which says nothing about the subscription",
            advice: "register the endpoint exactly as the browser gives it; the device is kept"),
        .init(
            405, names: ["MethodNotAllowed"], disposition: .drop, concern: .notification,
            meaning: "the endpoint takes no pushes", advice: "register the endpoint exactly as the browser gives it"),
        .init(
            413, names: ["PayloadTooLarge"], disposition: .drop, concern: .notification,
            meaning: "the push service does not take messages of this size; some take far less than 4096 bytes",
            advice: "send less, about 2,000 bytes, and let the page fetch the rest; the device is kept"),
    ]

    private static let aboutServices: [KnownReason] = [
        .init(
            406, names: ["Throttled"], disposition: .retry, concern: .device,
            meaning: "too many messages to this subscription or app", advice: "nothing to do: it is sent again later"),
        .init(
            429, names: ["TooManyRequests"], disposition: .retry, concern: .device,
            meaning: "too many messages to this subscription or app", advice: "nothing to do: it is sent again later"),
        .init(
            500, names: ["InternalServerError"], disposition: .retry, concern: .device,
            meaning: "the push service of the browser failed; the message may have been delivered",
            advice: "nothing to do: it is sent again later"),
        .init(
            502, names: ["BadGateway"], disposition: .retry, concern: .device,
            meaning: "the push service of the browser failed; the message may have been delivered",
            advice: "nothing to do: it is sent again later"),
        .init(
            503, names: ["ServiceUnavailable", "Shutdown"], disposition: .retry, concern: .device,
            meaning: "the push service of the browser is overloaded or ends",
            advice: "nothing to do: it is sent again later"),
        .init(
            504, names: ["GatewayTimeout"], disposition: .retry, concern: .device,
            meaning: "the push service of the browser did not answer in its own time",
            advice: "nothing to do: it is sent again later"),
        .init(
            307, names: ["Redirected"], disposition: .drop, concern: .device,
            meaning: "the push service names another address, which is never followed",
            advice: "register the subscription that the browser has now; the device is kept"),
    ]

    private static let aboutKeys: [KnownReason] = [
        .init(
            401, names: ["Unauthorized"], disposition: .drop, concern: .device,
            meaning: "the push service does not accept the VAPID token",
            advice: "check this machine's clock, and that the page subscribes with the public key of the app"),
        .init(
            403, names: ["Forbidden"], disposition: .drop, concern: .device,
            meaning: "the subscription was made with another VAPID key, or the push service refuses it for now",
            advice: "let the page subscribe again with the public key of the app; the device is kept"),
        .init(
            403, names: ["VapidPkHashMismatch"], disposition: .drop, concern: .device,
            meaning: "the subscription was made with another VAPID key",
            advice: "let the page subscribe again with the public key of the app; the device is kept"),
        .init(
            403, names: ["BadJwtToken", "BadAuthorizationHeader", "BadVapidPublicKey"], disposition: .drop,
            concern: .device, meaning: "Apple does not accept the VAPID token",
            advice: "check this machine's clock, and that the host of credential.subject exists"),
    ]
}
