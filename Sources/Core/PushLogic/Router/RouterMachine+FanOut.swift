package import PushModel
import PushTime

/// The way from a message to its devices: requests pages, suppresses devices, and claims the others.
extension RouterMachine {
    /// Begins a message.
    mutating func begin(_ message: MessageHandle) {
        let lane = messages[message].lane
        if let activity = messages[message].activity, !mayBegin(message, to: activity) { return }
        if messages[message].accepted.message.turn?.dropsLate == true,
            BegunTurn(of: messages[message].accepted)?.isDropped == true
        {
            return endUnaddressed(message, as: .expiredBecause(.late))
        }
        if isExpired(message), expireWhole(message) { return }
        lanes[lane].begun += 1
        messages[message].foundAt = suppressed.ownerChanges.latest
        if messages[message].onlyToken != nil {
            lanes[lane].ready.append(message)
        } else {
            search(for: message)
        }
    }

    /// Begins to look up the devices of a message.
    mutating func search(for message: MessageHandle) {
        let accepted = messages[message].accepted
        messages[message].fanOut = FanOut(for: accepted.audience, asksForNamed: accepted.message.asksForNamed)
        lookFurther(for: message)
    }

    /// Returns whether a lane may begin another message.
    func mayBegin(_ lane: LaneID) -> Bool {
        let begun = lanes[lane].begun
        let most = lane.isBrief ? policy.begunBrief : policy.begunSmall
        return begun < policy.begunAnyway || (begun < most && lanes[lane].prepared < policy.preparedFew)
    }

    /// Prepares the next page. If no more exist, completes the message if nothing is left to do. The message may be
    /// complete afterward.
    mutating func continueSearch(for message: MessageHandle) {
        if messages[message].fanOut?.isExhausted == true { settle(message) } else { lookFurther(for: message) }
    }

    /// Prepares the next page, unless one is being prepared or no more exist.
    private mutating func lookFurther(for message: MessageHandle) {
        guard messages[message].fanOut?.canLookFurther == true else { return }
        switch messages[message].accepted.audience {
        case .tokens(let tokens) where !messages[message].accepted.message.asksForNamed:
            takePage(of: tokens, for: message)
        case .tokens(let tokens): awaitPage(for: message, estimate: tokens.count)
        case .devices(let devices): awaitPage(for: message, estimate: devices.count)
        case .users(let users): awaitPage(for: message, estimate: 2 * users.count)
        case .activities(let names): awaitPage(for: message, estimate: names.count)
        case .tags, .everyone: awaitPage(for: message, estimate: policy.page)
        }
    }

    // MARK: Named tokens

    /// Takes the next page from the named tokens, without duplicates, inactive devices and those of other kinds. The
    /// registry holds in memory which ones are not for alerts; of messages of other kinds there are few, and it is asked.
    private mutating func takePage(of tokens: [Address], for message: MessageHandle) {
        guard var scan = messages[message].fanOut?.takeScan() else { return }
        let accepted = messages[message].accepted
        let app = accepted.message.app
        let isResumed = accepted.counts.total > 0
        let asks = !inactive.isEmpty || !ofOtherKinds.isEmpty
        var page = FanOut.FoundPage(foundAt: suppressed.ownerChanges.latest)
        while page.count == 0, !scan.isComplete {
            let range = scan.advance(by: policy.page)
            page.devices.reserveCapacity(range.count)
            for token in tokens[range] {
                let device = identities.device(of: app, token: token)
                if !scan.insert(device) { continue }
                if asks, let outcome = obstacle(to: device) {
                    let unsent = FanOut.Unsent(device, token: token, outcome)
                    if isResumed { page.unsent.append(unsent) } else { report(unsent, of: message) }
                } else {
                    page.devices.append(AudiencePage.Device(id: device, token: token))
                }
            }
        }
        messages[message].fanOut?.putBack(scan)
        claim(page, of: message)
    }

    /// Returns why an alert cannot be sent to a named device; nil if it can.
    func obstacle(to device: DeviceID) -> DeliveryOutcome? {
        if inactive.contains(device) { return suppression(of: device) }
        return ofOtherKinds.contains(device) ? .wrongKind : nil
    }

    // MARK: Pages of the registry

    /// Requests the next page, which has about `estimate` devices.
    private mutating func awaitPage(for message: MessageHandle, estimate: Int) {
        let reserved = min(policy.page, estimate)
        messages[message].fanOut?.beginPage(reserving: reserved)
        lanes[messages[message].lane].prepared += reserved
        if mayWork { askPage(for: message) } else { lookUps.pages.append(message) }
    }

