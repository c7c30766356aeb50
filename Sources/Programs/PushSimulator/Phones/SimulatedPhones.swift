import PushLoop
import PushRandom

/// The simulated phones with one app each, and the Live Activities on them. Their tokens are in the ``SimulatedDevices``.
package struct SimulatedPhones {
    struct Phone {
        struct Token {
            let kind: TokenKind
            /// The type of the activities that a push-to-start token starts.
            let activityType: String?
            var bytes: [UInt8]
        }

        let number: UInt64
        let app: String
        /// The environment of its tokens. Nil: both.
        let environment: APNsEnvironment?
        /// The number of updates with priority 10 of one activity in an hour. Nil: any number.
        let budget: Int?
        fileprivate(set) var tokens: [Token] = []

        func device(_ kind: TokenKind, activity: UInt64 = 0, since: WallTime) -> SimulatedDevices.Device {
            var device = SimulatedDevices.Device(since: since, topics: [app], environment: environment, kind: kind)
            device.phone = number
            device.activity = activity
            return device
        }
    }

    /// What a phone is made of.
    struct Order {
        var app = ""
        var environment: APNsEnvironment?
        var budget: Int?
        /// The kinds of its tokens, each with the type of a push-to-start token.
        var tokens: [(kind: TokenKind, activityType: String?)] = []
    }

    static let maxPhones = 100_000
    static let maxTokens = 64

    private(set) var phones: [UInt64: Phone] = [:]
    private var lastPhone: UInt64 = 0

    /// The maximum number of activities. Beyond it, those that have ended are forgotten, the oldest first.
    let activityLimit: Int
    var activities: [UInt64: Activity] = [:]
    var lastActivity: UInt64 = 0
    /// The activities that have ended, in the order of their ends. Those before `firstEnded` are forgotten.
    var ended: [UInt64] = []
    var firstEnded = 0
    /// All activities with smaller numbers have ended.
    var oldestLive: UInt64 = 1
    /// The live activities that a channel updates.
    var subscribers: Set<UInt64> = []

    init(activityLimit: Int) {
        self.activityLimit = activityLimit
    }

    package var count: Int { phones.count }
    package var activityCount: Int { activities.count }
    package var liveCount: Int { activities.count - (ended.count - firstEnded) }

    // MARK: Phones

    /// Makes a phone with its tokens. Returns nil if there is no room for it.
    mutating func add(
        _ order: Order, at now: WallTime, in devices: inout SimulatedDevices, random: inout SeededRandom
    ) -> Phone? {
        guard phones.count < Self.maxPhones, order.tokens.count <= devices.room else { return nil }
        lastPhone += 1
        var phone = Phone(
            number: lastPhone, app: order.app, environment: order.environment, budget: order.budget)
        for (kind, type) in order.tokens {
            let bytes = Self.newToken(kind, random: &random)
            phone.tokens.append(Phone.Token(kind: kind, activityType: type, bytes: bytes))
            devices.set(phone.device(kind, since: now), forToken: bytes)
        }
        phones[phone.number] = phone
        return phone
    }

    /// Deletes the app from a phone: its tokens are unregistered, and its activities end. Returns false if there is no
    /// such phone.
    mutating func remove(_ number: UInt64, at now: WallTime, in devices: inout SimulatedDevices) -> Bool {
        guard let phone = phones.removeValue(forKey: number) else { return false }
        for token in phone.tokens { devices.retire(token.bytes, as: .unregistered, at: now) }
        for activity in activities.values where activity.phone == number && activity.endedAt == nil {
            end(activity.number, by: .system, at: now, in: &devices)
        }
        return true
    }

    /// Replaces a token that is active by a new one, which is returned. The old one is answered with 410 from then on.
    /// Nil: there is no room for it.
    mutating func rotate(
        _ token: [UInt8], of device: SimulatedDevices.Device, at now: WallTime, in devices: inout SimulatedDevices,
        random: inout SeededRandom
    ) -> [UInt8]? {
        guard devices.room > 0 else { return nil }
        let new = Self.newToken(device.kind ?? .alert, random: &random)
        var successor = device
        successor.since = now
        devices.set(successor, forToken: new)
        devices.retire(token, as: device.kind == .activity ? .expired : .unregistered, at: now)
        if let index = phones[device.phone]?.tokens.firstIndex(where: { $0.bytes == token }) {
            phones[device.phone]?.tokens[index].bytes = new
        }
        if activities[device.activity]?.token == token {
            activities[device.activity]?.token = new
            activities[device.activity]?.oldTokens.append(token)
        }
        return new
    }

    /// Forgets all phones and activities, with their tokens.
    mutating func removeAll(in devices: inout SimulatedDevices) {
        for phone in phones.values {
            for token in phone.tokens { devices.remove(token.bytes) }
        }
        for activity in activities.values {
            for token in activity.tokens { devices.remove(token) }
        }
        let (phone, activity) = (lastPhone, lastActivity)
        self = SimulatedPhones(activityLimit: activityLimit)
        // The numbers go on, so that no two phones or activities of a run have the same.
        (lastPhone, lastActivity, oldestLive) = (phone, activity, activity + 1)
    }

    /// Returns random bytes; the length of each kind is a multiple of 8.
    static func newToken(_ kind: TokenKind, random: inout SeededRandom) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(kind.length)
        while bytes.count < kind.length {
            var word = random.next()
            for _ in 0..<8 {
                bytes.append(UInt8(truncatingIfNeeded: word))
                word >>= 8
            }
        }
        return bytes
    }
}
