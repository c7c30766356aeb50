package import PushTime

/// The end of a device: proposed by the answer of a provider, checked by feedback, recorded as an event, and applied by
/// the registry.
package struct Deactivation: Sendable, Equatable {
    package let device: DeviceID
    package let app: AppID
    package let reason: String?
    /// When the device was known to be gone: the timestamp of a 410, or else the time at which the delivery was given
    /// to the gateway. A device that was seen later stays active.
    package let evidence: WallTime
    package let messageID: MessageID?
    package let deliveryID: DeliveryID?
    /// Whether the address was refused as one of another app, which may be the fault of this app's settings.
    package let isMisdirected: Bool
    /// Whether the registry erases the device with all of its data.
    package let erases: Bool
    /// The address that was refused, if the device may have another one by now, which is then alive. It is looked at
    /// before the event is written, and not stored.
    package var refused: Address?

    package init(
        of device: DeviceID, app: AppID, reason: String?, evidence: WallTime, messageID: MessageID? = nil,
        deliveryID: DeliveryID? = nil, isMisdirected: Bool = false, erases: Bool = false
    ) {
        self.device = device
        self.app = app
        self.reason = reason
        self.evidence = evidence
        self.messageID = messageID
        self.deliveryID = deliveryID
        self.isMisdirected = isMisdirected
        self.erases = erases
    }

    /// The reason in the event of an erased device.
    package static let removed = "removed"

    /// The reason in the event of a device whose user was erased. Its id stays, so that nothing is sent to it.
    package static let erased = "erased"

    /// Whether nothing stays of the device but its id.
    package var isErasure: Bool { erases && reason == Self.erased }

    /// The reason in the event of an address whose Live Activity has ended.
    package static let activityEnded = "activity_ended"

    /// Whether the address has ended with its Live Activity. Nothing is wrong then, and brakes do not count it.
    package var isEndOfActivity: Bool { reason == Self.activityEnded }

    /// Returns the end of an address of a Live Activity, after the push service has taken the end of the activity.
    ///
    /// - Parameter evidence: When the end was given to the gateway. An address that registers later stays active.
    package static func endOfActivity(
        at device: DeviceID, app: AppID, evidence: WallTime, messageID: MessageID? = nil, deliveryID: DeliveryID? = nil
    ) -> Deactivation {
        Deactivation(
            of: device, app: app, reason: activityEnded, evidence: evidence, messageID: messageID,
            deliveryID: deliveryID)
    }
}