    private mutating func askPage(for message: MessageHandle) {
        guard let query = messages[message].fanOut?.pageQuery else { return }
        messages[message].fanOut?.asked(at: suppressed.ownerChanges.latest)
        let accepted = messages[message].accepted
        let audience = suppressed.users.isEmpty ? accepted.audience : audience(of: accepted)
        actions.pages.append(
            RouterActions.PageRequest(
                message: message, audience: audience, app: accepted.message.app,
                kind: accepted.message.kind, activityType: accepted.message.activity?.type,
                wording: accepted.message.wording, preferred: accepted.message.preferred,
                turn: BegunTurn(of: accepted), after: query.after, limit: policy.page))
    }

    /// Takes note that a request for a page was not answered, and is made again now.
    package mutating func asksAgain(for message: MessageHandle) {
        messages[message].fanOut?.asked(at: suppressed.ownerChanges.latest)
    }

    /// Schedules the next request for a page after the registry failed. The delay grows with each failure; other
    /// messages are not delayed.
    package mutating func pageFailed(for message: MessageHandle, error: String) {
        guard
            let retry = messages[message].fanOut?.pageFailed(
                error, answers: lookUps.answers, at: now, backoff: policy.retryBackoff)
        else { preconditionFailure("router: page for message \(message), which did not request one") }
        if isStopped(message) {
            endPageRequest(of: message)
            messages[message].fanOut?.endSearch()
            return settle(message)
        }
        noteFailure(of: message, isAlone: retry.failsAlone)
        if !retry.failsAlone { lookUps.trouble = error }
        lookUps.pages.append(message)
        lookUps.pagesAt = min(lookUps.pagesAt ?? .distantFuture, retry.askAgainAt)
    }

    /// Completes a message with a failure because the registry can never resolve its audience. Deliveries that are
    /// under way end as usual.
    package mutating func pageRefused(for message: MessageHandle, reason: String) {
        endPageRequest(of: message)
        registryAnswered()
        failures[message] = .audience(reason)
        messages[message].fanOut?.endSearch()
        settle(message)
    }

    /// Ends the page request of a message, answered or not. Returns the latest change of owners when it was made.
    @discardableResult
    mutating func endPageRequest(of message: MessageHandle) -> UInt32 {
        let lane = messages[message].lane
        apps[lane.app].isDirty = true
        guard let query = messages[message].fanOut?.endPage() else {
            preconditionFailure("router: page for message \(message), which did not request one")
        }
        lanes[lane].prepared -= query.reserved
        noteFailure(of: message, isAlone: false)
        return query.askedAt
    }

    /// Adds a message to those whose own request fails, or removes it. If the list is full, a message is added when its
    /// request fails again after another one was removed.
    private mutating func noteFailure(of message: MessageHandle, isAlone: Bool) {
        let index = lookUps.failingAlone.firstIndex(of: message)
        if isAlone, index == nil, lookUps.failingAlone.count < RouterTroubles.maxMessages {
            lookUps.failingAlone.append(message)
        }
        if !isAlone, let index { lookUps.failingAlone.remove(at: index) }
    }

    /// Records that the registry answers. Requests that failed together with the registry are repeated at once.
    private mutating func registryAnswered() {
        lookUps.answers &+= 1
        guard lookUps.trouble != nil else { return }
        lookUps.trouble = nil
        for message in lookUps.pages { messages[message].fanOut?.retryPage(at: now) }
        lookUps.pagesAt = now
    }

    /// Takes a page that the registry found.
    package mutating func pageCame(_ page: AudiencePage, for message: MessageHandle) {
        let askedAt = endPageRequest(of: message)
        registryAnswered()
        guard messages[message].fanOut?.continueSearch(after: page.next) == true else { return settle(message) }
        messages[message].counts.addPreferred(page.outranked)
        if let activity = messages[message].activity, !hasAddress(page, for: message, of: activity) { return }

        var found = FanOut.FoundPage(foundAt: askedAt)
        for device in page.inactive { found.unsent.append(FanOut.Unsent(device, suppression(of: device))) }
        found.unsent += page.unknown.map { FanOut.Unsent($0, .suppressed(.unknownDevice)) }
        found.unsent += page.ofOtherKinds.map { FanOut.Unsent($0, .wrongKind) }
        if inactive.isEmpty {
            found.devices = page.devices
        } else {
            for device in page.devices {
                if inactive.contains(device.id) {
                    found.unsent.append(FanOut.Unsent(device, suppression(of: device.id)))
                } else {
                    found.devices.append(device)
                }
            }
        }
        if messages[message].accepted.counts.total == 0 {
            for unsent in found.unsent { report(unsent, of: message) }
            found.unsent = []
        }
        claim(found, of: message)
    }

