/// Chooses the lane of one app that sends next, and the number of deliveries in its turn. No lane waits forever:
///
/// - Of two priorities that wait, the higher one goes first, and the lower one gets one delivery in sixteen.
/// - Brief messages go before broad ones; broad messages get one delivery in four.
/// - First attempts go before further ones; further attempts get one delivery in four.
/// - Messages to Live Activities and other brief ones of the highest priority take turns.
///
/// Each share is a debt that grows while others are served. It is paid when it is worth a turn.
package struct LaneTurns: Sendable {
    /// The lanes that could send now, one bit for each kind.
    package struct Waiting: Sendable, Equatable {
        /// The lanes with first attempts.
        package var fresh: UInt8 = 0
        /// The lanes with further attempts.
        package var retries: UInt8 = 0

        package init() {}

        package var isEmpty: Bool { fresh | retries == 0 }

        func contains(urgency: Int) -> Bool {
            (fresh | retries) >> (2 * urgency) & 3 != 0 || urgency == 0 && contains(.activities)
        }
        func contains(_ lane: LaneKind) -> Bool { (fresh | retries) & lane.bit != 0 }
        func hasFresh(_ lane: LaneKind) -> Bool { fresh & lane.bit != 0 }
        func hasRetries(_ lane: LaneKind) -> Bool { retries & lane.bit != 0 }
    }

    package struct Turn: Sendable, Equatable {
        package let lane: LaneKind
        /// Whether further attempts are sent. Otherwise first ones are.
        package let isRetry: Bool
        package let limit: Int

        package init(lane: LaneKind, isRetry: Bool, limit: Int) {
            self.lane = lane
            self.isRetry = isRetry
            self.limit = limit
        }
    }

    private static let lowerShare = 15
    private static let broadShare = 3
    private static let retryShare = 3
    /// The smallest number of deliveries for which a debt is paid, since each turn has a cost of its own.
    private static let minRun = 8

    private let quantum: Int
    // The debts are tuples instead of arrays because they are read every few deliveries.
    private var owedToPriority = (0, 0, 0)
    private var owedToBroad = (0, 0, 0)
    private var owedToRetries = (0, 0, 0, 0, 0, 0, 0)
    private var wasOfActivities = false

    package init(quantum: Int = 128) {
        self.quantum = quantum
    }

    /// Returns the next turn; nil if no lane waits.
    package mutating func next(_ waiting: Waiting) -> Turn? {
        forgive(waiting)
        guard !waiting.isEmpty else { return nil }
        var limit = quantum
        var urgency = 0
        while !waiting.contains(urgency: urgency) { urgency += 1 }
        for lower in urgency + 1..<max(3, urgency + 1)
        where waiting.contains(urgency: lower) && self[priority: lower] >= Self.lowerShare {
            urgency = lower
            limit = min(limit, self[priority: lower] / Self.lowerShare)
            break
        }
        var brief = LaneKind(urgency: urgency, isBrief: true)
        if urgency == 0, waiting.contains(.activities), !wasOfActivities || !waiting.contains(brief) {
            brief = .activities
        }
        let broad = LaneKind(urgency: urgency, isBrief: false)
        var lane = brief
        if !waiting.contains(brief) {
            lane = broad
        } else if waiting.contains(broad), self[broad: urgency] >= Self.broadShare * Self.minRun {
            lane = broad
            limit = min(limit, self[broad: urgency] / Self.broadShare)
        }
        let hasFresh = waiting.hasFresh(lane)
        guard hasFresh, waiting.hasRetries(lane), self[retries: lane] >= Self.retryShare * Self.minRun else {
            return Turn(lane: lane, isRetry: !hasFresh, limit: limit)
        }
        return Turn(lane: lane, isRetry: true, limit: min(limit, self[retries: lane] / Self.retryShare))
    }

    /// Records that `count` deliveries were sent in the turn.
    package mutating func served(_ turn: Turn, count: Int, while waiting: Waiting) {
        let lane = turn.lane
        let urgency = lane.urgency
        if urgency == 0, lane.isBrief { wasOfActivities = lane == .activities }
        self[priority: urgency] = max(0, self[priority: urgency] - count * Self.lowerShare)
        for lower in urgency + 1..<max(3, urgency + 1) where waiting.contains(urgency: lower) {
            self[priority: lower] += count
        }
        if !lane.isBrief {
            self[broad: urgency] = max(0, self[broad: urgency] - count * Self.broadShare)
        } else if waiting.contains(LaneKind(urgency: urgency, isBrief: false)) {
            self[broad: urgency] += count
        }
        if turn.isRetry {
            self[retries: lane] = max(0, self[retries: lane] - count * Self.retryShare)
        } else if waiting.hasRetries(lane) {
            self[retries: lane] += count
        }
    }

    /// Cancels the debts to lanes that do not wait.
    private mutating func forgive(_ waiting: Waiting) {
        for urgency in 0..<3 {
            if !waiting.contains(urgency: urgency) { self[priority: urgency] = 0 }
            if !waiting.contains(LaneKind(urgency: urgency, isBrief: false)) { self[broad: urgency] = 0 }
        }
        for number in 0..<LaneKind.count {
            let lane = LaneKind(number)
            if !waiting.hasRetries(lane) { self[retries: lane] = 0 }
        }
    }

    private subscript(priority urgency: Int) -> Int {
        get { urgency == 0 ? owedToPriority.0 : urgency == 1 ? owedToPriority.1 : owedToPriority.2 }
        set {
            switch urgency {
            case 0: owedToPriority.0 = newValue
            case 1: owedToPriority.1 = newValue
            default: owedToPriority.2 = newValue
            }
        }
    }

    private subscript(broad urgency: Int) -> Int {
        get { urgency == 0 ? owedToBroad.0 : urgency == 1 ? owedToBroad.1 : owedToBroad.2 }
        set {
            switch urgency {
            case 0: owedToBroad.0 = newValue
            case 1: owedToBroad.1 = newValue
            default: owedToBroad.2 = newValue
            }
        }
    }

    private subscript(retries lane: LaneKind) -> Int {
        get {
            switch lane.number {
            case 0: owedToRetries.0
            case 1: owedToRetries.1
            case 2: owedToRetries.2
            case 3: owedToRetries.3
            case 4: owedToRetries.4
            case 5: owedToRetries.5
            default: owedToRetries.6
            }
        }
        set {
            switch lane.number {
            case 0: owedToRetries.0 = newValue
            case 1: owedToRetries.1 = newValue
            case 2: owedToRetries.2 = newValue
            case 3: owedToRetries.3 = newValue
            case 4: owedToRetries.4 = newValue
            case 5: owedToRetries.5 = newValue
            default: owedToRetries.6 = newValue
            }
        }
    }
}
