import PushModel

/// The way from ready messages to a gateway that has credit.
extension RouterMachine {
    /// Sends what the gateway of an app may take. Returns true if more could be sent at once; the other apps have their
    /// turn first.
    mutating func dispatch(_ place: Int) -> Bool {
        apps[place].isDirty = false
        guard apps[place].hasGate else { return false }
        let own = lanesOf(place)
        for lane in own { advance(lane) }
        let credit = apps[place].credit
        guard credit > 0 else { return false }

        var batch: [Delivery] = []
        var work = policy.appQuantum
        while work > 0, batch.count < credit {
            let waiting = waiting(at: place)
            guard let turn = apps[place].turns.next(waiting) else { break }
            var limit = min(turn.limit, credit - batch.count, work)
            let before = batch.count
            let lane = own.lowerBound + turn.lane
            var looked = 0
            if turn.isAgain {
                looked = sendAgain(lane, limit, place, &batch)
            } else {
                limit = min(limit, policy.underWay - apps[place].underWay)
                looked = sendFresh(lane, limit, place, &batch)
            }
            work -= max(1, looked)
            if batch.count > before { lanes[lane].movedAt = now }
            apps[place].turns.served(turn, count: batch.count - before, while: waiting)
        }
        for lane in own { advance(lane) }
        if !batch.isEmpty {
            apps[place].submitted += UInt64(batch.count)
            apps[place].out += batch.count
            actions.submissions.append(RouterActions.Submission(place: place, deliveries: batch))
        }
        guard work <= 0, batch.count < credit else { return false }
        apps[place].isDirty = true
        return true
    }

    /// Begins as many messages as may be begun, and reads back the ones after them.
    private mutating func advance(_ lane: Int) {
        while !lanes[lane].loaded.isEmpty, mayBegin(lane), let message = lanes[lane].loaded.popFirst() {
            begin(message)
        }
        if !lanes[lane].spilled.isEmpty { loadIfNeeded(lane) }
    }

    /// Returns the lanes of an app that could send now.
    private mutating func waiting(at place: Int) -> LaneTurns.Waiting {
        var waiting = LaneTurns.Waiting()
        let hasRoom = apps[place].underWay < policy.underWay
        for (number, lane) in lanesOf(place).enumerated() {
            if hasRoom {
                if lanes[lane].ready.isEmpty, !lanes[lane].loaded.isEmpty { advance(lane) }
                if !lanes[lane].ready.isEmpty { waiting.fresh |= 1 << number }
            }
            if !lanes[lane].again.isEmpty { waiting.again |= 1 << number }
        }
        return waiting
    }

    /// Sends first attempts. Returns the number of messages and devices that were looked at.
    private mutating func sendFresh(_ lane: Int, _ limit: Int, _ place: Int, _ batch: inout [Delivery]) -> Int {
        let end = batch.count + limit
        var looked = 0
        while batch.count < end, looked < limit, let message = lanes[lane].ready.popFirst() {
            looked += 1
            if isExpired(message) {
                expireReady(message)
            } else if let fan = messages[message].fanOut {
                looked += sendPage(message, fan, end - batch.count, &batch)
            } else if let token = messages[message].onlyToken {
                sendOnly(message, token, &batch)
            }
        }
        apps[place].underWay += batch.count + limit - end
        return looked
    }

    /// Sends a message to a single token that needs no claim.
    private mutating func sendOnly(_ message: Int, _ token: DeviceToken, _ batch: inout [Delivery]) {
        let content = messages[message].accepted.message
        let device = identities.device(of: content.app, token: token)
        if !inactive.isEmpty, inactive.contains(device) {
            suppress(FanOut.Gone(device: device, token: token, why: .inactive), of: message)
        } else {
            let id = APNSID.derived(app: content.app, message: content.id, token: token)
            let ticket = deliveries.add(device, of: message, givenAt: wall.milliseconds)
            let latestStart = content.expiresAt == 0 ? latestStart(of: message) : 0
            batch.append(
                Delivery(ticket: ticket, message: content, token: token, apnsID: id, latestStart: latestStart))
            messages[message].open = 1
        }
        settle(message)
    }

    /// Sends at most `limit` deliveries of the message's page. If devices are left, a broad message goes to the end of
    /// the queue, and a brief one to the front. Returns the number of devices that were looked at.
    private mutating func sendPage(_ message: Int, _ fan: FanOut, _ limit: Int, _ batch: inout [Delivery]) -> Int {
        fan.isReady = false
        let content = messages[message].accepted.message
        let count = min(limit, fan.left)
        let page = fan.page
        messages[message].givenAt = wall.milliseconds
        let latestStart = content.expiresAt == 0 ? latestStart(of: message) : 0
        // Devices may have been deactivated while the page waited for credit.
        let asksInactive = !inactive.isEmpty
        var gone = 0
        for place in fan.at..<fan.at + count {
            let device = page[place]
            if asksInactive, inactive.contains(device.id) {
                suppress(FanOut.Gone(device: device.id, token: device.token, why: .inactive), of: message)
                gone += 1
                continue
            }
            let id = APNSID.derived(app: content.app, message: content.id, token: device.token)
            let ticket = deliveries.add(device.id, of: message, givenAt: wall.milliseconds)
            batch.append(
                Delivery(ticket: ticket, message: content, token: device.token, apnsID: id, latestStart: latestStart))
        }
        fan.at += count
        messages[message].open += count - gone
        let lane = messages[message].lane
        lanes[lane].prepared -= count
        if fan.left == 0 { turnPage(message, fan) }
        guard fan.left > 0 else {
            if isWaiting(message, fan) { settle(message) }
            return count
        }
        // `turnPage` may already have prepared a page and queued the message.
        if fan.isReady { return count }
        fan.isReady = true
        if lane & 1 == 0 { lanes[lane].ready.prepend(message) } else { lanes[lane].ready.append(message) }
        return count
    }

    /// Sends deliveries that are to be sent again. Returns the number that was looked at.
    private mutating func sendAgain(_ lane: Int, _ limit: Int, _ place: Int, _ batch: inout [Delivery]) -> Int {
        var looked = 0
        while looked < limit, let delivery = lanes[lane].again.popFirst() {
            looked += 1
            if expireIfDue(delivery) { continue }
            guard let slot = deliveries.place(of: delivery.ticket) else {
                preconditionFailure("router: unknown delivery in the queue of deliveries to send again")
            }
            deliveries.gave(slot, at: wall.milliseconds)
            batch.append(delivery)
        }
        return looked
    }
}