    // MARK: Claims

    /// Claims the devices of a new page, or queues them at once if the message needs no claim.
    private mutating func claim(_ page: FanOut.FoundPage, of message: MessageHandle) {
        guard messages[message].accepted.needsClaim, page.count > 0 else {
            for unsent in page.unsent { report(unsent, of: message) }
            return queue(page.devices, foundAt: page.foundAt, of: message)
        }
        messages[message].fanOut?.beginClaim(of: page)
        if mayWork, !ledgerRetry.isDelayed(at: now) { askClaim(for: message) } else { lookUps.claims.append(message) }
    }

    private mutating func askClaim(for message: MessageHandle) {
        guard let page = messages[message].fanOut?.claiming else { return }
        let accepted = messages[message].accepted
        var devices: [DeviceID] = []
        devices.reserveCapacity(page.count)
        for device in page.devices { devices.append(device.id) }
        for unsent in page.unsent { devices.append(unsent.device) }
        actions.claims.append(
            ClaimPage(
                seq: accepted.seq, fingerprint: accepted.fingerprint, devices: devices,
                lookupCount: page.unsent.count))
        actions.claimants.append(message)
    }

    /// Takes the verdicts for claims, in the order of the claims. A claim whose verdicts are missing or do not match
    /// its devices is requested again.
    package mutating func claimed(_ verdicts: [[ClaimVerdict]], for messages: [MessageHandle]) {
        var failed = verdicts.count != messages.count
        for (index, message) in messages.enumerated() {
            guard let count = self.messages[message].fanOut?.claiming?.count else {
                preconditionFailure("router: verdict for message \(message), which did not request a claim")
            }
            apps[self.messages[message].lane.app].isDirty = true
            guard index < verdicts.count, verdicts[index].count == count else {
                // A part of the ledger that is being closed does not answer for its messages, which are stopped then.
                if isStopped(message) {
                    _ = self.messages[message].fanOut?.endClaim()
                    self.messages[message].fanOut?.endSearch()
                    settle(message)
                } else {
                    failed = true
                    lookUps.claims.append(message)
                }
                continue
            }
            apply(verdicts[index], to: message)
        }
        if failed {
            ledgerRetry.failed("the ledger did not answer a claim", at: now, backoff: policy.retryBackoff)
        } else {
            ledgerRetry.succeeded(at: now)
        }
    }

    /// Applies the verdicts to a page: suppresses duplicates and skips what ended before a restart.
    private mutating func apply(_ verdicts: [ClaimVerdict], to message: MessageHandle) {
        guard let page = messages[message].fanOut?.endClaim() else { return }
        if isStopped(message) { return dropClaimed(page, verdicts: verdicts, of: message) }
        for (index, unsent) in page.unsent.enumerated() where verdicts[page.devices.count + index] != .done {
            report(unsent, of: message)
        }
        guard verdicts.contains(where: { $0 != .new })
        else { return queue(page.devices, foundAt: page.foundAt, of: message) }
        var fresh: [AudiencePage.Device] = []
        for (index, device) in page.devices.enumerated() {
            switch verdicts[index] {
            case .new: fresh.append(device)
            case .had where device.mayHave: break
            case .had: report(FanOut.Unsent(device, .suppressed(.duplicate)), of: message)
            case .done: break
            }
        }
        queue(fresh, foundAt: page.foundAt, of: message)
    }

    /// Sends the requests that could not be sent before or were not answered.
    mutating func askWhatWaits() {
        if !lookUps.pages.isEmpty, lookUps.pagesAt.map({ $0 <= now }) ?? true { askPagesAgain() }
        if !lookUps.claims.isEmpty, !ledgerRetry.isDelayed(at: now) {
            for message in lookUps.claims { askClaim(for: message) }
            lookUps.claims = []
        }
    }

