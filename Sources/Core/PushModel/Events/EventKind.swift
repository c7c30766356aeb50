/// The kind of an event. Its topic is `family/app/kind`, with `-` if no app is known.
package enum EventKind: UInt8, CaseIterable, Sendable {
    case messageAccepted = 1
    case messageRejected = 2
    case messageDuplicate = 3
    case messageExpired = 4
    case messageCompleted = 5
    case messageCancelled = 6
    case deliverySent = 16
    case deliveryRejected = 17
    case deliveryRetry = 18
    case deliveryUnknown = 19
    case deliveryExpired = 20
    case deliverySuppressed = 21
    case deliveryDisplayed = 22
    case deliveryOpened = 23
    case deliverySuperseded = 24
    case deviceRegistered = 32
    case deviceDeactivated = 33
    case deviceReactivated = 34
    case deviceBrake = 35
    case connectionUp = 48
    case connectionDown = 49
    case connectionGoAway = 50
    case connectionScaled = 51
    case credentialExpiring = 64
    case credentialRotated = 65
    case credentialFailed = 66
    case receiptSubscribed = 80
    case receiptDidChangeRenewalPref = 81
    case receiptDidChangeRenewalStatus = 82
    case receiptOfferRedeemed = 83
    case receiptDidRenew = 84
    case receiptExpired = 85
    case receiptDidFailToRenew = 86
    case receiptGracePeriodExpired = 87
    case receiptPriceIncrease = 88
    case receiptPriceChange = 89
    case receiptRefund = 90
    case receiptRefundDeclined = 91
    case receiptRefundReversed = 92
    case receiptConsumptionRequest = 93
    case receiptRenewalExtended = 94
    case receiptRenewalExtension = 95
    case receiptRevoke = 96
    case receiptTest = 97
    case receiptExternalPurchaseToken = 98
    case receiptOneTimeCharge = 99
    case receiptRescindConsent = 100
    case receiptMetadataUpdate = 101
    case receiptMigration = 102
    /// A notification of the App Store with a type that was not known when this version was made.
    case receiptOther = 103
    case ledgerRestored = 112
    case webhookDisabled = 128
    case webhookPaused = 129
    case webhookResumed = 130
    case webhookSkipped = 131
    case operatorPause = 144
    case operatorResume = 145
    case operatorScale = 146
    case operatorBrakeRelease = 147
    case operatorReload = 148
    case operatorCancel = 149
    case operatorDrop = 150
    case operatorKeyAdd = 151
    case operatorKeyRotate = 152
    case operatorKeyRevoke = 153
    case operatorDeviceAdd = 154
    case operatorDeviceChange = 155
    case operatorDeviceDeactivate = 156
    case operatorDeviceReactivate = 157
    case operatorDeviceRemove = 158
    case operatorDevicesImport = 159
    case operatorDevicesExport = 160
    case operatorUserExport = 161
    case operatorUserErase = 162
    case operatorWebhookPause = 163
    case operatorWebhookResume = 164
    case operatorWebhookSeek = 165
    case operatorStoreRestored = 166

    /// The families, each once.
    package static let families: [String] = allCases.reduce(into: []) { families, kind in
        if families.last != kind.family.description { families.append(kind.family.description) }
    }

    package var family: StaticString {
        switch rawValue >> 4 {
        case 0: "message"
        case 1: "delivery"
        case 2: "device"
        case 3: "connection"
        case 4: "credential"
        case 5, 6: "receipt"
        case 8: "webhook"
        case 9, 10: "operator"
        default: "ledger"
        }
    }

    package var name: StaticString {
        switch self {
        case .messageAccepted: "accepted"
        case .messageRejected, .deliveryRejected: "rejected"
        case .messageDuplicate: "duplicate"
        case .messageExpired, .deliveryExpired: "expired"
        case .messageCompleted: "completed"
        case .messageCancelled: "cancelled"
        case .deliverySent: "sent"
        case .deliveryRetry: "retry"
        case .deliveryUnknown: "unknown"
        case .deliverySuppressed: "suppressed"
        case .deliveryDisplayed: "displayed"
        case .deliveryOpened: "opened"
        case .deliverySuperseded: "superseded"
        case .deviceRegistered: "registered"
        case .deviceDeactivated: "deactivated"
        case .deviceReactivated: "reactivated"
        case .deviceBrake: "brake"
        case .connectionUp: "up"
        case .connectionDown: "down"
        case .connectionGoAway: "goaway"
        case .connectionScaled: "scaled"
        case .credentialExpiring: "expiring"
        case .credentialRotated: "rotated"
        case .credentialFailed: "failed"
        case .ledgerRestored: "restored"
        case .webhookDisabled: "disabled"
        case .webhookPaused: "paused"
        case .webhookResumed: "resumed"
        case .webhookSkipped: "skipped"
        case .receiptSubscribed, .receiptDidChangeRenewalPref, .receiptDidChangeRenewalStatus,
            .receiptOfferRedeemed, .receiptDidRenew, .receiptExpired, .receiptDidFailToRenew,
            .receiptGracePeriodExpired, .receiptPriceIncrease, .receiptPriceChange, .receiptRefund,
            .receiptRefundDeclined, .receiptRefundReversed, .receiptConsumptionRequest, .receiptRenewalExtended,
            .receiptRenewalExtension, .receiptRevoke, .receiptTest, .receiptExternalPurchaseToken,
            .receiptOneTimeCharge, .receiptRescindConsent, .receiptMetadataUpdate, .receiptMigration,
            .receiptOther:
            receiptName
        default: operatorName
        }
    }

    /// The word of the App Store.
    private var receiptName: StaticString {
        switch self {
        case .receiptSubscribed: "SUBSCRIBED"
        case .receiptDidChangeRenewalPref: "DID_CHANGE_RENEWAL_PREF"
        case .receiptDidChangeRenewalStatus: "DID_CHANGE_RENEWAL_STATUS"
        case .receiptOfferRedeemed: "OFFER_REDEEMED"
        case .receiptDidRenew: "DID_RENEW"
        case .receiptExpired: "EXPIRED"
        case .receiptDidFailToRenew: "DID_FAIL_TO_RENEW"
        case .receiptGracePeriodExpired: "GRACE_PERIOD_EXPIRED"
        case .receiptPriceIncrease: "PRICE_INCREASE"
        case .receiptPriceChange: "PRICE_CHANGE"
        case .receiptRefund: "REFUND"
        case .receiptRefundDeclined: "REFUND_DECLINED"
        case .receiptRefundReversed: "REFUND_REVERSED"
        case .receiptConsumptionRequest: "CONSUMPTION_REQUEST"
        case .receiptRenewalExtended: "RENEWAL_EXTENDED"
        case .receiptRenewalExtension: "RENEWAL_EXTENSION"
        case .receiptRevoke: "REVOKE"
        case .receiptTest: "TEST"
        case .receiptExternalPurchaseToken: "EXTERNAL_PURCHASE_TOKEN"
        case .receiptOneTimeCharge: "ONE_TIME_CHARGE"
        case .receiptRescindConsent: "RESCIND_CONSENT"
        case .receiptMetadataUpdate: "METADATA_UPDATE"
        case .receiptMigration: "MIGRATION"
        default: "other"
        }
    }

    package var isDelivery: Bool { rawValue >> 4 == 1 }

    package func topic(of app: AppID?) -> String { "\(family)/\(app?.name ?? "-")/\(name)" }
}
