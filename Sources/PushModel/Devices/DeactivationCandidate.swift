/// A device whose token a provider reported as dead. The registry checks the evidence before it deactivates the device.
package struct DeactivationCandidate: Sendable, Equatable {
    package let device: DeviceID
    package let app: AppID
    package let reason: ProviderReason?
    /// Milliseconds since 1970: when the token was known to be dead. The timestamp of a 410, or else the time at which
    /// the delivery was given to the gateway.
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
