import PushModel
import PushTime

/// The state of one connection in the pool.
struct PoolSlot {
    enum Phase: Equatable {
        /// The host name is being looked up. Transitions to: connecting, gone.
        case lookingUp
        /// The shell is making the connection. Transitions to: open, closing, gone.
        case connecting
        /// Takes deliveries. Transitions to: draining, closing, gone.
        case open
        /// Takes no deliveries and waits for answers until the given time. Transitions to: closing, gone.
        case draining(until: MonotonicTime)
        /// The shell was asked to close it. Transitions to: gone.
        case closing
        /// The connection has closed, and deliveries that were handed to it then are coming back. The slot is removed
        /// when they have.
        case gone
    }

    let id: ConnectionID
    /// The number of the credential. A connection with an older one is replaced.
    let epoch: UInt32
    let begunAt: MonotonicTime
    var phase = Phase.lookingUp
    var address: String?
    var limit = 0
    /// The number of deliveries that were given to it and have not ended.
    var given = 0
    var answered: UInt64 = 0
    private var turnedAwayInARow = 0
    /// The time at which the peer first answered a PING.
    var aliveSince: MonotonicTime?
    /// The reason why it takes no more deliveries, if its end would not show that.
    var fault: ConnectionFault?

    /// Whether its start and its end are not reported, because it only repeats attempts that failed.
    var isQuiet = false

    /// The provider token of its requests, the time since when it is used, and the token before it.
    var token: UInt64 = 0
    var tokenSince: MonotonicTime
    var olderToken: UInt64?

    init(id: ConnectionID, epoch: UInt32, token: UInt64, now: MonotonicTime) {
        self.id = id
        self.epoch = epoch
        self.token = token
        begunAt = now
        tokenSince = now
    }

    /// Returns how many answers in a row have asked for another connection.
    mutating func turnedAway(_ tally: AnswerTally) -> Int {
        if tally.answers > tally.turnedAway { turnedAwayInARow = 0 }
        turnedAwayInARow += tally.turnedAway
        return turnedAwayInARow
    }

    /// Whether it takes deliveries or will.
    var isLive: Bool {
        switch phase {
        case .lookingUp, .connecting, .open: true
        case .draining, .closing, .gone: false
        }
    }

    var up: GatewayEvent { .up(id, address: address ?? "", streamLimit: limit) }

    var isPending: Bool { phase == .lookingUp || phase == .connecting }
}
