package import PushModel
import PushTime

/// The outcomes of deliveries, as gateways report them.
extension RouterMachine {
    /// Takes the outcomes and the credit that a gateway reports.
    package mutating func reported(_ report: GatewayReport) {
        let app = index(of: report.app)
        reserveRecords(report.deliveries.count)
        var answers = ProviderAnswers(app: report.app)
        // They are read in place: a copy of one retains all that it refers to.
        let deliveries = report.deliveries.span
        for index in deliveries.indices {
            if deliveries[index].outcome?.isAnswer == true { answers.count += 1 }
            take(deliveries[index], of: app, candidates: &answers.candidates)
        }
        if !answers.isEmpty { actions.answers.append(answers) }
        if report.source == nil || report.source == apps[app].gate {
            apps[app].recalled = max(apps[app].recalled, report.recalled)
        }
        updateWindow(
            of: app, to: report.taken + UInt64(max(0, report.credit)), taken: report.taken, source: report.source)
        apps[app].isDirty = true
    }

    /// Updates the credit of the current gateway. Credit of another gateway is only remembered: it is being replaced,
    /// or it is the next one and reports early.
    private mutating func updateWindow(
        of app: AppIndex, to window: UInt64, taken: UInt64, source: ObjectIdentifier?
    ) {
        if let source, source != apps[app].gate {
            apps[app].remember(window: window, of: source)
        } else if taken <= apps[app].submitted {
            apps[app].window = window
        }
    }

    /// Takes the outcome of one delivery. Adds the device to `candidates` if it is to be deactivated.
    private mutating func take(
        _ report: DeliveryReport, of app: AppIndex, candidates: inout [Deactivation]
    ) {
        let delivery = report.delivery
        guard deliveries.contains(delivery.handle), deliveries[delivery.handle].isOut else {
            counts.surplus += 1
            return
        }
        apps[app].out -= 1
        let givenAt = deliveries[delivery.handle].givenAt
        apps[app].unanswered.remove(givenAt)
        switch report.outcome {
        case nil where isStopped(delivery): dropDelivery(delivery)
        case nil:
            if let successor = successor(of: delivery) { return end(delivery, as: successor, of: app) }
            retryNow(delivery)
        case .retry(let refusal, let delay)?:
            record(.retry(refusal, after: delay), of: delivery)
            if isStopped(delivery) { return dropDelivery(delivery) }
            if let successor = successor(of: delivery) { return end(delivery, as: successor, of: app) }
            retry(delivery, after: delay, of: app)
        case .unknown(let cause, isFinal: false)?: answerLost(delivery, because: cause, of: app)
        case let outcome?:
            if case .rejected(let refusal, deactivates: let end?) = outcome {
                candidates.append(candidate(after: refusal, as: end, of: delivery))
            } else if delivery.message.kind == .activity, case .sent = outcome {
                activityTaken(delivery, candidates: &candidates)
            }
            end(delivery, as: outcome, of: app)
        }
    }

    /// Takes an attempt whose answer was lost. The service may have processed it, so that each further attempt may be a
    /// duplicate: they follow at growing intervals, and their number is limited.
    private mutating func answerLost(_ delivery: Delivery, because cause: UnknownCause, of app: AppIndex) {
        let lost = deliveries[delivery.handle].lostAnswers + 1
        deliveries[delivery.handle].lostAnswers = lost
        if lost >= policy.maxLostAnswers || isCancelled(delivery) || successor(of: delivery) != nil {
            return end(delivery, as: .unknown(cause, isFinal: true), of: app)
        }
        record(.unknown(cause, isFinal: false), of: delivery)
        if isStopped(delivery) { return dropDelivery(delivery) }
        // The id is a hash, so that deliveries which lost their answers together are not sent together.
        let spread = Double(delivery.deliveryID.low & 0xffff) / 65_536
        retry(
            delivery, after: policy.lostAnswerBackoff.delay(afterFailures: Int(lost), random: spread), of: app)
    }

    /// The push service has taken a message to a Live Activity: its address lives on, or ends with the activity.
    private mutating func activityTaken(_ delivery: Delivery, candidates: inout [Deactivation]) {
        let open = deliveries[delivery.handle]
        guard delivery.message.activity?.event == .end else { return actions.updated.append(open.device) }
        candidates.append(
            Deactivation.endOfActivity(
                at: open.device, app: delivery.message.app, evidence: open.givenAt, messageID: delivery.message.id,
                deliveryID: delivery.deliveryID))
    }

