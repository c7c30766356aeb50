import PushModel

extension ProviderReason {
    static let unknownSubscription = ProviderReason(rawValue: "SubscriptionUnknown")
    static let subscriptionGone = ProviderReason(rawValue: "SubscriptionGone")
    static let badTTL = ProviderReason(rawValue: "BadTtl")
    static let badTopic = ProviderReason(rawValue: "BadWebPushTopic")
    static let badEncryption = ProviderReason(rawValue: "BadWebPushRequest")
    static let unauthorized = ProviderReason(rawValue: "Unauthorized")

    /// The words for statuses of answers without a reason: most push services give none. Nil for other statuses.
    static func webPush(status: Int) -> ProviderReason? {
        let word: String? =
            switch status {
            case 300..<400: "Redirected"
            case 400: "BadRequest"
            case 401: "Unauthorized"
            case 403: "Forbidden"
            case 404: "SubscriptionUnknown"
            case 406: "Throttled"
            case 410: "SubscriptionGone"
            case 413: "PayloadTooLarge"
            case 429: "TooManyRequests"
            case 500: "InternalServerError"
            case 502: "BadGateway"
            case 503: "ServiceUnavailable"
            case 504: "GatewayTimeout"
            default: nil
            }
        return word.map { ProviderReason(rawValue: $0) }
    }
}
