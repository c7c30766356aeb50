import PushLogic
import PushModel
import PushTime

/// Devices that a test sets.
final class TestDevices: DeviceSet, @unchecked Sendable {
    // Unchecked because each test uses its own instance from one thread.
    var devices: Set<DeviceID> = []

    var isEmpty: Bool { devices.isEmpty }
    func contains(_ device: DeviceID) -> Bool { devices.contains(device) }
}

final class TestOwnerChanges: OwnerChanges, @unchecked Sendable {
    // Unchecked because each test uses its own instance from one thread.
    var latest: UInt32 = 0
    var removed: [DeviceID: UInt32] = [:]
    var reassigned: [DeviceID: UInt32] = [:]

    func remove(_ device: DeviceID) {
        latest += 1
        removed[device] = latest
    }

    func reassign(_ device: DeviceID) {
        latest += 1
        reassigned[device] = latest
    }

    func obstacle(
        to device: DeviceID, foundAt number: UInt32, of message: AcceptedMessage
    ) -> DeliveryOutcome.Suppression? {
        if removed[device] ?? 0 > number { return .unknownDevice }
        return message.isPersonal && reassigned[device] ?? 0 > number ? .reassigned : nil
    }
}

enum RouterFixtures {
    static let identities = Identities(secret: (0..<32).map { UInt8($0) })!
    static let shop = AppID("shop")!
    static let second: Int64 = 1_800_000_000
    static let begin = MonotonicTime(nanoseconds: 1_000_000_000_000)

    static func token(_ number: Int) -> Address { Address(words: (UInt64(number), 1, 2, 3)) }
    static func tokens(_ range: Range<Int>) -> Audience { .tokens(range.map(token)) }
    static func device(_ number: Int, app: AppID = shop) -> DeviceID {
        identities.device(of: app, token: token(number))
    }

    static func accepted(
        _ seq: UInt64, app: AppID = shop, kind: AddressKind = .alert, to audience: Audience,
        priority: PushPriority = .ten,
        expiresAt: Int64? = nil, notBefore: Int64? = nil, onUnknown: UnknownPolicy = .resend, needsClaim: Bool? = nil,
        at: Int64 = second, counts: OutcomeCounts = OutcomeCounts()
    ) -> AcceptedMessage {
        let message = Message(
            id: MessageID("m-\(seq)")!, app: app, kind: kind, priority: priority, expiry: Expiry(expiresAt: expiresAt),
            payload: [1, 2, 3],
            onUnknown: onUnknown, notBefore: notBefore.map { UnixSeconds($0) })
        return AcceptedMessage(
            seq: seq, acceptedAt: WallTime(seconds: at), fingerprint: identities.message(of: app, id: message.id),
            message: message,
            audience: audience, needsClaim: needsClaim ?? (audience.named != 1),
            isScheduled: notBefore.map { $0 > at } ?? false, counts: counts)
    }
}

/// Counts as the ledger does, for one thread.
final class TestActivityWaits: ActivityWaits, @unchecked Sendable {
    // Unchecked: a test has one thread.
    var state = UnaddressedActivities()

    func admit(_ wait: ActivityWait) -> Bool { state.admit(wait) }
    func waits(_ wait: ActivityWait, newest seq: UInt64) { state.waits(wait, newest: seq) }
    func found(_ activity: UInt64) { state.found(activity) }
    func lost(_ wait: ActivityWait, newest seq: UInt64) { state.lost(wait, newest: seq) }
    func ended(_ activity: UInt64, upTo seq: UInt64) { state.ended(activity, upTo: seq) }
    func observeRefusals(_ observer: @escaping @Sendable () -> Void) {}
    func refused(_ activity: RefusedActivity) -> Bool { state.refused(activity) }
    func takeRefused() -> [RefusedActivity] { state.takeRefused() }
    func foundRefused(_ activity: RefusedActivity) { state.foundRefused(activity) }
}
