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
    /// The position of the app that is dispatched first in the next tick.
    private var firstApp = 0

    var messages = MessageTable()
    var deliveries = DeliveryTable()
    var retries = RetryHeap()
    var budget: MemoryBudget

    /// Messages to named devices that expired before any device was looked up.
    var expiring = MessageRing()
    /// The way through the devices of the first of them, if some were recorded.
    var expiryScan: AudienceScan?
    /// Messages whose request for a page or a claim failed or could not be sent yet.
    var pagesToAsk: [MessageHandle] = []
    var claimsToAsk: [MessageHandle] = []
    /// The time at which the first of ``pagesToAsk`` is requested again; nil means at once.
    var askPagesAt: MonotonicTime?
    /// The last error of the registry until it answers again, and the number of its answers.
    var registryTrouble: String?
    var registryAnswers: UInt64 = 0
    /// The first few messages whose page request fails although the registry answers other requests.
    var failingAlone: [MessageHandle] = []
    /// The failures of reads and claims, and the fault while the ledger cannot write.
    var ledgerRetry = RetryState()
    var fault: LedgerFault?
    /// The reasons why messages end before all their devices were found or sent to. Few messages have one.
    var failures: [MessageHandle: MessageFailure] = [:]
    /// The messages in memory that were cancelled or whose part was closed, until they are complete.
    var stopped: [MessageHandle: StoppedMessage] = [:]
    /// The parts of the ledger that come and go.
    var parts = RouterParts()
    /// The orders of this tick, and those that wait for a gateway to return deliveries.
    var newCancels: [CancelOrder] = []
    var recalls: [RecallingCancel] = []
    /// The number of messages on disk that were cancelled and whose numbers are still in queues.
    var staleCount = 0
    /// The number of messages that the ledger could not read.
    var damaged: UInt64 = 0
    var isStopped = false
    var isSuspended = false

    var schedule = Schedule()
    var sweepAt: MonotonicTime?
    /// What is read to find expired messages, and the newest ones of Live Activities.
    var look = DiskLook()
    var activities = ActivityTable()
    /// The number of apps whose waiting messages are being dropped.
    var droppedApps = 0
    /// The highest number of a message of each part so far.
    var newest = PartNumbers()

    /// The number of messages that are accepted, not scheduled and not done.
    package var unfinished: Int { max(0, queuedCount - staleCount) }
    /// The same with the messages whose numbers are stale.
    var queuedCount = 0
    /// The number of reports about deliveries that are not at a gateway. Any value but 0 indicates a bug.
    package internal(set) var surplus = 0

    var actions = RouterActions()
    private var lastRecords = 0

    package init(
        _ policy: RouterPolicy, identities: Identities, inactive: any DeviceSet,
        erased: any DeviceSet = NoDevices(), ofOtherKinds: any DeviceSet, now: MonotonicTime,
        wall: WallTime
    ) {
        self.policy = policy
        budget = MemoryBudget(policy)
        self.identities = identities
        suppressed = SuppressedDevices(inactive: inactive, erased: erased)
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
        self.fault = fault
        // Page requests that were held back while the ledger could not write are sent at once.
        if fault == nil { askPagesAt = nil }
        markAll()
    }

    /// Stops sending. Deliveries at a gateway still come back in reports; waiting messages are on disk.
    package mutating func stop() {
        isStopped = true
    }

    /// The number of deliveries that are at a gateway.
    package var out: Int { apps.all.reduce(0) { $0 + apps[$1].out } }

    /// Takes whether the right to send has run out. What waits stays as it is.
    package mutating func suspended(_ isSuspended: Bool) {
        self.isSuspended = isSuspended
        if !isSuspended { askPagesAt = nil }
        markAll()
    }

    /// Whether deliveries may be sent: the ledger can write, the right to send has not run out, and the router is not
    /// stopped.
    var mayWork: Bool { fault == nil && !isSuspended && !isStopped }

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
        if !newCancels.isEmpty { stopCancelled() }
        if !recalls.isEmpty { endRecalls() }
        if !parts.isQuiet { closeParts() }
        wake()
        // While the ledger cannot write, expired messages wait too: their records would fill the memory.
        if mayWork {
            sweepIfDue()
            if !activities.isQuiet(at: wall) { serveActivities() }
            if !expiring.isEmpty { expireSome() }
            askWhatWaits()
            askDue()
            // All lanes try to read messages back if room was released.
            if budget.takeOffer() { markAll() }
            if firstApp >= apps.count { firstApp = 0 }
            for offset in 0..<apps.count {
                let position = firstApp + offset
                let app = AppIndex(position < apps.count ? position : position - apps.count)
                if apps[app].isDirty { hasMore = dispatch(app) || hasMore }
            }
            firstApp += 1
        }
        lastRecords = actions.records.count
        var taken = RouterActions()
        swap(&taken, &actions)
        return (taken, hasMore || mayWork && (budget.hasOffer || !expiring.isEmpty))
    }

    /// Reserves memory for records. A busy tick produces about as many as the one before it.
    mutating func reserveRecords(_ count: Int) {
        if actions.records.isEmpty { actions.records.reserveCapacity(max(count, lastRecords)) }
    }

    /// Wakes deliveries whose retry is due, and lanes when the ledger may be asked again.
    private mutating func wake() {
        // After `stop`, no record is written. Deliveries that wait for a retry are on disk.
        while !isStopped, let delivery = retries.popDue(at: now) { retryIsDue(delivery) }
        if let until = ledgerRetry.until, until <= now { markAll() }
    }

    /// The time at which ``run()`` must be called again, unless an input comes earlier.
    package var nextDeadline: MonotonicTime? {
        if isStopped { return nil }
        var earliest = retries.earliest ?? .distantFuture
        if let until = ledgerRetry.until, until > now { earliest = min(earliest, until) }
        if let askPagesAt, !pagesToAsk.isEmpty, mayWork { earliest = min(earliest, askPagesAt) }
        if fault == nil, let wait = schedule.wait(at: wall) {
            // The wall clock may be set at any time, so it is read at least once a minute.
            var at = now + min(wait, .seconds(60))
            if wait == .zero { at = max(ledgerRetry.until ?? at, now + .milliseconds(100)) }
            earliest = min(earliest, at)
        }
        if fault == nil, activities.earliestEnd < .distantFuture {
            // The wall clock may be set at any time.
            let wait = max(0, activities.earliestEnd.milliseconds(since: wall))
            earliest = min(earliest, now + min(.milliseconds(wait), .seconds(60)))
        }
        if let sweepAt, mayWork { earliest = min(earliest, sweepAt) }
        return earliest == .distantFuture ? nil : earliest
    }

    private mutating func sweepIfDue() {
        guard !isStopped, queuedCount > 0 else {
            sweepAt = nil
            return
        }
        // The messages in `expiring` end first. Otherwise each sweep would read more messages into memory.
        if let sweepAt, now >= sweepAt, expiring.isEmpty {
            for lane in lanes.all {
                sweep(lane)
                if isStalled(lane) { putBackUnsent(lane) }
            }
            sweepActivities()
            lookForExpired()
            self.sweepAt = nil
        }
        if sweepAt == nil { sweepAt = now + policy.sweep }
    }
}
