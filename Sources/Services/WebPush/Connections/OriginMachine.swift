import PushGateways
import PushLogic
import PushModel
import PushRandom
import PushTime

/// The decisions of a pool: which origin a delivery belongs to, which connections there are, what each of them gets, and
/// what goes back because an origin does not keep up.
///
/// Every delivery that the machine takes ends exactly once. The ended ones are fetched with ``takeEnded()``. The credit of
/// the pool is one for all origins, so none may hold it. What quiet origins have does not count: the pool offers its owner
/// as much more. Whether such an origin is slow or stalled shows later: then it keeps a few deliveries, and those above go
/// back to be sent later. The shell calls ``turn(now:at:)`` after all inputs of a tick and executes what it returns.
struct OriginMachine: ~Copyable {
    enum Action: Sendable {
        /// Look up the host, and then call ``lookedUp(_:_:now:)``.
        case lookUp(UInt32, Origin)
        case connect(ConnectionID, Origin, address: String, isHTTP1: Bool)
        case deliver(ConnectionID, [Delivery])
        case drain(ConnectionID)
        case close(ConnectionID)
        /// Nothing is sent to the origin for this long.
        case announce(FailingOrigin, for: Duration)
    }

    struct Limits: Sendable {
        /// The number of deliveries that the pool has at once, besides those that its owner hands over in advance.
        var credit = 2000
        /// The largest number, while some origins are quiet.
        var maxCredit = 20_000
        /// The origins that are remembered.
        var origins = 1024
        var connections = 64
        var connectionsOfOrigin = 2
        /// The look-ups at once. The threads of the resolver are few.
        var lookUps = 4
        /// The requests at once on a connection, whatever the peer allows.
        var streams = 250
        /// The requests at once at an origin that has not answered yet.
        var firstWindow = 16
        /// An origin that has answered nothing for this long is quiet, and one whose connections have never answered is
        /// from the beginning.
        var quietAfter: Duration = .milliseconds(100)
        /// An origin that has answered nothing for this long is stalled.
        var patience: Duration = .seconds(2)
        /// The same while quiet origins have all that the pool may offer.
        var shortPatience: Duration = .milliseconds(500)
        /// The number of deliveries that wait for an origin that is stalled or failed.
        var waitingAtStalled = 16
        var idle: Duration = .seconds(30)
        var lookUpTimeout: Duration = .seconds(10)
        /// The time after which an origin without HTTP/2 is asked for it again.
        var http1: Duration = .seconds(3600)
        /// The time for which a name that leads to a private address is not looked up again.
        var barred: Duration = .seconds(5)
        var health = OriginHealth.Policy()
        /// The time between two announcements of origins with the same name in the settings.
        var announceEvery: Duration = .seconds(60)
        /// The time for which an origin that nothing is sent to any more counts as failing. It is longer than the longest
        /// pause, after which what waits is sent again.
        var failingFor: Duration = .seconds(600)

        /// The number of deliveries that wait for all origins together that are stalled or failed.
        var waitingAtAllStalled: Int { credit / 4 }
    }

    enum Phase: Equatable {
        /// Can transition to: ending.
        case running
        /// Takes no deliveries; the connections close. Can transition to: closed.
        case ending
        case closed
    }

    let limits: Limits
    let rules: OriginRules
    let check: AddressCheck
    /// The keys that requests are signed with; empty if that is not known.
    private let keys: [VAPIDKeyID]
    var phase = Phase.running
    var slots: [OriginSlot] = []
    /// The numbers of the origins that have deliveries, connections or a look-up.
    var active: [Int] = []
    var key: EndpointKey
    private var table: OriginTable
    /// The origin of the last delivery. Consecutive ones often have the same.
    private var last: Int?
    /// When an origin was last announced, by its name in the settings.
    var announced: [String: MonotonicTime] = [:]
    var lookUpsRunning = 0
    var lastLookUp: UInt32 = 0
    var lastID: UInt32 = 0
    var answered: UInt64 = 0
    /// The deliveries that wait for origins that are stalled or failed, since the last turn.
    var waitingAtStalled = 0
    /// The number of deliveries that the owner may hand over, besides those in advance.
    var offered: Int
    /// Whether quiet origins have all that the pool may offer.
    var isShort = false
    var turnNumber = 0
    var sweepAt: MonotonicTime?
    var random: SeededRandom
    var actions: [Action] = []
    private var ended: [AttemptReport] = []

    init(rules: OriginRules, keys: [VAPIDKeyID] = [], limits: Limits = Limits(), seed: UInt64) {
        self.limits = limits
        self.keys = keys
        offered = limits.credit
        self.rules = rules
        check = AddressCheck(exceptions: rules.privateNetworks)
        random = SeededRandom(seed: seed)
        key = EndpointKey(seed: random.next())
        table = OriginTable(capacity: limits.origins)
    }

    var waitingCount: Int { active.reduce(0) { $0 + slots[$1].waiting.count } }
    var givenCount: Int { active.reduce(0) { $0 + slots[$1].given } }
    var linkCount: Int { active.reduce(0) { $0 + slots[$1].links.count } }
    var connectedOrigins: Int { active.count { !slots[$0].links.isEmpty } }
    var hasEnded: Bool { !ended.isEmpty }
    /// Whether every connection has closed and every delivery has ended, so that the pool may report its end.
    var isDone: Bool { phase == .ending && linkCount == 0 }

    /// Whether the connection is open, or has closed and has deliveries that are coming back.
    func has(_ id: ConnectionID) -> Bool { active.contains { slots[$0].links.contains { $0.id == id } } }

    /// Returns the deliveries that have ended since the last call, in order.
    mutating func takeEnded() -> [AttemptReport] {
        let batch = ended
        ended = []
        ended.reserveCapacity(min(batch.count, 1024))
        return batch
    }