    private mutating func askPagesAgain() {
        var waiting: [MessageHandle] = []
        var asked = 0
        lookUps.pagesAt = nil
        for message in lookUps.pages {
            if messages[message].accepted.isDynamic, isExpired(message) {
                giveUp(message)
            } else if let at = messages[message].fanOut?.pageQuery?.retry?.askAgainAt, at > now {
                waiting.append(message)
                lookUps.pagesAt = min(lookUps.pagesAt ?? .distantFuture, at)
            } else {
                askPage(for: message)
                asked += 1
            }
        }
        lookUps.pages = waiting
        // No request is left whose answer could clear the error.
        if waiting.isEmpty, asked == 0 { lookUps.trouble = nil }
    }

    /// Stops the search of an expired message to a dynamic audience while the registry does not answer. Devices that
    /// were found stay in the queue and expire there.
    private mutating func giveUp(_ message: MessageHandle) {
        endPageRequest(of: message)
        messages[message].fanOut?.endSearch()
        noteDrop(message)
        let hasFoundNone = messages[message].fanOut?.isAllDispatched == true && messages[message].open == 0
        if hasFoundNone, let activity = messages[message].activity { countExpired(message, to: activity) }
        settle(message, isExpired: hasFoundNone && messages[message].counts.total == 0)
    }

    // MARK: Ready

    /// Queues the devices of a page that is looked up and claimed.
    private mutating func queue(_ page: [AudiencePage.Device], foundAt: UInt32, of message: MessageHandle) {
        let lane = messages[message].lane
        lanes[lane].prepared += page.count
        if isStopped(message) {
            lanes[lane].prepared -= page.count
            return dropFound(page, of: message)
        }
        if let successor = successor(of: message) {
            _ = messages[message].fanOut?.add(page, foundAt: foundAt)
            return endSearch(of: message, as: successor)
        }
        if messages[message].fanOut?.isAbandoned == true {
            _ = messages[message].fanOut?.add(page, foundAt: foundAt)
            expireRest(of: message)
            return settle(message)
        }
        if page.isEmpty { return continueSearch(for: message) }
        if messages[message].fanOut?.add(page, foundAt: foundAt) == true {
            lanes[lane].ready.append(message)
            lookFurther(for: message)
        }
    }

    /// Completes the message if nothing is left to do.
    ///
    /// - Parameter isExpired: Whether the message then expired before any device was found.
    mutating func settle(_ message: MessageHandle, isExpired: Bool = false) {
        if !messages[message].isAllDispatched {
            // A message to a single token has no search.
            if messages[message].fanOut?.isAllDispatched == false { return }
            messages[message].isAllDispatched = true
            messages[message].fanOut = nil
            lanes[messages[message].lane].begun -= 1
        }
        if messages[message].open == 0 { complete(message, isExpired: isExpired) }
    }

    mutating func complete(_ message: MessageHandle, isExpired: Bool = false) {
        if !cancels.stopped.isEmpty, !mayComplete(message) { return }
        let failure = failures.isEmpty ? nil : failures.removeValue(forKey: message)
        actions.completed.append(
            CompletedMessage(
                seq: messages[message].accepted.seq, message: messages[message].accepted.message,
                counts: messages[message].counts, isExpired: isExpired, failure: failure))
        endWait(of: message)
    }

    /// Forgets a message that another owner of its part continues.
    mutating func forget(_ message: MessageHandle) {
        if !failures.isEmpty { failures[message] = nil }
        endWait(of: message)
    }

    private mutating func endWait(of message: MessageHandle) {
        if messages[message].activity != nil { activityEnded(message) }
        counts.queued -= 1
        let (lane, begin) = (messages[message].lane, messages[message].begin)
        lanes[lane].waits.remove(begin, of: messages[message].accepted.seq)
        release(message)
    }

    /// Records the outcome of a delivery that is not sent, and counts it.
    mutating func report(_ unsent: FanOut.Unsent, of message: MessageHandle) {
        actions.records.append(record(unsent.outcome, of: message, device: unsent.device, token: unsent.token))
        if let outcome = unsent.outcome.final { messages[message].counts.add(outcome) }
    }

    /// Returns a record of a delivery that was never sent.
    func record(
        _ outcome: DeliveryOutcome, of message: MessageHandle, device: DeviceID, token: Address?
    ) -> DeliveryRecord {
        let accepted = messages[message].accepted
        let id = token.map { DeliveryID.derived(app: accepted.message.app, message: accepted.message.id, token: $0) }
        return DeliveryRecord(
            seq: accepted.seq, fingerprint: accepted.fingerprint, acceptedAt: accepted.acceptedAt,
            message: accepted.message, device: device, deliveryID: id ?? DeliveryID(high: 0, low: 0), attempt: 0,
            outcome: outcome)
    }
}