    /// Ends a delivery for good.
    private mutating func end(_ delivery: Delivery, as outcome: DeliveryOutcome, of app: AppIndex) {
        let message = deliveries[delivery.handle].message
        record(outcome, of: delivery)
        deliveries.remove(delivery.handle)
        apps[app].underWay -= 1
        if let final = outcome.final { messages[message].counts.add(final) }
        messages[message].open -= 1
        if messages[message].open == 0, messages[message].isAllDispatched { complete(message) }
    }

    private mutating func record(_ outcome: DeliveryOutcome, of delivery: Delivery) {
        let message = deliveries[delivery.handle].message
        actions.records.append(
            DeliveryRecord(
                seq: messages[message].accepted.seq, fingerprint: messages[message].accepted.fingerprint,
                acceptedAt: messages[message].accepted.acceptedAt, message: messages[message].accepted.message,
                device: deliveries[delivery.handle].device, deliveryID: delivery.deliveryID, attempt: delivery.attempt,
                outcome: outcome))
    }

    /// Returns the proposal to deactivate the device of a refused delivery.
    private func candidate(after refusal: Refusal, as end: DeviceEnd, of delivery: Delivery) -> Deactivation {
        let (message, device) = (delivery.message, deliveries[delivery.handle].device)
        let evidence = refusal.timestamp ?? deliveries[delivery.handle].givenAt
        // The address of a Live Activity ends with it, which users do every day.
        if end == .gone, message.kind == .activity {
            return .endOfActivity(
                at: device, app: message.app, evidence: evidence, messageID: message.id,
                deliveryID: delivery.deliveryID)
        }
        var candidate = Deactivation(
            of: device, app: message.app, reason: refusal.reason?.rawValue, evidence: evidence, messageID: message.id,
            deliveryID: delivery.deliveryID, isMisdirected: end == .misdirected)
        if end == .replaceable { candidate.refused = delivery.token }
        return candidate
    }

    // MARK: Another attempt

    /// Queues a delivery that is to be sent again at once.
    private mutating func retryNow(_ delivery: Delivery) {
        deliveries[delivery.handle].isOut = false
        let lane = lane(of: delivery)
        lanes[lane].retryQueue.append(delivery)
        apps[lane.app].isDirty = true
    }

    /// Schedules a delivery that is to be sent again after a delay.
    private mutating func retry(_ delivery: Delivery, after delay: Duration, of app: AppIndex) {
        deliveries[delivery.handle].isOut = false
        apps[app].retrying += 1
        // A delivery that expires earlier is woken at that time, so that its end is recorded then.
        let wait = min(delay, timeLeft(deliveries[delivery.handle].message))
        retries.add(delivery, at: now + wait)
    }

    /// Queues a delivery whose retry is due, or ends it if it has expired.
    mutating func retryIsDue(_ delivery: Delivery) {
        apps[lane(of: delivery).app].retrying -= 1
        if !endIfLate(delivery) { retryNow(delivery) }
    }

    /// Ends a delivery that waits to be sent again if it has expired, or if a newer one takes its place. Returns whether it
    /// did.
    mutating func endIfLate(_ delivery: Delivery) -> Bool {
        let message = deliveries[delivery.handle].message
        let successor = successor(of: message)
        guard successor != nil || isExpired(message) else { return false }
        if successor == nil { noteDrop(message) }
        end(delivery, as: successor ?? .expired, of: messages[message].lane.app)
        return true
    }

    /// Ends a delivery that waits to be sent again if the device was deactivated, removed or given to another user
    /// meanwhile. Returns whether it did.
    mutating func endIfSuppressed(_ delivery: Delivery) -> Bool {
        let open = deliveries[delivery.handle]
        guard let outcome = suppression(of: open.device, foundAt: open.foundAt, for: open.message) else { return false }
        // As for a first attempt, unless an earlier one may have reached the device.
        if open.lostAnswers == 0 { actions.release(open.device, of: messages[open.message].accepted) }
        end(delivery, as: outcome, of: messages[open.message].lane.app)
        return true
    }

    private func lane(of delivery: Delivery) -> LaneID { messages[deliveries[delivery.handle].message].lane }
}
