package import PushModel
package import PushTime

/// Decides which delivery is sent when. It keeps the queues of all apps, chooses which messages are in memory, finds
/// the devices of each message, schedules retries and completes messages. It has no clock and no socket: inputs report
/// what happened, and ``run()`` at the end of a tick returns everything that is to be done.
///
/// A message passes these states: *spilled* (only its number is in memory) → *loaded* (all of it is in memory) →
/// *begun* (its devices are looked up and claimed, one page at a time) → *ready* (it has devices to send to) →
/// *dispatched* (no device is left to send to) → *done* (all its deliveries have ended). A message to a single token that
/// cannot be a duplicate goes from loaded to ready at once.
///
/// A *lane* is the queue of one app for one priority, and for brief or broad messages: for few or many devices.
package struct RouterMachine: ~Copyable {
    package var policy: RouterPolicy
    let identities: Identities
    var suppressed: SuppressedDevices
    let ofOtherKinds: any DeviceSet

    var now: MonotonicTime
    var wall: WallTime

    var apps = AppTable()
    var lanes = LaneTable()

    var messages = MessageTable()
    var deliveries = DeliveryTable()
    var retries = RetryHeap()
    var budget: MemoryBudget

    var expiry = RouterExpiry()
    var lookUps = PendingLookUps()
    /// The failures of reads and claims.
    var ledgerRetry = RetryState()
    var halt = RouterHalt()
    /// The reasons why messages end before all their devices were found or sent to. Few messages have one.
    var failures: [MessageHandle: MessageFailure] = [:]
    var cancels = RouterCancels()
    /// The parts of the ledger that come and go.
    var parts = RouterParts()

    var schedule = Schedule()
    /// What is read to find expired messages, and the newest ones of Live Activities.
    var look = DiskLook()
    var activities: ActivityTable
    /// The highest number of a message of each part so far.
    var newest = PartNumbers()

    var counts = RouterCounts()
    /// The number of messages that are accepted, not scheduled and not done.
    package var unfinished: Int { max(0, counts.queued - cancels.staleCount) }
    /// The number of reports about deliveries that are not at a gateway. Any value but 0 indicates a bug.
    package var surplus: Int { counts.surplus }

    var actions = RouterActions()

    package init(
        _ policy: RouterPolicy, identities: Identities, inactive: any DeviceSet,
        erased: any DeviceSet = NoDevices(), ofOtherKinds: any DeviceSet,
        ownerChanges: any OwnerChanges = NoOwnerChanges(), now: MonotonicTime, wall: WallTime,
        activityWaits: any ActivityWaits = NoActivityWaits()
    ) {
        activities = ActivityTable(activityWaits)
        self.policy = policy
        budget = MemoryBudget(policy)
        self.identities = identities
        suppressed = SuppressedDevices(inactive: inactive, erased: erased, ownerChanges: ownerChanges)
        self.ofOtherKinds = ofOtherKinds
        self.now = now
        self.wall = wall
    }

    /// Sets the time. Called before the inputs of a tick.
    package mutating func tick(now: MonotonicTime, wall: WallTime) {
        self.now = now
        self.wall = wall
    }

    // MARK: Gateways and ledger health

    /// Records that an app's gateway appeared or disappeared. Returns the app's index, which submissions contain.
    ///
    /// - Parameter source: The identity of the gateway, which tells its reports from those of its predecessor.
    package mutating func gateChanged(_ id: AppID, isThere: Bool, source: ObjectIdentifier? = nil) -> AppIndex {
        let app = index(of: id)
        apps[app].hasGate = isThere
        apps[app].gate = source
        apps[app].submitted = 0
        // A new gateway may report its credit before this call, and does not repeat it.
        apps[app].window = apps[app].takeWindow(of: source)
        apps[app].isDirty = true
        // The lanes try to read messages back again at once.
        for lane in app.lanes { lanes[lane].memory.forgetFull() }
        if isThere { endDrop(of: app) } else { unload(app) }
        // The new gateway has none of their deliveries, and the old one gives out none of them.
        apps[app].recalled = apps[app].recallsAsked
        return app
    }

    /// Records whether the ledger can write; nil means that it can.
    package mutating func healthChanged(_ fault: LedgerFault?) {
        halt.fault = fault
        // Page requests that were held back while the ledger could not write are sent at once.
        if fault == nil { lookUps.pagesAt = nil }
        markAll()
    }

    /// Stops sending. Deliveries at a gateway still come back in reports; waiting messages are on disk.
    package mutating func stop() {
        halt.isStopped = true
    }

    /// The number of deliveries that are at a gateway.
    package var out: Int { apps.all.reduce(0) { $0 + apps[$1].out } }

    /// Takes whether the right to send has run out. What waits stays as it is.
    package mutating func suspended(_ isSuspended: Bool) {
        halt.isSuspended = isSuspended
        if !isSuspended { lookUps.pagesAt = nil }
        markAll()
    }

    /// Whether deliveries may be sent: the ledger can write, the right to send has not run out, and the router is not
    /// stopped.
    var mayWork: Bool { !halt.isOn }

    /// Returns the index of an app, which is added if it is new.
    mutating func index(of id: AppID) -> AppIndex {
        if let app = apps.index(of: id) { return app }
        lanes.addApp()
        return apps.add(AppState(id, quantum: policy.laneQuantum))
    }

    private mutating func markAll() {
        for app in apps.all { apps[app].isDirty = true }
    }

    // MARK: End of a tick

    /// Returns everything that is to be done now. `hasMore` is true if another tick should follow at once.
    package mutating func run() -> (actions: RouterActions, hasMore: Bool) {
        var hasMore = false
        if !cancels.new.isEmpty { stopCancelled() }
        if !cancels.recalls.isEmpty { endRecalls() }
        if !parts.isQuiet { closeParts() }
        wake()
        // While the ledger cannot write, expired messages wait too: their records would fill the memory.
        if mayWork {
            sweepIfDue()
            if !activities.isQuiet(at: wall) { serveActivities() }
            if !expiry.messages.isEmpty { expireSome() }
            askWhatWaits()
            askDue()
            // All lanes try to read messages back if room was released.
            if budget.takeOffer() { markAll() }
            if apps.firstInTurn >= apps.count { apps.firstInTurn = 0 }
            for offset in 0..<apps.count {
                let position = apps.firstInTurn + offset
                let app = AppIndex(position < apps.count ? position : position - apps.count)
                if apps[app].isDirty { hasMore = dispatch(app) || hasMore }
            }
            apps.firstInTurn += 1
        }
        counts.lastRecords = actions.records.count
        var taken = RouterActions()
        swap(&taken, &actions)
        return (taken, hasMore || mayWork && (budget.hasOffer || !expiry.messages.isEmpty))
    }

    /// Reserves memory for records. A busy tick produces about as many as the one before it.
    mutating func reserveRecords(_ count: Int) {
        if actions.records.isEmpty { actions.records.reserveCapacity(max(count, counts.lastRecords)) }
    }

    /// Wakes deliveries whose retry is due, and lanes when the ledger may be asked again.
    private mutating func wake() {
        // After `stop`, no record is written. Deliveries that wait for a retry are on disk.
        while !halt.isStopped, let delivery = retries.popDue(at: now) { retryIsDue(delivery) }
        if let until = ledgerRetry.until, until <= now { markAll() }
    }

    /// The time at which ``run()`` must be called again, unless an input comes earlier.
    package var nextDeadline: MonotonicTime? {
        if halt.isStopped { return nil }
        var earliest = retries.earliest ?? .distantFuture
        if let until = ledgerRetry.until, until > now { earliest = min(earliest, until) }
        if let pagesAt = lookUps.pagesAt, !lookUps.pages.isEmpty, mayWork { earliest = min(earliest, pagesAt) }
        if mayWork, let wait = schedule.wait(at: wall) {
            // The wall clock may be set at any time, so it is read at least once a minute.
            var at = now + min(wait, .seconds(60))
            if wait == .zero { at = max(ledgerRetry.until ?? at, now + .milliseconds(100)) }
            earliest = min(earliest, at)
        }
        if mayWork, activities.earliestEnd < .distantFuture {
            // The wall clock may be set at any time.
            let wait = max(0, activities.earliestEnd.milliseconds(since: wall))
            earliest = min(earliest, now + min(.milliseconds(wait), .seconds(60)))
        }
        if let sweepAt = expiry.sweepAt, mayWork { earliest = min(earliest, sweepAt) }
        return earliest == .distantFuture ? nil : earliest
    }

    private mutating func sweepIfDue() {
        guard !halt.isStopped, counts.queued > 0 else {
            expiry.sweepAt = nil
            return
        }
        // The messages in `expiring` end first. Otherwise each sweep would read more messages into memory.
        if let sweepAt = expiry.sweepAt, now >= sweepAt, expiry.messages.isEmpty {
            for lane in lanes.all {
                sweep(lane)
                if isStalled(lane) { putBackUnsent(lane) }
            }
            sweepActivities()
            lookForExpired()
            expiry.sweepAt = nil
        }
        if expiry.sweepAt == nil { expiry.sweepAt = now + policy.sweep }
    }
}
