package import PushModel
import PushTime

/// Messages to Live Activities. Of those to one activity, only the newest is of use: it takes the place of all that were
/// not given to a connection. At most one is under way, so that no older one can overtake a newer one.
///
/// They have a lane of their own, which keeps the order of acceptance whatever their priority. What is recorded of them is
/// therefore in that order, too, and a restart at any moment leaves the newest.
extension RouterMachine {
    private func activity(of accepted: AcceptedMessage) -> UInt64? {
        guard case .activities(let names) = accepted.audience, let name = names.first else { return nil }
        return identities.activity(of: accepted.message.app, name: name)
    }

    func addressed(_ message: HeldMessage) -> HeldMessage {
        guard let activity = activity(of: message.accepted) else { return message }
        var message = message
        let accepted = message.accepted
        message.address(activity, at: activities.clock.time(accepted.acceptedAt.unixSeconds, of: accepted.seq))
        return message
    }

    // MARK: The newest message

    /// Takes note of a message, in the order of acceptance.
    mutating func noteActivity(of accepted: AcceptedMessage) {
        guard let activity = activity(of: accepted), let app = apps.index(of: accepted.message.app) else { return }
        activities.clock.note(accepted.acceptedAt.unixSeconds, of: accepted.seq)
        let newest = ActivityTable.Newest(accepted)
        // An older one ends, whatever became of the newest.
        if activities[activity].map({ accepted.seq >= $0.newest.seq }) ?? true {
            activities.waits.waits(ActivityWait(accepted.message, to: activity), newest: accepted.seq)
        }
        guard var state = activities[activity] else {
            activities[activity] = ActivityTable.State(app: app, newest: newest, last: newest.seq)
            return
        }
        state.last = max(state.last, accepted.seq)
        // Its part was closed here, and is open again.
        if accepted.seq == state.newest.seq { state.isNewestGone = false }
        activities[activity] = state
        // Nothing but another end takes the place of an end that was not cancelled. After a start, the end may be noted
        // after an update that was accepted behind it.
        let isNewer = accepted.seq > state.newest.seq
        guard isNewer ? newest.isEnd || !state.newest.isEnd || state.isNewestGone : newest.isEnd && !state.newest.isEnd
        else { return }
        (state.newest, state.isNewestGone) = (newest, false)
        activities[activity] = state
        if let current = state.current {
            // A gateway gives back what it has not given to a connection.
            messages[current].accepted.message.withdraw()
            activities.hasSuperseded = true
        }
        // An older message that waits for an address is read again, and ends.
        unpark(activity)
    }

    /// The message that takes the place of this one; nil if there is none.
    func successor(of message: MessageHandle) -> DeliveryOutcome? {
        guard let activity = messages[message].activity, let newest = activities[activity]?.newest,
            newest.seq > messages[message].accepted.seq
        else { return nil }
        return .superseded(by: newest.id, seq: newest.seq)
    }

    func successor(of delivery: Delivery) -> DeliveryOutcome? { successor(of: deliveries[delivery.handle].message) }

    /// Decides whether a message that was taken from its lane is looked up now. Otherwise it ends, or follows the one
    /// before it.
    mutating func mayBegin(_ message: MessageHandle, to activity: UInt64) -> Bool {
        if let successor = successor(of: message) {
            endUnaddressed(message, as: successor)
            return false
        }
        messages[message].isBegun = true
        let accepted = messages[message].accepted
        if activities[activity] == nil, let app = apps.index(of: accepted.message.app) {
            activities[activity] = ActivityTable.State(
                app: app, newest: ActivityTable.Newest(accepted), last: accepted.seq)
        }
        guard let state = activities[activity] else { return true }
        activities[activity]?.turnedUpTo = max(state.turnedUpTo, accepted.seq)
        if accepted.seq > state.newest.seq {
            endUnaddressed(message, as: .expiredBecause(.ended))
            return false
        }
        guard state.current != nil else {
            activities[activity]?.current = message
            return true
        }
        if let former = state.next { endFollowing(former) }
        activities[activity]?.next = message
        lanes[messages[message].lane].begun += 1
        return false
    }

