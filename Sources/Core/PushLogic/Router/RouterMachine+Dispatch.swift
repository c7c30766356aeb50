import PushModel
import PushTime

/// The way from ready messages to a gateway that has credit.
extension RouterMachine {
    /// Sends what the gateway of an app may take. Returns true if more could be sent at once; the other apps have their
    /// turn first.
    mutating func dispatch(_ app: AppIndex) -> Bool {
        apps[app].isDirty = false
        guard apps[app].hasGate else { return false }
        for lane in app.lanes { advance(lane) }
        let credit = apps[app].credit
        guard credit > 0 else { return false }

        var batch: [Delivery] = []
        var work = policy.appQuantum
        while work > 0, batch.count < credit {
            let waiting = waitingLanes(of: app)
            guard let turn = apps[app].turns.next(waiting) else { break }
            var limit = min(turn.limit, credit - batch.count, work)
            let before = batch.count
            let lane = LaneID(app: app, kind: turn.lane)
            var scanned = 0
            if turn.isRetry {
                scanned = sendRetries(of: lane, limit: limit, to: &batch)
            } else {
                limit = min(limit, policy.underWay - apps[app].underWay)
                scanned = sendFresh(of: lane, limit: limit, to: &batch)
            }
            work -= max(1, scanned)
            if batch.count > before { lanes[lane].movedAt = now }
            apps[app].turns.served(turn, count: batch.count - before, while: waiting)
        }
        for lane in app.lanes { advance(lane) }
        if !batch.isEmpty {
            apps[app].submitted += UInt64(batch.count)
            apps[app].out += batch.count
            apps[app].unanswered.add(wall, count: batch.count)
            actions.submissions.append(RouterActions.Submission(app: app, deliveries: batch))
        }
        guard work <= 0, batch.count < credit else { return false }
        apps[app].isDirty = true
        return true
    }

    /// Begins as many messages as may be begun, and reads back the ones after them.
    private mutating func advance(_ lane: LaneID) {
        while !lanes[lane].loaded.isEmpty, mayBegin(lane), let message = lanes[lane].loaded.popFirst() {
            begin(message)
        }
        if !lanes[lane].spilled.isEmpty { loadIfNeeded(lane) }
    }

    /// Returns the lanes of an app that could send now.
    private mutating func waitingLanes(of app: AppIndex) -> LaneTurns.Waiting {
        var waiting = LaneTurns.Waiting()
        let hasRoom = apps[app].underWay < policy.underWay
        for lane in app.lanes {
            if hasRoom {
                if lanes[lane].ready.isEmpty, !lanes[lane].loaded.isEmpty { advance(lane) }
                if !lanes[lane].ready.isEmpty { waiting.fresh |= lane.kind.bit }
            }
            if !lanes[lane].retryQueue.isEmpty { waiting.retries |= lane.kind.bit }
        }
        return waiting
    }

    /// Sends first attempts. Returns the number of messages and devices that were looked at.
    private mutating func sendFresh(of lane: LaneID, limit: Int, to batch: inout [Delivery]) -> Int {
        let full = batch.count + limit
        var scanned = 0
        while batch.count < full, scanned < limit, let message = lanes[lane].ready.popFirst() {
            scanned += 1
            let end = end(of: message)
            if wall >= end {
                expireReady(message)
            } else if let successor = successor(of: message) {
                endSearch(of: message, as: successor)
            } else if messages[message].fanOut != nil {
                scanned += sendPage(of: message, limit: full - batch.count, until: end, to: &batch)
            } else if let token = messages[message].onlyToken {
                sendOnly(message, to: token, until: end, batch: &batch)
            }
        }
        apps[lane.app].underWay += batch.count + limit - full
        return scanned
    }

    /// Sends a message to a single token that needs no claim.
    private mutating func sendOnly(
        _ message: MessageHandle, to token: Address, until end: WallTime, batch: inout [Delivery]
    ) {
        let content = messages[message].accepted.message
        let device = identities.device(of: content.app, token: token)
        let foundAt = messages[message].foundAt
        if let outcome = obstacle(to: device) ?? otherOwner(of: device, foundAt: foundAt, for: message) {
            report(FanOut.Unsent(device, token: token, outcome), of: message)
        } else {
            let id = DeliveryID.derived(app: content.app, message: content.id, token: token)
            let handle = deliveries.add(OpenDelivery(to: device, of: message, foundAt: foundAt, givenAt: wall))
            batch.append(
                Delivery(ticket: handle.ticket, message: content, token: token, deliveryID: id, deadline: end.roundedUp)
            )
            messages[message].open = 1
        }
        settle(message)
    }

    /// Sends at most `limit` deliveries of the message's page. If devices are left, a broad message goes to the end of
    /// the queue, and a brief one to the front. Returns the number of devices that were looked at.
    private mutating func sendPage(
        of message: MessageHandle, limit: Int, until end: WallTime, to batch: inout [Delivery]
    ) -> Int {
        guard let page = messages[message].fanOut?.rest.prefix(limit), let foundAt = messages[message].fanOut?.foundAt
        else { return 0 }
        let content = messages[message].accepted.message
        messages[message].givenAt = wall
        // The time of a message for a single attempt begins anew with this page.
        let deadline = (content.expiry.isSingleAttempt ? self.end(of: message) : end).roundedUp
        // Devices may have been deactivated, or given to another user, while the page waited for credit.
        let asksAgain = !inactive.isEmpty || suppressed.ownerChanges.latest != foundAt
        var suppressedCount = 0
        // Consecutive devices mostly get the same form.
        var variant = page.first?.variant ?? 0
        var form = content.form(variant)
        for device in page {
            if asksAgain, let outcome = suppression(of: device.id, foundAt: foundAt, for: message) {
                report(FanOut.Unsent(device, outcome), of: message)
                // Nothing else releases the claim: the key of a suppressed delivery does not hold it.
                actions.release(device.id, of: messages[message].accepted)
                suppressedCount += 1
                continue
            }
            let id = DeliveryID.derived(app: content.app, message: content.id, token: device.token)
            let handle = deliveries.add(OpenDelivery(to: device.id, of: message, foundAt: foundAt, givenAt: wall))
            if device.variant != variant {
                variant = device.variant
                form = content.form(variant)
            }
            batch.append(
                Delivery(
                    ticket: handle.ticket, message: form, token: device.token, deliveryID: id,
                    deadline: deadline))
        }
        messages[message].open += page.count - suppressedCount
        let lane = messages[message].lane
        lanes[lane].prepared -= page.count
        let isPageDone = messages[message].fanOut?.finish(page.count) == true
        if messages[message].fanOut?.left ?? 0 > 0 {
            // One with many devices left, as of a user, takes turns with the others.
            let isFirst = lane.isBrief && messages[message].fanOut?.left ?? 0 <= Lane.briefLimit
            if isFirst { lanes[lane].ready.prepend(message) } else { lanes[lane].ready.append(message) }
        }
        // The message may be complete afterward.
        if isPageDone { continueSearch(for: message) }
        return page.count
    }

    /// Sends deliveries that are to be sent again. Returns the number that was looked at.
    private mutating func sendRetries(of lane: LaneID, limit: Int, to batch: inout [Delivery]) -> Int {
        var scanned = 0
        while scanned < limit, let delivery = lanes[lane].retryQueue.popFirst() {
            scanned += 1
            if endIfLate(delivery) || endIfSuppressed(delivery) { continue }
            deliveries[delivery.handle].isOut = true
            deliveries[delivery.handle].givenAt = wall
            batch.append(delivery)
        }
        return scanned
    }
}
