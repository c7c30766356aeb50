package import PushModel

/// Why the pool gives a delivery back without having sent it. These are no answers of a push service.
extension ProviderReason {
    /// The origin has as many deliveries as it may have for now.
    package static let originBusy = ProviderReason(rawValue: "origin_busy")
    /// The origin has failed several times in a row.
    package static let originUnavailable = ProviderReason(rawValue: "origin_unavailable")
    /// The same, because the name has no address.
    static let originNameNotFound = ProviderReason(rawValue: "origin_name_not_found")
    /// Because it refuses connections.
    static let originRefused = ProviderReason(rawValue: "origin_refused")
    /// Because there is no route to it.
    static let originUnreachable = ProviderReason(rawValue: "origin_unreachable")
    /// Because no connection opens in time.
    static let originTimedOut = ProviderReason(rawValue: "origin_timed_out")
    /// Because its certificate is not trusted.
    static let originNotTrusted = ProviderReason(rawValue: "origin_not_trusted")
    /// Because it ends connections.
    static let originReset = ProviderReason(rawValue: "origin_reset")
    /// Because TLS fails otherwise.
    static let originTLS = ProviderReason(rawValue: "origin_tls")
    /// The app may not send to the origin.
    package static let originNotAllowed = ProviderReason(rawValue: "origin_not_allowed")
    /// The subscription was made with a VAPID key that the app does not have.
    package static let otherVAPIDKey = ProviderReason(rawValue: "other_vapid_key")
    /// The name of the origin leads to a private address.
    package static let privateAddress = ProviderReason(rawValue: "private_address")

    /// Returns the reason of deliveries to an origin that has failed several times in a row.
    static func unavailable(because code: ConnectionFault.Code?) -> ProviderReason {
        switch code {
        case .nameNotFound: .originNameNotFound
        case .refused: .originRefused
        case .unreachable: .originUnreachable
        case .timedOut: .originTimedOut
        case .notTrusted: .originNotTrusted
        case .tls, .certificateRefused: .originTLS
        case .reset, .closedByPeer: .originReset
        case .noCommonProtocol, .badProtocol, .silent, .goAway, .credentialRefused, .closed,
            .local, nil:
            .originUnavailable
        }
    }
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
        unavailable(
            .originNameNotFound, "the name of the push service of this browser has no address", code: .nameNotFound),
        unavailable(.originRefused, "the push service of this browser refuses connections", code: .refused),
        unavailable(.originUnreachable, "there is no route to the push service of this browser", code: .unreachable),
        unavailable(
            .originTimedOut, "no connection to the push service of this browser opens in time", code: .timedOut),
        unavailable(
            .originNotTrusted, "the certificate of the push service of this browser is not trusted", code: .notTrusted),
        unavailable(.originReset, "the push service of this browser ends connections", code: .reset),
        unavailable(.originTLS, "TLS with the push service of this browser fails", code: .tls),
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

    private static func unavailable(
        _ reason: ProviderReason, _ meaning: String, code: ConnectionFault.Code
    ) -> KnownReason {
        KnownReason(
            0, names: [reason.rawValue], disposition: .retry, concern: .device,
            meaning: meaning, advice: "\(code.advice.map { "\($0); " } ?? "")it is sent again later")
    }
}
