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

    package var family: StaticString {
        switch rawValue >> 4 {
        case 0: "message"
        case 1: "delivery"
        case 2: "device"
        case 3: "connection"
        default: "credential"
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
        }
    }

    package var isDelivery: Bool { rawValue >> 4 == 1 }

    package func topic(of app: AppID?) -> String { "\(family)/\(app?.name ?? "-")/\(name)" }
}
