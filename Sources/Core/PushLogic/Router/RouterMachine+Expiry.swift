package import PushModel
import PushTime

/// The end of expired messages: they are not sent, and an `expired` record is written for each delivery.
extension RouterMachine {
    func isExpired(_ message: MessageHandle) -> Bool { wall >= end(of: message) }

    /// Returns the same for a message that was not added to those in memory.
    private func isExpired(_ held: HeldMessage) -> Bool {
        isDropped(held.accepted, of: held.lane.app)
            || wall
                >= held.accepted.message.expiry.end(from: held.begin, lastSentAt: held.givenAt, under: policy.expiry)
    }

    /// Returns the time that the message may still wait.
    func timeLeft(_ message: MessageHandle) -> Duration {
        .milliseconds(max(0, end(of: message).milliseconds(since: wall)))
    }

    /// Returns the time from which on it is too late for an attempt: at once if an operator dropped the message.
    func end(of message: MessageHandle) -> WallTime {
        if isDropped(message) { return .distantPast }
        // Single fields are read because a copy of the whole message would be retained and released for each delivery.
        return messages[message].accepted.message.expiry.end(
            from: messages[message].begin, lastSentAt: messages[message].givenAt, under: policy.expiry)
    }

    /// Ends a message that is not begun. Returns false if some of its deliveries ended before a restart and only claims
    /// can tell which: such a message is begun and expires then.
    mutating func expireWhole(_ message: MessageHandle) -> Bool {
        let accepted = messages[message].accepted
        if accepted.isDynamic {
            noteDrop(message)
            if let activity = messages[message].activity { countExpired(message, to: activity) }
            complete(message, isExpired: messages[message].counts.total == 0)
            return true
        }
        if accepted.counts.total > 0 { return false }
        noteDrop(message)
        expiry.messages.append(message)
        return true
    }

    /// The maximum number of devices that expire in one tick. A message may name a hundred thousand.
    private static let expiringPerTick = 4096

    /// Records some devices of the messages in ``expiry``.
    mutating func expireSome() {
        var left = Self.expiringPerTick
        while left > 0, let message = expiry.messages.first {
            let accepted = messages[message].accepted
            var scan = expiry.scan.take() ?? AudienceScan(count: accepted.audience.named ?? 0)
            let range = scan.advance(by: left)
            left -= range.count
            switch accepted.audience {
            case .tokens(let tokens):
                for token in tokens[range] {
                    let device = identities.device(of: accepted.message.app, token: token)
                    if scan.insert(device) { expireUnsent(message, device: device, token: token) }
                }
            case .devices(let devices):
                for device in devices[range] where scan.insert(device) {
                    expireUnsent(message, device: device, token: nil)
                }
            case .users, .tags, .everyone, .activities: break
            }
            if scan.isComplete {
                _ = expiry.messages.popFirst()
                complete(message, isExpired: true)
            } else {
                expiry.scan = scan
            }
        }
    }

    private mutating func expireUnsent(_ message: MessageHandle, device: DeviceID, token: Address?) {
        actions.records.append(record(.expired, of: message, device: device, token: token))
        messages[message].counts.expired += 1
    }

    /// Expires the devices that were found and not sent to. The search for devices of a dynamic audience stops.
    mutating func expireRest(of message: MessageHandle) {
        if let token = messages[message].onlyToken, !messages[message].isAllDispatched {
            noteDrop(message)
            expireUnsent(
                message, device: identities.device(of: messages[message].accepted.message.app, token: token),
                token: token)
            return
        }
        guard let fanOut = messages[message].fanOut else { return }
        let (rest, next) = (fanOut.rest, fanOut.next)
        if rest.count + next.count > 0 { noteDrop(message) }
        lanes[messages[message].lane].prepared -= rest.count + next.count
        for device in rest { expireUnsent(message, device: device.id, token: device.token) }
        for device in next { expireUnsent(message, device: device.id, token: device.token) }
        messages[message].fanOut?.removeRest()
        if messages[message].accepted.isDynamic { messages[message].fanOut?.abandonSearch() }
    }

    /// Ends what has expired in the queues of a lane, which may not be sending for now.
    mutating func sweep(_ lane: LaneID) {
        for _ in 0..<lanes[lane].loaded.count {
            guard let message = lanes[lane].loaded.popFirst() else { break }
            if messages[message].activity != nil, isExpired(message) || successor(of: message) != nil {
                begin(message)
            } else if !isExpired(message) || !expireWhole(message) {
                lanes[lane].loaded.append(message)
            }
        }
        for _ in 0..<lanes[lane].ready.count {
            guard let message = lanes[lane].ready.popFirst() else { break }
            if isExpired(message) { expireReady(message) } else { lanes[lane].ready.append(message) }
        }
        for _ in 0..<lanes[lane].retryQueue.count {
            guard let delivery = lanes[lane].retryQueue.popFirst() else { break }
            if !endIfLate(delivery) { lanes[lane].retryQueue.append(delivery) }
        }
        apps[lane.app].isDirty = true
    }

    /// Expires a message that was taken from the `ready` queue.
    mutating func expireReady(_ message: MessageHandle) {
        expireRest(of: message)
        guard messages[message].fanOut != nil else {
            // The message has a single token, which needed no search.
            lanes[messages[message].lane].begun -= 1
            return complete(message, isExpired: true)
        }
        // Named devices that were not looked at may have received the message before. They are claimed first and then
        // expire.
        continueSearch(for: message)
    }
}

