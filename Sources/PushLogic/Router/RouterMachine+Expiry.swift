import PushModel
import PushTime

/// What is past its time is not sent, and each of it is said.
extension RouterMachine {
    func isExpired(_ message: Int) -> Bool {
        let accepted = messages[message].accepted
        return isExpired(accepted.message, acceptedAt: accepted.acceptedAt)
    }

    func isExpired(_ message: Message, acceptedAt: Int64) -> Bool {
        if let expiresAt = message.expiresAt, expiresAt != 0 { return wall.seconds >= expiresAt }
        return wall.milliseconds - acceptedAt >= oldestMilliseconds
    }

    private var oldestMilliseconds: Int64 { policy.oldest.wholeMilliseconds }

    /// How long it may still wait.
    func timeLeft(_ message: Message, acceptedAt: Int64) -> Duration {
        if let expiresAt = message.expiresAt, expiresAt != 0 {
            return .milliseconds(max(0, min(expiresAt, .max / 2000) * 1000 - wall.milliseconds))
        }
        return .milliseconds(max(0, acceptedAt + oldestMilliseconds - wall.milliseconds))
    }

    /// Ends a message of which nothing has begun. False where some of it ended before a restart and it takes claims to
    /// tell which: that goes the usual way, and expires there.
    mutating func expireWhole(_ message: Int) -> Bool {
        let accepted = messages[message].accepted
        if accepted.audience.isDynamic {
            complete(message, isExpired: accepted.counts.total == 0)
            return true
        }
        if accepted.counts.total > 0 { return false }
        messages[message].fanOut = FanOut()
        expiring.append(message)
        return true
    }

    /// In one tick: a message may name a hundred thousand.
    private static let expiringPerTick = 4096

    mutating func expireSome() {
        var left = Self.expiringPerTick
        while left > 0, let message = expiring.first {
            guard let fan = messages[message].fanOut else { preconditionFailure("router: \(message) is not expiring") }
            let accepted = messages[message].accepted
            let begin = fan.looked
            switch accepted.audience {
            case .tokens(let tokens):
                if fan.seen == nil { fan.seen = SeenDevices(count: tokens.count) }
                fan.looked = min(tokens.count, begin + left)
                for token in tokens[begin..<fan.looked] {
                    let device = identities.device(accepted.message.app, token)
                    if fan.seen!.insert(device) { expireUnsent(message, device: device, token: token) }
                }
            case .devices(let devices):
                if fan.seen == nil { fan.seen = SeenDevices(count: devices.count) }
                fan.looked = min(devices.count, begin + left)
                for device in devices[begin..<fan.looked] where fan.seen!.insert(device) {
                    expireUnsent(message, device: device, token: nil)
                }
            case .users, .tags, .everyone: break
            }
            left -= fan.looked - begin
            if fan.looked == accepted.audience.named ?? 0 {
                _ = expiring.popFirst()
                complete(message, isExpired: true)
            }
        }
    }

    private mutating func expireUnsent(_ message: Int, device: DeviceID, token: DeviceToken?) {
        actions.records.append(record(.expired, of: message, device: device, token: token))
        messages[message].counts.expired += 1
    }

    /// Devices that were found and not sent to. Of a dynamic audience nobody else is looked for.
    mutating func expireRest(_ message: Int) {
        if let token = messages[message].onlyToken, !messages[message].isThrough {
            expireUnsent(
                message, device: identities.device(messages[message].accepted.message.app, token), token: token)
            return
        }
        guard let fan = messages[message].fanOut else { return }
        lanes[messages[message].lane].prepared -= fan.left + fan.ahead.count
        for device in fan.page[fan.at...] { expireUnsent(message, device: device.id, token: device.token) }
        for device in fan.ahead { expireUnsent(message, device: device.id, token: device.token) }
        fan.page = []
        fan.at = 0
        fan.ahead = []
        if messages[message].accepted.audience.isDynamic, !fan.hasAllPages {
            fan.isAbandoned = true
            if fan.step == .idle { fan.hasAllPages = true }
        }
    }

    /// Looks for what has expired where nothing goes out for now.
    mutating func sweep(_ lane: Int) {
        for _ in 0..<lanes[lane].loaded.count {
            guard let message = lanes[lane].loaded.popFirst() else { break }
            if !isExpired(message) || !expireWhole(message) { lanes[lane].loaded.append(message) }
        }
        for _ in 0..<lanes[lane].ready.count {
            guard let message = lanes[lane].ready.popFirst() else { break }
            if isExpired(message) { expireReady(message) } else { lanes[lane].ready.append(message) }
        }
        for _ in 0..<lanes[lane].again.count {
            guard let delivery = lanes[lane].again.popFirst() else { break }
            if !expireIfDue(delivery) { lanes[lane].again.append(delivery) }
        }
        apps[place(ofLane: lane)].isDirty = true
    }

    /// One that has been taken out of its line.
    mutating func expireReady(_ message: Int) {
        messages[message].fanOut?.isReady = false
        expireRest(message)
        guard let fan = messages[message].fanOut else {
            // Its only device was never looked at.
            lanes[messages[message].lane].begun -= 1
            return complete(message, isExpired: true)
        }
        // Named devices that have not been looked at may have had it before: they are claimed, and expire then.
        turnPage(message, fan)
        if isWaiting(message, fan) { settle(message) }
    }
}