    /// Ends a message that waits for the end of the one before it, if a newer one takes its place. Returns whether it did.
    @discardableResult
    private mutating func endFollowing(_ message: MessageHandle) -> Bool {
        guard !isStopped(message), let successor = successor(of: message) else { return false }
        lanes[messages[message].lane].begun -= 1
        endUnaddressed(message, as: successor)
        return true
    }

    // MARK: Addresses

    /// Takes the first page of the addresses of an activity. Returns false if there are none.
    mutating func hasAddress(_ page: AudiencePage, for message: MessageHandle, of activity: UInt64) -> Bool {
        if !page.devices.isEmpty { activities.waits.found(activity) }
        guard page.devices.isEmpty, page.next == nil, messages[message].counts.total == 0, messages[message].open == 0,
            !isStopped(message)
        else { return true }
        if let successor = successor(of: message) {
            endSearch(of: message, as: successor)
        } else if !page.inactive.isEmpty || wall >= lastMoment(of: message) {
            lost(message, of: activity)
            endSearch(of: message, as: .expiredBecause(.noAddress))
        } else if activities[activity]?.isRegistered == true {
            activities[activity]?.isRegistered = false
            search(for: message)
        } else {
            park(message, of: activity)
        }
        return false
    }

    /// The time until which a message waits for an address.
    private func lastMoment(of message: MessageHandle) -> WallTime {
        guard messages[message].accepted.message.expiry == .unlimited else { return end(of: message) }
        let wait = policy.activityWait.wholeMilliseconds
        return min(end(of: message), messages[message].begin.adding(milliseconds: wait))
    }

    /// Leaves a message on disk until an address of its activity is registered.
    private mutating func park(_ message: MessageHandle, of activity: UInt64) {
        let lane = messages[message].lane
        lost(message, of: activity)
        // To whole seconds, so that all that end within one are found by one look at the activities.
        let parked = ActivityTable.Parked(
            seq: messages[message].accepted.seq, lane: lane, until: WallTime(lastMoment(of: message).roundedUp))
        activities.park(parked, of: activity)
        activities[activity]?.current = nil
        lanes[lane].begun -= 1
        release(message)
    }

    /// Tells the ledger that the registry has no address for a message.
    private func lost(_ message: MessageHandle, of activity: UInt64) {
        let accepted = messages[message].accepted
        activities.waits.lost(ActivityWait(accepted.message, to: activity), newest: accepted.seq)
    }

    /// Reads the message of an activity again that waits for an address.
    private mutating func unpark(_ activity: UInt64) {
        if let parked = activities.unpark(activity) { readAgain(parked) }
    }

    private mutating func readAgain(_ parked: ActivityTable.Parked) {
        lanes[parked.lane].spilled.putBack(CollectionOfOne(parked.seq))
        apps[parked.lane.app].isDirty = true
    }

    /// Reads messages on disk again that were cancelled, and takes note that they are.
    mutating func cancelledOnDisk(_ seqs: Set<UInt64>) {
        for parked in activities.unpark(where: { seqs.contains($0.seq) }).reversed() { readAgain(parked) }
        activities.cancelled(seqs)
    }

    mutating func unparkAll(of app: AppIndex) {
        for parked in activities.unpark(where: { $0.lane.app == app }).reversed() { readAgain(parked) }
    }

    package mutating func registered(_ registration: ActivityRegistration) {
        switch registration {
        case .of(let app, let name): registered(name, of: app)
        case .ofUnknown:
            activities.anyIsRegistered()
            for parked in activities.unpark(where: { _ in true }).reversed() { readAgain(parked) }
        }
    }

    private mutating func registered(_ name: String, of app: AppID) {
        let activity = identities.activity(of: app, name: name)
        activities.waits.found(activity)
        guard let state = activities[activity] else { return }
        activities[activity]?.lacksAddress = false
        if state.current != nil { activities[activity]?.isRegistered = true }
        unpark(activity)
    }

    // MARK: Ends

    /// Returns whether a message on disk ends before its turn: because there is a newer one, or because it has expired and
    /// this round of looks has ended all older ones. Otherwise an older one could be sent after it, after a restart.
    func endsOnDisk(_ held: HeldMessage, isExpired: Bool) -> Bool {
        if lanes[held.lane].isIndexing { return false }
        let seq = held.accepted.seq
        if let activity = activity(of: held.accepted), let state = activities[activity], state.newest.seq > seq {
            return true
        }
        return isExpired && seq <= lanes[held.lane].lookedUpTo[EventNumber.part(of: seq)]
    }

