package import PushModel
import PushTime

/// The way from a message to its devices: requests pages, suppresses devices, and claims the others.
extension RouterMachine {
    /// Begins a message.
    mutating func begin(_ message: MessageHandle) {
        let lane = messages[message].lane
        if isExpired(message), expireWhole(message) { return }
        lanes[lane].begun += 1
        if messages[message].onlyToken != nil {
            lanes[lane].ready.append(message)
        } else {
            messages[message].fanOut = FanOut()
            lookFurther(message)
        }
    }

    /// Returns whether a lane may begin another message.
    func mayBegin(_ lane: LaneID) -> Bool {
        let begun = lanes[lane].begun
        if lane.isBrief { return begun < policy.begunBrief }
        return begun < policy.begunBroad || (begun < policy.begunSmall && lanes[lane].prepared < policy.preparedBroad)
    }

    /// Prepares the next page, unless one is being prepared or no more exist.
    private mutating func lookFurther(_ message: MessageHandle) {
        guard let fan = messages[message].fanOut, fan.step == .idle, !fan.hasAllPages else { return }
        switch messages[message].accepted.audience {
        case .tokens(let tokens): cut(tokens, message, fan)
        case .devices(let devices): awaitPage(message, fan, about: devices.count)
        case .users(let users): awaitPage(message, fan, about: 2 * users.count)
        case .tags, .everyone: awaitPage(message, fan, about: policy.page)
        }
    }

    // MARK: Named tokens

    /// Takes the next page from the named tokens, without duplicates and inactive devices.
    private mutating func cut(_ tokens: [DeviceToken], _ message: MessageHandle, _ fan: FanOut) {
        let accepted = messages[message].accepted
        let app = accepted.message.app
        let isResumed = accepted.counts.total > 0
        let asksInactive = !inactive.isEmpty
        if tokens.count > 1, fan.seen == nil { fan.seen = DeviceIDTable(reserving: tokens.count) }
        while fan.pending.isEmpty, fan.suppressed.isEmpty, fan.looked < tokens.count {
            let end = min(tokens.count, fan.looked + policy.page)
            fan.pending.reserveCapacity(end - fan.looked)
            for token in tokens[fan.looked..<end] {
                let device = identities.device(app, token)
                if tokens.count > 1, !fan.seen!.insert(device) { continue }
                if asksInactive, inactive.contains(device) {
                    let gone = FanOut.Suppressed(device: device, token: token, why: .inactive)
                    if isResumed { fan.suppressed.append(gone) } else { suppress(gone, of: message) }
                } else {
                    fan.pending.append(AudiencePage.Device(id: device, token: token))
                }
            }
            fan.looked = end
        }
        if fan.looked == tokens.count {
            fan.hasAllPages = true
            fan.seen = nil
        }
        proceed(message, fan)
    }

    // MARK: Pages of the registry

    /// Requests the next page, which is estimated to have `about` devices.
    private mutating func awaitPage(_ message: MessageHandle, _ fan: FanOut, about: Int) {
        fan.step = .paging
        fan.reserved = min(policy.page, about)
        lanes[messages[message].lane].prepared += fan.reserved
        if mayWork { askPage(message) } else { pagesToAsk.append(message) }
    }

    private mutating func askPage(_ message: MessageHandle) {
        let accepted = messages[message].accepted
        actions.pages.append(
            RouterActions.PageRequest(
                message: message, audience: accepted.audience, app: accepted.message.app,
                after: messages[message].fanOut?.cursor, limit: policy.page))
    }

    /// Schedules the next request for a page after the registry failed. The delay grows with each failure; other
    /// messages are not delayed.
    package mutating func pageFailed(for message: MessageHandle, error: String) {
        guard let fan = messages[message].fanOut, fan.step == .paging else {
            preconditionFailure("router: page for message \(message), which did not request one")
        }
        var trouble = fan.trouble ?? PageTrouble(answers: registryAnswers, askAgainAt: now, text: error)
        trouble.failures += 1
        trouble.failuresAlone = trouble.answers == registryAnswers ? 0 : trouble.failuresAlone + 1
        trouble.answers = registryAnswers
        trouble.askAgainAt = now + policy.trouble.delay(afterFailures: trouble.failures, random: 0)
        trouble.text = error
        fan.trouble = trouble
        failsAlone(message, trouble.isItsOwn)
        if !trouble.isItsOwn { registryTrouble = error }
        pagesToAsk.append(message)
        askPagesAt = min(askPagesAt ?? .distantFuture, trouble.askAgainAt)
    }

    /// Completes a message with a failure because the registry can never resolve its audience. Deliveries that are
    /// under way end as usual.
    package mutating func pageRefused(for message: MessageHandle, reason: String) {
        let fan = endQuestion(message)
        registryAnswered()
        failures[message] = .audience(reason)
        fan.hasAllPages = true
        settle(message)
    }

