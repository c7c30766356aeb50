/// A device that a provider called dead: to be weighed before anything is done about it.
package struct DeactivationCandidate: Sendable, Equatable {
    package let device: DeviceID
    package let app: AppID
    package let reason: ProviderReason?
    /// Milliseconds since 1970: when it was known to be dead. What a 410 said, else when it was given to the gateway.
    package let evidenceAt: Int64
    package let apnsID: APNSID
    package let messageID: MessageID

    package init(
        device: DeviceID, app: AppID, reason: ProviderReason?, evidenceAt: Int64, apnsID: APNSID, messageID: MessageID
    ) {
        self.device = device
        self.app = app
        self.reason = reason
        self.evidenceAt = evidenceAt
        self.apnsID = apnsID
        self.messageID = messageID
    }
}