/// The expiry of messages on disk. While a lane sends nothing, because its app has no gateway or it is stalled, its
/// messages are read a part at a time, and the expired ones end.
extension RouterMachine {
    /// Requests the next part of one lane, unless a part is being read already.
    mutating func lookForExpired() {
        guard look.lane == nil, lanes.count > 0, !ledgerRetry.isDelayed(at: now) else { return }
        for app in apps.all where hasDropped(app) { endDrop(of: app) }
        for offset in 1...lanes.count {
            let lane = LaneID(position: (look.last.position + offset) % lanes.count)
            guard !lanes[lane].spilled.isEmpty, lanes[lane].memory.loading == 0, isQuiet(lane) else { continue }
            look.last = lane
            return lookFurther(in: lane)
        }
    }

    /// Requests the next part of a lane.
    mutating func lookFurther(in lane: LaneID) {
        look.lane = lane
        if lane.kind == .activities, lanes[lane].spilled.beginsRound { lanes[lane].lookedUpTo = newest }
        let limit = min(policy.look, max(1, policy.loadedBytes / 8 / lanes[lane].memory.typicalCost))
        load(lanes[lane].spilled.look(limit), into: lane)
    }

    /// Returns whether the lane cannot send for now. A lane that holds nothing may be blocked by others that use up the
    /// pool.
    func isQuiet(_ lane: LaneID) -> Bool {
        let app = lane.app
        return !apps[app].hasGate || isStalled(lane) || (lanes[lane].memory.held == 0 && apps[app].credit == 0)
    }

    /// Ends the expired messages. The others stay on disk in their order. Reads on if the ledger has not read all.
    ///
    /// - Parameter cancelled: those that were cancelled while they were read.
    mutating func looked(
        at messages: [AcceptedMessage], _ cancelled: Set<UInt64>, of lane: LaneID, unread: [UInt64]
    ) {
        look.lane = nil
        var rest: [UInt64] = []
        var expired = 0
        for message in messages {
            let held = HeldMessage(message, lane: lane)
            lanes[lane].memory.noteCost(held.cost)
            if lanes[lane].isIndexing, !cancelled.contains(message.seq) { noteActivity(of: message) }
            let isExpired = isExpired(held)
            let ends = lane.kind == .activities ? endsOnDisk(held, isExpired: isExpired) : isExpired
            if ends || isExpired, !lanes[lane].isIndexing { expired += 1 }
            if ends, !cancelled.contains(message.seq) {
                // A partly completed message is claimed first and expires then.
                begin(add(held))
            } else {
                rest.append(message.seq)
            }
        }
        lanes[lane].spilled.pass(rest)
        // If most messages have expired, the next ones probably have too.
        if expired * 2 > messages.count { expiry.sweepAt = now }
        guard !unread.isEmpty, mayWork, isQuiet(lane), expiry.messages.isEmpty else {
            return lanes[lane].spilled.unlook(unread)
        }
        // The answer has ended early.
        look.lane = lane
        load(unread, into: lane)
    }

    // MARK: Dropping

    /// Returns whether an operator has dropped the message.
    func isDropped(_ message: MessageHandle) -> Bool {
        counts.droppedApps > 0
            && isDropped(messages[message].accepted, of: messages[message].lane.app)
    }

    private func isDropped(_ accepted: AcceptedMessage, of app: AppIndex) -> Bool {
        guard let drop = apps[app].drop, !apps[app].hasGate else { return false }
        return accepted.seq <= drop.upTo[EventNumber.part(of: accepted.seq)]
            && (accepted.message.notBefore.map { $0 <= drop.at } ?? true)
    }

    /// Records that the message ends because it is dropped, if it is.
    mutating func noteDrop(_ message: MessageHandle) {
        if isDropped(message) { failures[message] = .dropped }
    }

    /// Ends all waiting messages of an app without a gateway, as if they had expired. Returns their number, or nil if
    /// the app has a gateway or never had a message.
    ///
    /// Messages that are accepted later wait as usual. If the process stops before all messages have ended, the rest is
    /// not dropped.
    package mutating func drop(_ id: AppID) -> Int? {
        guard let app = apps.index(of: id), !apps[app].hasGate else { return nil }
        let count = waitingMessages(of: app)
        if count > 0 {
            if apps[app].drop == nil { counts.droppedApps += 1 }
            apps[app].drop = AppState.Drop(upTo: newest, at: wall.unixSeconds)
            unparkAll(of: app)
        }
        expiry.sweepAt = now
        return count
    }

    /// Returns the number of messages of an app that wait in its lanes or for an address, including those that are being
    /// looked up or sent.
    private func waitingMessages(of app: AppIndex) -> Int {
        app.lanes.reduce(activities.waiting[app] ?? 0) {
            $0 + lanes[$1].spilled.count + lanes[$1].memory.loading + lanes[$1].memory.held
        }
    }

    mutating func endDrop(of app: AppIndex) {
        guard apps[app].drop != nil else { return }
        apps[app].drop = nil
        counts.droppedApps -= 1
    }

    /// Returns whether a drop is complete: nothing of the app waits any more.
    func hasDropped(_ app: AppIndex) -> Bool { apps[app].drop != nil && waitingMessages(of: app) == 0 }
}

extension WallTime {
    /// The first whole second that is not before this time.
    var roundedUp: UnixSeconds { adding(milliseconds: 999).unixSeconds }
}