    /// Counts a message that has expired before any address was found.
    mutating func countExpired(_ message: MessageHandle, to activity: UInt64) {
        if messages[message].counts.total > 0 { return }
        let lacksAddress = activities[activity]?.lacksAddress == true
        countUnaddressed(message, as: lacksAddress ? .expiredBecause(.noAddress) : .expired)
    }

    /// Records the outcome of a message that reaches no address, and counts it.
    mutating func countUnaddressed(_ message: MessageHandle, as outcome: DeliveryOutcome) {
        report(FanOut.Unsent(.none, outcome), of: message)
    }

    /// Ends a message that is not begun.
    mutating func endUnaddressed(_ message: MessageHandle, as outcome: DeliveryOutcome) {
        if messages[message].counts.total == 0 { countUnaddressed(message, as: outcome) }
        messages[message].isAllDispatched = true
        complete(message)
    }

    /// Ends the search for addresses, and all addresses that were found and not sent to.
    mutating func endSearch(of message: MessageHandle, as outcome: DeliveryOutcome) {
        if let fanOut = messages[message].fanOut {
            let (rest, next) = (fanOut.rest, fanOut.next)
            lanes[messages[message].lane].prepared -= rest.count + next.count
            for device in rest { report(FanOut.Unsent(device, outcome), of: message) }
            for device in next { report(FanOut.Unsent(device, outcome), of: message) }
            messages[message].fanOut?.removeRest()
            messages[message].fanOut?.abandonSearch()
        }
        if messages[message].counts.total == 0, messages[message].open == 0 {
            countUnaddressed(message, as: outcome)
        }
        settle(message)
    }

    /// Takes leave of a message that ends, and begins the one that follows it.
    mutating func activityEnded(_ message: MessageHandle) {
        guard let activity = messages[message].activity, var state = activities[activity] else { return }
        if state.next == message { state.next = nil }
        var following: MessageHandle?
        if state.current == message {
            following = state.next
            (state.current, state.next, state.isRegistered) = (state.next, nil, false)
        }
        let seq = messages[message].accepted.seq
        if seq == state.newest.seq { state.isNewestGone = true }
        activities[activity] = state
        // Otherwise older ones may be left that have not had their turn.
        if messages[message].isBegun { activities.forgetIfIdle(activity, after: seq) }
        activities.countNoMore(activity)
        guard let following, !isStopped(following), !endFollowing(following) else { return }
        search(for: following)
    }

    // MARK: Each tick

    /// Ends deliveries whose message is superseded and that wait for another attempt, and messages that have waited too
    /// long for an address, and looks at what waited on disk when the ledger was opened.
    mutating func serveActivities() {
        if exchange(&activities.hasSuperseded, with: false), retries.count > 0 {
            var waiting = RetryHeap()
            swap(&waiting, &retries)
            let ended = waiting.removeAll { successor(of: $0) != nil }
            swap(&waiting, &retries)
            for delivery in ended { retryIsDue(delivery) }
        }
        for parked in activities.unpark(endedBy: wall).reversed() { readAgain(parked) }
        guard activities.indexing > 0, look.lane == nil, !ledgerRetry.isDelayed(at: now) else { return }
        for lane in lanes.all where lanes[lane].isIndexing && lanes[lane].memory.loading == 0 {
            guard lanes[lane].spilled.isLookedThrough else { return lookFurther(in: lane) }
            lanes[lane].isIndexing = false
            activities.indexing -= 1
            apps[lane.app].isDirty = true
        }
    }

    mutating func beginIndexing(_ lane: LaneID) {
        if lanes[lane].isIndexing { return }
        lanes[lane].isIndexing = true
        activities.indexing += 1
    }

    /// Forgets activities for which nothing waits.
    mutating func sweepActivities() {
        let waiting = activities.waiting
        let lanes = lanes
        activities.forget { app in
            let lane = LaneID(app: app, kind: .activities)
            return lanes[lane].memory.held == 0 && !lanes[lane].isOnDisk && waiting[app] ?? 0 == 0
        }
    }
}