    /// Ends the page request of a message, answered or not.
    private mutating func endQuestion(_ message: MessageHandle) -> FanOut {
        apps[messages[message].lane.app].isDirty = true
        guard let fan = messages[message].fanOut, fan.step == .paging else {
            preconditionFailure("router: page for message \(message), which did not request one")
        }
        lanes[messages[message].lane].prepared -= fan.reserved
        fan.reserved = 0
        fan.step = .idle
        fan.trouble = nil
        failsAlone(message, false)
        return fan
    }

    /// Adds a message to those whose own request fails, or removes it. If the list is full, a message is added when its
    /// request fails again after another one was removed.
    private mutating func failsAlone(_ message: MessageHandle, _ isSo: Bool) {
        let index = failingAlone.firstIndex(of: message)
        if isSo, index == nil, failingAlone.count < RouterTroubles.maxMessages { failingAlone.append(message) }
        if !isSo, let index { failingAlone.remove(at: index) }
    }

    /// Records that the registry answers. Requests that failed together with the registry are repeated at once.
    private mutating func registryAnswered() {
        registryAnswers &+= 1
        guard registryTrouble != nil else { return }
        registryTrouble = nil
        for message in pagesToAsk where messages[message].fanOut?.trouble?.isItsOwn == false {
            messages[message].fanOut?.trouble?.askAgainAt = now
        }
        askPagesAt = now
    }

    /// Takes a page that the registry found.
    package mutating func pageCame(_ page: AudiencePage, for message: MessageHandle) {
        let fan = endQuestion(message)
        registryAnswered()
        fan.cursor = page.next
        fan.hasAllPages = page.next == nil || fan.isAbandoned
        if fan.isAbandoned { return settle(message) }

        let isResumed = messages[message].accepted.counts.total > 0
        var gone = page.inactive.map { FanOut.Suppressed(device: $0, token: nil, why: .inactive) }
        gone += page.unknown.map { FanOut.Suppressed(device: $0, token: nil, why: .unknownDevice) }
        if inactive.isEmpty {
            fan.pending = page.devices
        } else {
            for device in page.devices {
                if inactive.contains(device.id) {
                    gone.append(FanOut.Suppressed(device: device.id, token: device.token, why: .inactive))
                } else {
                    fan.pending.append(device)
                }
            }
        }
        if isResumed {
            fan.suppressed = gone
        } else {
            for one in gone { suppress(one, of: message) }
        }
        proceed(message, fan)
    }

    // MARK: Claims

    /// Claims the devices of a new page, or queues them at once if the message needs no claim.
    private mutating func proceed(_ message: MessageHandle, _ fan: FanOut) {
        guard messages[message].accepted.needsClaim, !fan.pending.isEmpty || !fan.suppressed.isEmpty else {
            for gone in fan.suppressed { suppress(gone, of: message) }
            fan.suppressed = []
            return prepared(message, fan)
        }
        fan.step = .claiming
        if mayWork, !ledgerRetry.isDelayed(at: now) { askClaim(message) } else { claimsToAsk.append(message) }
    }

    private mutating func askClaim(_ message: MessageHandle) {
        guard let fan = messages[message].fanOut else { return }
        let accepted = messages[message].accepted
        var devices: [DeviceID] = []
        devices.reserveCapacity(fan.pending.count + fan.suppressed.count)
        for device in fan.pending { devices.append(device.id) }
        for gone in fan.suppressed { devices.append(gone.device) }
        actions.claims.append(ClaimPage(seq: accepted.seq, fingerprint: accepted.fingerprint, devices: devices))
        actions.claimants.append(message)
    }

    /// Takes the verdicts for claims, in the order of the claims. A claim whose verdicts are missing or do not match
    /// its devices is requested again.
    package mutating func claimed(_ verdicts: [[ClaimVerdict]], for messages: [MessageHandle]) {
        var failed = verdicts.count != messages.count
        for (index, message) in messages.enumerated() {
            guard let fan = self.messages[message].fanOut, fan.step == .claiming else {
                preconditionFailure("router: verdict for message \(message), which did not request a claim")
            }
            apps[self.messages[message].lane.app].isDirty = true
            guard index < verdicts.count, verdicts[index].count == fan.pending.count + fan.suppressed.count else {
                failed = true
                claimsToAsk.append(message)
                continue
            }
            judge(message, fan, verdicts[index])
        }
        if failed {
            ledgerRetry.failed("the ledger did not answer a claim", at: now, backoff: policy.trouble)
        } else {
            ledgerRetry.succeeded(at: now)
        }
    }

    /// Applies the verdicts to a page: suppresses duplicates and skips what ended before a restart.
    private mutating func judge(_ message: MessageHandle, _ fan: FanOut, _ verdicts: [ClaimVerdict]) {
        fan.step = .idle
        for (index, gone) in fan.suppressed.enumerated() where verdicts[fan.pending.count + index] != .done {
            suppress(gone, of: message)
        }
        fan.suppressed = []
        if verdicts.contains(where: { $0 != .new }) {
            var fresh: [AudiencePage.Device] = []
            for (index, device) in fan.pending.enumerated() {
                switch verdicts[index] {
                case .new: fresh.append(device)
                case .had:
                    suppress(FanOut.Suppressed(device: device.id, token: device.token, why: .duplicate), of: message)
                case .done: break
                }
            }
            fan.pending = fresh
        }
        prepared(message, fan)
    }

