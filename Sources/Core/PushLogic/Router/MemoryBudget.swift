/// The memory for messages: how much all lanes use together, and how much more each of them may use.
///
/// The lanes share a pool. A lane that is alone may use most of it. Lanes that cannot send may still use up the pool
/// together, each with its share of what the others left. Therefore each lane also has a floor of its own beyond the
/// pool.
///
/// A lane that finds no room wants some. The first release after that is offered to all lanes.
struct MemoryBudget {
    /// The messages of one lane that are in memory, or on their way from disk.
    struct Use {
        /// The number of messages in memory, and their size in bytes.
        fileprivate(set) var held = 0
        fileprivate(set) var bytes = 0
        /// The number of messages that are being read back.
        fileprivate(set) var loading = 0
        /// An estimate of the size of a large message of the lane, from the latest messages.
        private(set) var typicalCost = 4096
        /// The number of releases when messages that were read back found no room. The lane reads nothing back until
        /// that number changes.
        fileprivate var fullAt: UInt64?

        mutating func noteCost(_ cost: Int) { typicalCost = max(cost, typicalCost - typicalCost / 8) }

        /// Lets the lane read messages back again, although nothing was released since they found no room.
        mutating func forgetFull() { fullAt = nil }
    }

    /// The share of the free pool that a lane may hold, in halves, by kind of lane.
    private static let shares = [8, 4, 4, 2, 2, 1, 4]

    private let maxMessages: Int
    private let maxBytes: Int
    private let laneFloor: Int
    private let laneFloorBytes: Int

    /// The number of messages in memory, and their size in bytes.
    private(set) var held = 0
    private(set) var bytes = 0
    /// The number of messages that are being read back. They use up room in the pool.
    private var loading = 0
    /// The number of times that a message freed its room: until now, and until room was last offered.
    private var releases: UInt64 = 0
    private var offeredReleases: UInt64 = 0
    /// Whether a lane could not read messages back for lack of room.
    private var wantsRoom = false

    init(_ policy: RouterPolicy) {
        maxMessages = policy.loadedMessages
        maxBytes = policy.loadedBytes
        laneFloor = policy.laneFloor
        laneFloorBytes = policy.laneFloorBytes
    }

    // MARK: Use

    /// Adds a message of this size to those that a lane holds.
    mutating func hold(_ cost: Int, in lane: inout Use) {
        lane.held += 1
        lane.bytes += cost
        held += 1
        bytes += cost
    }

    /// Removes a message from those that a lane holds.
    mutating func release(_ cost: Int, from lane: inout Use) {
        lane.held -= 1
        lane.bytes -= cost
        held -= 1
        bytes -= cost
        releases &+= 1
    }

    mutating func beginLoading(_ count: Int, into lane: inout Use) {
        lane.loading += count
        loading += count
    }

    mutating func endLoading(_ count: Int, into lane: inout Use) {
        lane.loading -= count
        loading -= count
    }

    /// Records that messages that were read back found no room in the lane.
    func markFull(_ lane: inout Use) { lane.fullAt = releases }

    // MARK: Room

    /// Returns whether a lane may hold one more message of this size.
    ///
    /// - Parameter hasCredit: Whether the gateway of the lane takes deliveries. Otherwise the lane has no floor, so that
    ///   lanes that are down hold no more than they had.
    func hasRoom(for cost: Int, in lane: Use, kind: LaneKind, hasCredit: Bool) -> Bool {
        if room(of: lane, kind: kind) > 0, fits(cost) { return true }
        return hasCredit && fitsFloor(cost, of: lane)
    }

    /// Returns whether a lane may hold a message that was read back. There was room when it was requested.
    func hasRoom(forLoaded cost: Int, in lane: Use) -> Bool {
        held < maxMessages && fits(cost) || fitsFloor(cost, of: lane)
    }

    /// Returns the number of messages that a lane may read back now, at most `limit`.
    func loadLimit(of lane: Use, kind: LaneKind, hasCredit: Bool, limit: Int) -> Int {
        let byBytes = max(1, max(0, maxBytes - bytes) / 4 / lane.typicalCost)
        let pooled = min(room(of: lane, kind: kind), byBytes)
        return min(limit, max(pooled, hasCredit ? floorRoom(of: lane) : 0))
    }

    /// Returns whether no message was released since messages that were read back found no room in the lane.
    func isFull(_ lane: Use) -> Bool { lane.fullAt == releases }

    /// Returns the number of further messages that the lane may hold in the pool.
    private func room(of lane: Use, kind: LaneKind) -> Int {
        let share = Self.shares[kind.number]
        let free = maxMessages - held - loading
        let freeBytes = maxBytes - bytes
        guard free > 0, lane.bytes == 0 || lane.bytes * 2 < freeBytes * share else { return 0 }
        let own = lane.held + lane.loading
        if own == 0 { return max(1, min(free, free * share / 2)) }
        return max(0, min(free, free * share / 2 - own))
    }

    private func fits(_ cost: Int) -> Bool { bytes == 0 || bytes + cost <= maxBytes }

    private func fitsFloor(_ cost: Int, of lane: Use) -> Bool {
        lane.held == 0 || (lane.held < laneFloor && lane.bytes + cost <= laneFloorBytes)
    }

    /// Returns the number of further messages that the lane may read back beyond the pool.
    private func floorRoom(of lane: Use) -> Int {
        let own = lane.held + lane.loading
        let freeBytes = laneFloorBytes - lane.bytes - lane.loading * lane.typicalCost
        return max(own == 0 ? 1 : 0, min(laneFloor - own, freeBytes / lane.typicalCost))
    }

    // MARK: Offers

    /// Records that a lane wants room to read messages back.
    mutating func requestRoom() { wantsRoom = true }

    /// Whether a lane wants room, and some was released since the last offer.
    var hasOffer: Bool { wantsRoom && releases != offeredReleases }

    /// Returns ``hasOffer``, and ends the offer.
    mutating func takeOffer() -> Bool {
        let hasOffer = hasOffer
        if hasOffer { wantsRoom = false }
        offeredReleases = releases
        return hasOffer
    }
}
