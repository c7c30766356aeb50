import PushModel

extension ProviderReason {
    static let addressEnded = ProviderReason(rawValue: "ADDRESS_ENDED")
    static let ofAnotherApp = ProviderReason(rawValue: "OF_ANOTHER_APP")
    static let overloaded = ProviderReason(rawValue: "OVERLOADED")
    static let keyRefused = ProviderReason(rawValue: "KEY_REFUSED")
    static let textRefused = ProviderReason(rawValue: "TEXT_REFUSED")
    static let moving = ProviderReason(rawValue: "MOVING")
}

extension ReasonTable {
    /// The refusals of the stub. An address that has ended has the status 404, and 410 has no meaning.
    static let stub = ReasonTable([
        KnownReason(
            404, names: ["ADDRESS_ENDED"], disposition: .deactivate, concern: .device,
            meaning: "the address is no longer in use", advice: "nothing to do"),
        KnownReason(
            409, names: ["OF_ANOTHER_APP"], disposition: .deactivate, concern: .device, isMisdirected: true,
            meaning: "the address is one of another app", advice: "check the app"),
        KnownReason(
            503, names: ["OVERLOADED"], disposition: .retry, concern: .provider, meaning: "the stub is busy",
            advice: "nothing to do"),
        KnownReason(
            401, names: ["KEY_REFUSED"], disposition: .halt, concern: .credential, meaning: "the key is not valid",
            advice: "replace the key"),
        KnownReason(
            400, names: ["TEXT_REFUSED"], disposition: .drop, concern: .notification,
            meaning: "the text is not allowed", advice: "send another text"),
        KnownReason(
            503, names: ["MOVING"], disposition: .retry, concern: .connection, meaning: "the stub ends a connection",
            advice: "nothing to do"),
    ])
}