    /// Sends the requests that could not be sent before or were not answered.
    mutating func askWhatWaits() {
        if !pagesToAsk.isEmpty, askPagesAt.map({ $0 <= now }) ?? true { askPagesAgain() }
        if !claimsToAsk.isEmpty, !ledgerRetry.isDelayed(at: now) {
            for message in claimsToAsk { askClaim(message) }
            claimsToAsk = []
        }
    }

    private mutating func askPagesAgain() {
        var waiting: [MessageHandle] = []
        var asked = 0
        askPagesAt = nil
        for message in pagesToAsk {
            guard let fan = messages[message].fanOut else { continue }
            if messages[message].accepted.audience.isDynamic, isExpired(message) {
                giveUp(message)
            } else if let at = fan.trouble?.askAgainAt, at > now {
                waiting.append(message)
                askPagesAt = min(askPagesAt ?? .distantFuture, at)
            } else {
                askPage(message)
                asked += 1
            }
        }
        pagesToAsk = waiting
        // No request is left whose answer could clear the error.
        if waiting.isEmpty, asked == 0 { registryTrouble = nil }
    }

    /// Stops the search of an expired message to a dynamic audience while the registry does not answer. Devices that
    /// were found stay in the queue and expire there.
    private mutating func giveUp(_ message: MessageHandle) {
        let fan = endQuestion(message)
        fan.hasAllPages = true
        noteDrop(message)
        guard fan.left == 0, fan.ahead.isEmpty, messages[message].open == 0 else { return settle(message) }
        messages[message].fanOut = nil
        messages[message].isAllDispatched = true
        lanes[messages[message].lane].begun -= 1
        complete(message, isExpired: messages[message].counts.total == 0)
    }

    // MARK: Ready

    /// Queues the devices of a page that is looked up and claimed.
    private mutating func prepared(_ message: MessageHandle, _ fan: FanOut) {
        let lane = messages[message].lane
        lanes[lane].prepared += fan.pending.count
        if fan.isAbandoned {
            fan.ahead += fan.pending
            fan.pending = []
            expireRest(message)
            return settle(message)
        }
        if fan.pending.isEmpty {
            continueSearch(for: message, fan: fan)
            return
        }
        if fan.left == 0 {
            fan.page = fan.pending
            fan.at = 0
            fan.pending = []
            fan.isReady = true
            lanes[lane].ready.append(message)
        } else {
            fan.ahead = fan.pending
            fan.pending = []
        }
        if fan.ahead.isEmpty { lookFurther(message) }
    }

    /// Prepares the next page. If no more exist, completes the message if nothing is left to do. The message may be
    /// complete afterward.
    mutating func continueSearch(for message: MessageHandle, fan: FanOut) {
        if fan.hasAllPages { settle(message) } else { lookFurther(message) }
    }

    /// Completes the message if nothing is left to do.
    mutating func settle(_ message: MessageHandle) {
        if !messages[message].isAllDispatched {
            if let fan = messages[message].fanOut {
                guard fan.hasAllPages, fan.step == .idle, fan.left == 0, fan.ahead.isEmpty else { return }
            }
            messages[message].isAllDispatched = true
            messages[message].fanOut = nil
            lanes[messages[message].lane].begun -= 1
        }
        if messages[message].open == 0 { complete(message) }
    }

    mutating func complete(_ message: MessageHandle, isExpired: Bool = false) {
        let failure = failures.isEmpty ? nil : failures.removeValue(forKey: message)
        actions.completed.append(
            CompletedMessage(
                seq: messages[message].accepted.seq, message: messages[message].accepted.message,
                counts: messages[message].counts, isExpired: isExpired, failure: failure))
        unfinished -= 1
        release(message)
    }

    func suppressionRecord(_ gone: FanOut.Suppressed, of message: MessageHandle) -> DeliveryRecord {
        record(.suppressed(gone.why), of: message, device: gone.device, token: gone.token)
    }

    mutating func suppress(_ gone: FanOut.Suppressed, of message: MessageHandle) {
        actions.records.append(suppressionRecord(gone, of: message))
        messages[message].counts.suppressed += 1
    }

    /// Returns a record of a delivery that was never sent.
    func record(
        _ what: DeliveryRecord.What, of message: MessageHandle, device: DeviceID, token: DeviceToken?
    ) -> DeliveryRecord {
        let accepted = messages[message].accepted
        let id = token.map { APNSID.derived(app: accepted.message.app, message: accepted.message.id, token: $0) }
        return DeliveryRecord(
            seq: accepted.seq, fingerprint: accepted.fingerprint, acceptedAt: accepted.acceptedAt,
            message: accepted.message, device: device, apnsID: id ?? APNSID(high: 0, low: 0), attempt: 0, what: what)
    }
}
