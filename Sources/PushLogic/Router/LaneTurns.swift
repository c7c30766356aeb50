/// Chooses the lane of one app that sends next, and the number of deliveries in its turn. No lane waits forever:
///
/// - Of two priorities that wait, the higher one goes first, and the lower one gets one delivery in sixteen.
/// - Brief messages go before broad ones; broad messages get one delivery in four.
/// - First attempts go before further ones; further attempts get one delivery in four.
///
/// Each share is a debt that grows while others are served. It is paid when it is worth a turn.
package struct LaneTurns: Sendable {
    /// The number of lanes of an app: three priorities, the highest first, each with a brief lane and a broad one.
    package static let lanes = 6

    /// The lanes that could send now, one bit for each.
    package struct Waiting: Sendable, Equatable {
        package var fresh: UInt8 = 0
        package var again: UInt8 = 0

        package init() {}

        package var isEmpty: Bool { fresh | again == 0 }

        func holds(priority: Int) -> Bool { (fresh | again) >> (2 * priority) & 3 != 0 }
        func holds(lane: Int) -> Bool { (fresh | again) >> lane & 1 != 0 }
    }

    package struct Turn: Sendable, Equatable {
        package let lane: Int
        package let isAgain: Bool
        package let limit: Int

        package init(lane: Int, isAgain: Bool, limit: Int) {
            self.lane = lane
            self.isAgain = isAgain
            self.limit = limit
        }
    }

    private static let lowerShare = 15
    private static let broadShare = 3
    private static let againShare = 3
    /// The smallest number of deliveries for which a debt is paid, since each turn has a cost of its own.
    private static let run = 8

    private let quantum: Int
    private var owedToPriority = (0, 0, 0)
    private var owedToBroad = (0, 0, 0)
    private var owedToAgain = (0, 0, 0, 0, 0, 0)

    package init(quantum: Int = 128) {
        self.quantum = quantum
    }

    /// Returns the next turn; nil if no lane waits.
    package mutating func next(_ waiting: Waiting) -> Turn? {
        forgive(waiting)
        guard !waiting.isEmpty else { return nil }
        var limit = quantum
        var priority = 0
        while !waiting.holds(priority: priority) { priority += 1 }
        for lower in priority + 1..<max(3, priority + 1)
        where waiting.holds(priority: lower) && self[priority: lower] >= Self.lowerShare {
            priority = lower
            limit = min(limit, self[priority: lower] / Self.lowerShare)
            break
        }
        let brief = 2 * priority
        var lane = brief
        if !waiting.holds(lane: brief) {
            lane = brief + 1
        } else if waiting.holds(lane: brief + 1), self[broad: priority] >= Self.broadShare * Self.run {
            lane = brief + 1
            limit = min(limit, self[broad: priority] / Self.broadShare)
        }
        let isFresh = waiting.fresh >> lane & 1 != 0
        let isAgain = waiting.again >> lane & 1 != 0
        guard isFresh, isAgain, self[again: lane] >= Self.againShare * Self.run else {
            return Turn(lane: lane, isAgain: !isFresh, limit: limit)
        }
        return Turn(lane: lane, isAgain: true, limit: min(limit, self[again: lane] / Self.againShare))
    }

    /// Records that `count` deliveries were sent in the turn.
    package mutating func served(_ turn: Turn, count: Int, while waiting: Waiting) {
        let priority = turn.lane / 2
        self[priority: priority] = max(0, self[priority: priority] - count * Self.lowerShare)
        for lower in priority + 1..<max(3, priority + 1) where waiting.holds(priority: lower) {
            self[priority: lower] += count
        }
        if turn.lane & 1 == 1 {
            self[broad: priority] = max(0, self[broad: priority] - count * Self.broadShare)
        } else if waiting.holds(lane: turn.lane + 1) {
            self[broad: priority] += count
        }
        if turn.isAgain {
            self[again: turn.lane] = max(0, self[again: turn.lane] - count * Self.againShare)
        } else if waiting.again >> turn.lane & 1 != 0 {
            self[again: turn.lane] += count
        }
    }

    /// Cancels the debts to lanes that do not wait.
    private mutating func forgive(_ waiting: Waiting) {
        for priority in 0..<3 {
            if !waiting.holds(priority: priority) { self[priority: priority] = 0 }
            if !waiting.holds(lane: 2 * priority + 1) { self[broad: priority] = 0 }
        }
        for lane in 0..<Self.lanes where waiting.again >> lane & 1 == 0 { self[again: lane] = 0 }
    }

    // The debts are tuples instead of arrays because they are read every few deliveries.

    private subscript(priority priority: Int) -> Int {
        get { priority == 0 ? owedToPriority.0 : priority == 1 ? owedToPriority.1 : owedToPriority.2 }
        set {
            switch priority {
            case 0: owedToPriority.0 = newValue
            case 1: owedToPriority.1 = newValue
            default: owedToPriority.2 = newValue
            }
        }
    }

    private subscript(broad priority: Int) -> Int {
        get { priority == 0 ? owedToBroad.0 : priority == 1 ? owedToBroad.1 : owedToBroad.2 }
        set {
            switch priority {
            case 0: owedToBroad.0 = newValue
            case 1: owedToBroad.1 = newValue
            default: owedToBroad.2 = newValue
            }
        }
    }

    private subscript(again lane: Int) -> Int {
        get {
            switch lane {
            case 0: owedToAgain.0
            case 1: owedToAgain.1
            case 2: owedToAgain.2
            case 3: owedToAgain.3
            case 4: owedToAgain.4
            default: owedToAgain.5
            }
        }
        set {
            switch lane {
            case 0: owedToAgain.0 = newValue
            case 1: owedToAgain.1 = newValue
            case 2: owedToAgain.2 = newValue
            case 3: owedToAgain.3 = newValue
            case 4: owedToAgain.4 = newValue
            default: owedToAgain.5 = newValue
            }
        }
    }
}
