package import PushModel
import PushTime

/// What is past its time is not sent, and each of it is said.
extension RouterMachine {
    func isExpired(_ message: Int) -> Bool { wall.milliseconds >= end(of: message) }

    /// The same of one that has no place yet.
    private func isExpired(_ held: HeldMessage) -> Bool {
        isDropped(held.accepted, place: place(ofLane: held.lane))
            || wall.milliseconds >= end(held.accepted.message.expiresAt, begin: held.begin, givenAt: held.givenAt)
    }

    /// How long it may still wait.
    func timeLeft(_ message: Int) -> Duration { .milliseconds(max(0, end(of: message) - wall.milliseconds)) }

    /// When it is too late for an attempt, in milliseconds since 1970.
    ///
    /// Without a time of its own it counts from when the message could first go out. With `expires_at` 0 the one attempt is
    /// now: a message to many whose devices are being sent to goes on for as long as it gets on.
    private func end(of message: Int) -> Int64 {
        if isDropped(message) { return 0 }
        // Field by field: a copy of the whole would be counted in and out for each delivery.
        return end(
            messages[message].accepted.message.expiresAt, begin: messages[message].begin,
            givenAt: messages[message].givenAt)
    }

    private func end(_ expiresAt: Int64?, begin: Int64, givenAt: Int64) -> Int64 {
        guard let expiresAt else { return begin + policy.oldest.wholeMilliseconds }
        if expiresAt != 0 { return WallTime(seconds: expiresAt).milliseconds }
        return max(begin, givenAt) + policy.once.wholeMilliseconds
    }

    /// What a gateway has to know of a message with `expires_at` 0, as it does not see when that was accepted.
    func latestStart(of message: Int) -> UInt32 { UInt32(clamping: (end(of: message) + 999) / 1000) }

    /// Ends a message of which nothing has begun. False where some of it ended before a restart and it takes claims to
    /// tell which: that goes the usual way, and expires there.
    mutating func expireWhole(_ message: Int) -> Bool {
        let accepted = messages[message].accepted
        if accepted.audience.isDynamic {
            noteDrop(message)
            complete(message, isExpired: accepted.counts.total == 0)
            return true
        }
        if accepted.counts.total > 0 { return false }
        noteDrop(message)
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
                if fan.seen == nil { fan.seen = DeviceIDTable(reserving: tokens.count) }
                fan.looked = min(tokens.count, begin + left)
                for token in tokens[begin..<fan.looked] {
                    let device = identities.device(accepted.message.app, token)
                    if fan.seen!.insert(device) { expireUnsent(message, device: device, token: token) }
                }
            case .devices(let devices):
                if fan.seen == nil { fan.seen = DeviceIDTable(reserving: devices.count) }
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
            noteDrop(message)
            expireUnsent(
                message, device: identities.device(messages[message].accepted.message.app, token), token: token)
            return
        }
        guard let fan = messages[message].fanOut else { return }
        if fan.left > 0 || !fan.ahead.isEmpty { noteDrop(message) }
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

/// What waits on disk expires too, while nothing of it goes out: where an app has no gateway, or its lane is stalled, its
/// messages are read a part at a time, and those whose time is over end.
extension RouterMachine {
    /// A part is in flight, of one lane at a time.
    mutating func lookForExpired() {
        guard lookedAt == nil, !lanes.isEmpty, !ledgerTrouble.holds(at: now) else { return }
        for place in apps.indices where hasDropped(place) { endDropping(place) }
        for offset in 1...lanes.count {
            let lane = (lastLooked + offset) % lanes.count
            guard !lanes[lane].spilled.isEmpty, lanes[lane].loading == 0, isQuiet(lane) else { continue }
            lastLooked = lane
            lookedAt = lane
            let limit = min(policy.look, max(1, policy.loadedBytes / 8 / lanes[lane].typicalCost))
            let seqs = lanes[lane].spilled.look(limit)
            lanes[lane].loading = seqs.count
            loading += seqs.count
            actions.loads.append(RouterActions.LoadRequest(lane: lane, seqs: seqs))
            return
        }
    }

    /// Nothing goes out of it for now. One that holds nothing may be kept from it by others, which use the pool up.
    func isQuiet(_ lane: Int) -> Bool {
        let place = place(ofLane: lane)
        return !apps[place].hasGate || isStalled(lane) || (lanes[lane].held == 0 && apps[place].credit == 0)
    }

    /// Ends those that have expired. The others go on waiting where they were, and do not come into the memory.
    mutating func looked(at messages: [AcceptedMessage], of lane: Int, unread: [UInt64]) {
        lookedAt = nil
        var rest: [UInt64] = []
        var ended = 0
        for message in messages {
            let held = HeldMessage(message, lane: lane)
            lanes[lane].saw(cost: held.cost)
            if isExpired(held) {
                // One that has had its say in part is claimed on the way, and expires then.
                begin(add(held))
                ended += 1
            } else {
                rest.append(message.seq)
            }
        }
        lanes[lane].spilled.pass(rest)
        lanes[lane].spilled.unlook(unread)
        // Where most have, there are likely more.
        if ended * 2 > messages.count { sweepAt = now }
    }

    // MARK: Dropping

    func isDropped(_ message: Int) -> Bool {
        droppedApps > 0
            && isDropped(messages[message].accepted, place: place(ofLane: messages[message].lane))
    }

    private func isDropped(_ accepted: AcceptedMessage, place: Int) -> Bool {
        guard let drop = apps[place].drop, !apps[place].hasGate else { return false }
        return accepted.seq <= drop.upTo && (accepted.message.notBefore ?? .min) <= drop.at
    }

    /// Something of the message ends. Where that is because it is dropped, its end says so.
    mutating func noteDrop(_ message: Int) {
        if isDropped(message) { failures[message] = .dropped }
    }

    /// Whatever waits of an app without a gateway ends now, as if its time were over. Returns how many messages those are;
    /// nil for an app that has a gateway, or of which nothing ever came.
    ///
    /// What is accepted from then on waits. A process that is stopped meanwhile forgets that it was to drop the rest.
    package mutating func drop(_ app: AppID) -> Int? {
        guard let place = apps.firstIndex(where: { $0.app == app }), !apps[place].hasGate else { return nil }
        let count = waitingMessages(at: place)
        if count > 0 {
            if apps[place].drop == nil { droppedApps += 1 }
            apps[place].drop = AppLine.Drop(upTo: newest, at: wall.seconds)
        }
        sweepAt = now
        return count
    }

    /// In the lanes of an app, with those that are being looked up or sent.
    private func waitingMessages(at place: Int) -> Int {
        lanesOf(place).reduce(0) { $0 + lanes[$1].spilled.count + lanes[$1].loading + lanes[$1].held }
    }

    mutating func endDropping(_ place: Int) {
        guard apps[place].drop != nil else { return }
        apps[place].drop = nil
        droppedApps -= 1
    }

    func hasDropped(_ place: Int) -> Bool { apps[place].drop != nil && waitingMessages(at: place) == 0 }
}
