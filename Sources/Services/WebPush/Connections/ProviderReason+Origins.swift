package import PushModel

/// Why the pool gives a delivery back without having sent it. These are no answers of a push service.
extension ProviderReason {
    /// The origin has as many deliveries as it may have for now.
    package static let originBusy = ProviderReason(rawValue: "origin_busy")
    /// The origin has failed several times in a row.
    package static let originUnavailable = ProviderReason(rawValue: "origin_unavailable")
    /// The app may not send to the origin.
    package static let originNotAllowed = ProviderReason(rawValue: "origin_not_allowed")
    /// The subscription was made with a VAPID key that the app does not have.
    package static let otherVAPIDKey = ProviderReason(rawValue: "other_vapid_key")
    /// The name of the origin leads to a private address.
    package static let privateAddress = ProviderReason(rawValue: "private_address")
}

extension KnownReason {
    /// What the pool says about origins. Each of them concerns one device among many, so none may pause the app.
    package static let aboutOrigins: [KnownReason] = [
        .init(
            0, names: ["origin_busy"], disposition: .retry, concern: .device,
            meaning: "the push service of this browser does not keep up",
            advice: "nothing to do: it is sent again later"
        ),
        .init(
            0, names: ["origin_unavailable"], disposition: .retry, concern: .device,
            meaning: "the push service of this browser does not answer, or fails",
            advice: "nothing to do: it is sent again later"),
        .init(
            0, names: ["origin_not_allowed"], disposition: .drop, concern: .device,
            meaning: "the app may not send to the push service of this browser",
            advice: "add it to origins of the app if it is one that you trust"),
        .init(
            0, names: ["other_vapid_key"], disposition: .drop, concern: .device,
            meaning: "the subscription was made with a VAPID key that the app does not have",
            advice: "name the file of that key in credential.former_vapid, or let the page subscribe again"),
        .init(
            0, names: ["private_address"], disposition: .drop, concern: .device,
            meaning: "the name of the push service leads to a private address",
            advice: "add its network to private_networks of the app if the service is one of yours"),
    ]
}