    // MARK: Commands of the owner

    mutating func deliver(_ deliveries: [Delivery], now: MonotonicTime) {
        for delivery in deliveries {
            if phase == .running { take(delivery, now: now) } else { end(delivery, as: .notProcessed) }
        }
    }

    /// Gives back the waiting deliveries of cancelled messages.
    mutating func recall() {
        for index in active {
            for delivery in slots[index].waiting.removeWithdrawn() { end(delivery, as: .notProcessed) }
        }
    }

    /// Gives back all waiting deliveries.
    mutating func giveBack() {
        for index in active {
            while let delivery = slots[index].waiting.popFirst() { end(delivery, as: .notProcessed) }
        }
    }

    /// Takes no more deliveries and ends the connections, when those in flight have ended or at once.
    mutating func finish(atOnce: Bool) {
        guard phase != .closed else { return }
        phase = .ending
        giveBack()
        for index in active {
            slots[index].lookUp = nil
            for at in slots[index].links.indices {
                let link = slots[index].links[at]
                switch link.phase {
                case .connecting: actions.append(.close(link.id))
                case .open: actions.append(atOnce ? .close(link.id) : .drain(link.id))
                case .closing: if atOnce { actions.append(.close(link.id)) }
                case .gone: continue
                }
                slots[index].links[at].phase = .closing
            }
        }
    }

    // MARK: Origins

    private mutating func take(_ delivery: Delivery, now: MonotonicTime) {
        key.read(delivery.token)
        let id = key.vapidKeyID
        guard let index = slot(for: delivery, now: now) else { return }
        slots[index].usedAt = now
        slots[index].health.timePassed(now: now)
        if let id, !keys.isEmpty, !keys.contains(id) { return refuse(delivery, as: .otherVAPIDKey) }
        if let until = slots[index].barredUntil, now < until { return refuse(delivery, as: .privateAddress) }
        if let until = slots[index].health.opensUntil {
            return refuse(delivery, as: slots[index].unavailable, retryAfter: pause(until: until, now: now))
        }
        if isInDoubt(index, now: now) {
            guard slots[index].waiting.count < limits.waitingAtStalled, waitingAtStalled < limits.waitingAtAllStalled
            else { return refuse(delivery, as: slots[index].busy, retryAfter: busyPause()) }
            waitingAtStalled += 1
        }
        if slots[index].held == 0 { slots[index].progressAt = now }
        slots[index].waiting.append(delivery)
        if !slots[index].isActive {
            slots[index].isActive = true
            active.append(index)
        }
    }

    /// Whether it is doubtful that the origin takes what waits for it.
    func isInDoubt(_ index: Int, now: MonotonicTime) -> Bool {
        slots[index].health.isTroubled || slots[index].isStalled(after: patience, now: now)
    }

    var patience: Duration { isShort ? limits.shortPatience : limits.patience }

    /// Returns the number of the origin of a delivery, whose key was read. Ends the delivery and returns nil if it has
    /// none.
    private mutating func slot(for delivery: borrowing Delivery, now: MonotonicTime) -> Int? {
        if let last, slots[last].hash == key.hash, slots[last].key == key.bytes { return last }
        if let found = known() { return found }
        guard let origin = delivery.token.origin, rules.allow(origin) else {
            refuse(copy delivery, as: .originNotAllowed)
            return nil
        }
        // The endpoint may name the origin in another form, such as with the port 443.
        key.read(origin)
        if let found = known() { return found }
        guard let added = add(origin, now: now) else {
            refuse(copy delivery, as: .originBusy, retryAfter: busyPause())
            return nil
        }
        last = added
        return added
    }

    private mutating func known() -> Int? {
        let found = table.find(key.hash) { slots[$0].key == key.bytes }
        if let found { last = found }
        return found
    }

    /// Adds an origin, in place of the one that was used least recently if there are too many. Nil if all are in use.
    private mutating func add(_ origin: Origin, now: MonotonicTime) -> Int? {
        let slot = OriginSlot(origin, key: key.bytes, hash: key.hash, window: limits.firstWindow, now: now)
        let index: Int
        if slots.count < limits.origins {
            index = slots.count
            slots.append(slot)
        } else {
            var oldest: Int?
            for index in slots.indices where !slots[index].isActive {
                if let found = oldest, slots[found].usedAt <= slots[index].usedAt { continue }
                oldest = index
            }
            guard let oldest else { return nil }
            table.remove(oldest, hash: slots[oldest].hash)
            slots[oldest] = slot
            index = oldest
        }
        table.insert(index, hash: slot.hash)
        return index
    }

    // MARK: Ends of deliveries

    mutating func end(_ delivery: Delivery, as result: AttemptResult) {
        ended.append(AttemptReport(of: delivery, result, latency: .zero))
    }

    mutating func end(_ reports: [AttemptReport]) {
        if ended.isEmpty { ended = reports } else { ended.append(contentsOf: reports) }
    }

    mutating func refuse(_ delivery: Delivery, as reason: ProviderReason, retryAfter: Int? = nil) {
        end(delivery, as: .refused(Refusal(status: 0, reason: reason, retryAfter: retryAfter)))
    }

    /// Returns the seconds until an origin that is not available may be tried again, spread so that its deliveries do not
    /// all come back at once.
    mutating func pause(until: MonotonicTime, now: MonotonicTime) -> Int {
        let seconds = max(0, (until - now) / .seconds(1))
        return Int((seconds * (1 + random.unit() / 2)).rounded(.up)) + 1
    }

    mutating func busyPause() -> Int { 5 + Int(random.unit() * 5) }
}
