package import PushModel
import PushTime

/// The outcomes of deliveries, as gateways report them.
extension RouterMachine {
    /// Takes the outcomes and the credit that a gateway reports.
    package mutating func reported(_ report: GatewayReport) {
        let place = place(of: report.app)
        reserveRecords(report.deliveries.count)
        for delivery in report.deliveries { ended(delivery, place) }
        heard(report.source, taken: report.taken, window: report.taken + UInt64(max(0, report.credit)), place)
        apps[place].isDirty = true
    }

    /// Updates the credit of the current gateway. Credit of another gateway is only remembered: it is being replaced,
    /// or it is the next one and reports early.
    private mutating func heard(_ source: ObjectIdentifier?, taken: UInt64, window: UInt64, _ place: Int) {
        if let source, source != apps[place].gate {
            apps[place].heardEarly(source, window: window)
        } else if taken <= apps[place].submitted {
            apps[place].window = window
        }
    }

    private mutating func ended(_ report: DeliveryReport, _ place: Int) {
        let delivery = report.delivery
        guard let slot = deliveries.place(of: delivery.ticket), deliveries.slots[slot].isOut else {
            surplus += 1
            return
        }
        apps[place].out -= 1
        let isOnce = delivery.message.expiresAt == 0
        switch report.outcome {
        case .accepted(let uniqueID): end(delivery, slot, place, .sent(uniqueID: uniqueID))
        case .rejected(let refusal, let deactivates):
            if deactivates { suspect(delivery, slot, refusal) }
            end(delivery, slot, place, .rejected(refusal))
        case .expired: end(delivery, slot, place, .expired)
        case .retry(let delay, let refusal):
            // A message with `expires_at` 0 has only one attempt.
            if isOnce { return end(delivery, slot, place, .rejected(refusal)) }
            note(.retry(refusal, after: delay), delivery, slot)
            retryLater(delivery, slot, place, delay)
        case .unknown(let cause):
            if isOnce || delivery.message.onUnknown == .drop {
                return end(delivery, slot, place, .unknown(cause, isFinal: true))
            }
            note(.unknown(cause, isFinal: false), delivery, slot)
            again(delivery, slot)
        case .returned: again(delivery, slot)
        }
    }

    /// Ends a delivery for good.
    private mutating func end(_ delivery: Delivery, _ slot: Int, _ place: Int, _ what: DeliveryRecord.What) {
        let message = Int(deliveries.slots[slot].message)
        let record = note(what, delivery, slot)
        deliveries.remove(slot)
        apps[place].underWay -= 1
        if let end = record.end { messages[message].counts.add(end) }
        messages[message].open -= 1
        if messages[message].open == 0, messages[message].isThrough { complete(message) }
    }

    @discardableResult
    private mutating func note(
        _ what: DeliveryRecord.What, _ delivery: Delivery, _ slot: Int
    ) -> DeliveryRecord {
        let message = Int(deliveries.slots[slot].message)
        let accepted = messages[message].accepted
        let record = DeliveryRecord(
            seq: accepted.seq, fingerprint: accepted.fingerprint, acceptedAt: accepted.acceptedAt,
            message: delivery.message, device: deliveries.slots[slot].device, apnsID: delivery.apnsID,
            attempt: delivery.attempt, what: what)
        actions.records.append(record)
        return record
    }

    /// Proposes to deactivate the device of a refused delivery.
    private mutating func suspect(_ delivery: Delivery, _ slot: Int, _ refusal: Refusal) {
        actions.candidates.append(
            DeactivationCandidate(
                device: deliveries.slots[slot].device, app: delivery.message.app, reason: refusal.reason,
                evidenceAt: refusal.timestamp ?? deliveries.slots[slot].givenAt, apnsID: delivery.apnsID,
                messageID: delivery.message.id))
    }

    // MARK: Another attempt

    /// Queues a delivery that is to be sent again at once.
    private mutating func again(_ delivery: Delivery, _ slot: Int) {
        deliveries.cameBack(slot)
        let lane = messages[Int(deliveries.slots[slot].message)].lane
        lanes[lane].again.append(delivery)
        apps[place(ofLane: lane)].isDirty = true
    }

    /// Schedules a delivery that is to be sent again after a delay.
    private mutating func retryLater(_ delivery: Delivery, _ slot: Int, _ place: Int, _ delay: Duration) {
        deliveries.cameBack(slot)
        apps[place].retrying += 1
        // A delivery that expires earlier is woken at that time, so that its end is recorded then.
        let wait = min(delay, timeLeft(Int(deliveries.slots[slot].message)))
        retries.add(delivery, at: now + wait)
    }

    /// Queues a delivery whose retry is due, or ends it if it has expired.
    mutating func retryIsDue(_ delivery: Delivery) {
        guard let slot = deliveries.place(of: delivery.ticket) else {
            preconditionFailure("router: unknown delivery among the retries")
        }
        let lane = messages[Int(deliveries.slots[slot].message)].lane
        apps[place(ofLane: lane)].retrying -= 1
        if !expireIfDue(delivery) { again(delivery, slot) }
    }

    /// Ends a delivery that waits to be sent again if it has expired. Returns whether it did.
    mutating func expireIfDue(_ delivery: Delivery) -> Bool {
        guard let slot = deliveries.place(of: delivery.ticket) else { return false }
        let message = Int(deliveries.slots[slot].message)
        guard isExpired(message) else { return false }
        noteDrop(message)
        end(delivery, slot, place(ofLane: messages[message].lane), .expired)
        return true
    }
}
