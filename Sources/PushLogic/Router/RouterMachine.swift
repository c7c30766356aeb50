package import PushModel
package import PushTime

/// Decides which delivery goes out when: what waits in which lane, what of it is held in memory, who its devices are,
/// what goes out again, and when a message is done. It sees neither a clock nor a socket: inputs say what came, and
/// `run` at a tick's end answers with everything that is to be done about it.
///
/// A message goes this way: *spilled* (its number only) → *loaded* (whole) → *begun* (its devices are looked up and
/// claimed, a page at a time) → *ready* (devices to send to) → *through* (nobody left) → *done* (all have ended). One of
/// a single token that nobody can have had before goes from loaded to ready at once.
package struct RouterMachine: ~Copyable {
    package var policy: RouterPolicy
    let identities: Identities
    let inactive: any InactiveDevices

    var now: MonotonicTime
    var wall: WallTime

    var apps: [AppLine] = []
    /// Six an app.
    var lanes: [LaneLine] = []
    private var places: [AppID: Int] = [:]
    private var lastPlace = 0
    /// The app that begins the next tick.
    private var firstApp = 0

    var messages = HeldTable()
    var deliveries = DeliveryTable()
    var retries = RetryHeap()
    var held = 0
    var heldBytes = 0
    /// Being read back: they have their room already.
    var loading = 0

    /// How often a message has made room, up to now and until those who want some were last told.
    var releases: UInt64 = 0
    private var releasesTold: UInt64 = 0
    /// Something could not be read back for want of room.
    var wantsRoom = false

    /// Messages with named devices that expired before any was looked at.
    var expiring = PlaceRing()
    /// Messages whose page, or claim, is to be asked for when that can be answered.
    var pagesToAsk: [Int] = []
    var claimsToAsk: [Int] = []
    /// When the first of `pagesToAsk` is asked for again; nil: at once.
    var askPagesAt: MonotonicTime?
    /// Why the registry did not answer, until it answers again; and how often it has answered.
    var registryTrouble: String?
    var registryAnswers: UInt64 = 0
    /// The first few messages whose question fails alone.
    var failingAlone: [Int] = []
    var ledgerTrouble = Trouble()
    var fault: LedgerFault?
    /// Why nobody else is looked for, of the few messages that are like that, by their places.
    var failures: [Int: MessageFailure] = [:]
    /// Messages that the ledger could not read.
    var damaged: UInt64 = 0
    var isStopped = false

    /// Seconds since 1970.
    var nextDue: Int64?
    var isDueAsked = false
    /// The earliest that was accepted while the ledger was asked.
    var notedDue: Int64?
    var sweepAt: MonotonicTime?
    /// The lane of which a part is being read to see what of it has expired; and the last one that was.
    var lookedAt: Int?
    var lastLooked = 0
    /// Apps whose waiting messages are being dropped.
    var droppedApps = 0
    /// The highest number of a message so far.
    var newest: UInt64 = 0

    /// Accepted, not scheduled, and not done.
    package internal(set) var unfinished = 0
    /// Reports of deliveries that are not out: never right.
    package internal(set) var surplus = 0

    var actions = RouterActions()
    private var lastRecords = 0

    package init(
        _ policy: RouterPolicy, identities: Identities, inactive: any InactiveDevices, now: MonotonicTime,
        wall: WallTime
    ) {
        self.policy = policy
        self.identities = identities
        self.inactive = inactive
        self.now = now
        self.wall = wall
    }

    /// Before the inputs of a tick.
    package mutating func tick(now: MonotonicTime, wall: WallTime) {
        self.now = now
        self.wall = wall
    }

    // MARK: Inputs about the world

    /// A gateway has appeared or gone. Returns the app's place, by which submissions name it.
    ///
    /// - Parameter source: by which its reports are known from those of the one before it.
    package mutating func gateChanged(_ app: AppID, isThere: Bool, source: ObjectIdentifier? = nil) -> Int {
        let place = place(of: app)
        apps[place].hasGate = isThere
        apps[place].gate = source
        apps[place].submitted = 0
        // It begins to report before its owner can say that it is there, and says a thing once.
        apps[place].window = apps[place].takeEarly(source)
        apps[place].isDirty = true
        // What had no room for want of a gateway is to be read back now.
        for lane in lanesOf(place) { lanes[lane].fullAt = nil }
        if isThere { endDropping(place) } else { unload(place) }
        return place
    }

    package mutating func healthChanged(_ fault: LedgerFault?) {
        self.fault = fault
        // Those that were not asked for while it could not write wait for no time.
        if fault == nil { askPagesAt = nil }
        markAll()
    }

    /// Nothing goes out any more. What is out comes back by reports; what waits is on disk.
    package mutating func stop() {
        isStopped = true
    }

    /// Deliveries that a gateway has.
    package var out: Int { apps.reduce(0) { $0 + $1.out } }

    var mayWork: Bool { fault == nil && !isStopped }

    func place(ofLane lane: Int) -> Int { lane / LaneTurns.lanes }

    func lanesOf(_ place: Int) -> Range<Int> { place * LaneTurns.lanes..<(place + 1) * LaneTurns.lanes }

    mutating func place(of app: AppID) -> Int {
        if lastPlace < apps.count, apps[lastPlace].app == app { return lastPlace }
        if let place = places[app] {
            lastPlace = place
            return place
        }
        let place = apps.count
        apps.append(AppLine(app, quantum: policy.laneQuantum))
        for _ in 0..<LaneTurns.lanes { lanes.append(LaneLine()) }
        places[app] = place
        lastPlace = place
        return place
    }

    func lane(_ lane: Lane, at place: Int) -> Int {
        let priority =
            switch lane.priority {
            case .ten: 0
            case .five: 1
            case .one: 2
            }
        return place * LaneTurns.lanes + 2 * priority + (lane.isBroad ? 1 : 0)
    }

    private mutating func markAll() {
        for place in apps.indices { apps[place].isDirty = true }
    }

    // MARK: The tick's end

    /// Everything that is to be done now. `hasMore`: another tick is wanted at once.
    package mutating func run() -> (actions: RouterActions, hasMore: Bool) {
        var hasMore = false
        wake()
        // While it cannot be written what has expired waits too, or it would fill the memory.
        if mayWork {
            sweepIfDue()
            if !expiring.isEmpty { expireSome() }
            askWhatWaits()
            askDue()
            offerRoom()
            if firstApp >= apps.count { firstApp = 0 }
            for offset in apps.indices {
                let place = firstApp + offset < apps.count ? firstApp + offset : firstApp + offset - apps.count
                if apps[place].isDirty { hasMore = dispatch(place) || hasMore }
            }
            firstApp += 1
        }
        lastRecords = actions.records.count
        var taken = RouterActions()
        swap(&taken, &actions)
        if mayWork, wantsRoom, releases != releasesTold { hasMore = true }
        return (taken, hasMore || mayWork && !expiring.isEmpty)
    }

    private mutating func offerRoom() {
        if wantsRoom, releases != releasesTold {
            wantsRoom = false
            markAll()
        }
        releasesTold = releases
    }

    /// A busy tick brings about as much as the one before it.
    mutating func reserveRecords(_ count: Int) {
        if actions.records.isEmpty { actions.records.reserveCapacity(max(count, lastRecords)) }
    }

    private mutating func wake() {
        // After the stop what waits is on disk, and nobody is there to write what became of it.
        while !isStopped, let delivery = retries.popDue(at: now) { retryIsDue(delivery) }
        if let until = ledgerTrouble.until, until <= now { markAll() }
    }

    /// When `run` wants to be called again, if nothing comes before.
    package var nextDeadline: MonotonicTime? {
        if isStopped { return nil }
        var earliest = retries.earliest ?? .distantFuture
        if let until = ledgerTrouble.until, until > now { earliest = min(earliest, until) }
        if let askPagesAt, !pagesToAsk.isEmpty, mayWork { earliest = min(earliest, askPagesAt) }
        if let nextDue, !isDueAsked, fault == nil {
            let wait = Duration.milliseconds(max(0, WallTime(seconds: nextDue).milliseconds - wall.milliseconds))
            // The clock on the wall may be set: it is looked at again each minute.
            var at = now + min(wait, .seconds(60))
            if wait == .zero { at = max(ledgerTrouble.until ?? at, now + .milliseconds(100)) }
            earliest = min(earliest, at)
        }
        if let sweepAt, mayWork { earliest = min(earliest, sweepAt) }
        return earliest == .distantFuture ? nil : earliest
    }

    private mutating func sweepIfDue() {
        guard !isStopped, unfinished > 0 else {
            sweepAt = nil
            return
        }
        // What has expired by now goes first, or whole messages of all that waits would fill the memory.
        if let sweepAt, now >= sweepAt, expiring.isEmpty {
            for lane in lanes.indices {
                sweep(lane)
                if isStalled(lane) { putBackUnsent(lane) }
            }
            lookForExpired()
            self.sweepAt = nil
        }
        if sweepAt == nil { sweepAt = now + policy.sweep }
    }
}
