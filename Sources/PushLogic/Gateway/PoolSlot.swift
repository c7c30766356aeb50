import PushModel
import PushTime

/// What the machine knows of one connection.
struct PoolSlot {
    enum Phase: Equatable {
        /// Its name is being looked up. Transitions to: connecting, gone.
        case lookingUp
        /// The shell has made it. Transitions to: open, closing, gone.
        case connecting
        /// Takes deliveries. Transitions to: draining, closing, gone.
        case open
        /// Takes none, waits for answers until then. Transitions to: closing, gone.
        case draining(until: MonotonicTime)
        /// Was told to close. Transitions to: gone.
        case closing
        /// It has closed, and what was handed to it at that moment is on its way back. Removed when that has come.
        case gone
    }

    let id: ConnectionID
    /// Counts the credentials: a connection of an older one is replaced.
    let epoch: UInt32
    let begunAt: MonotonicTime
    var phase = Phase.lookingUp
    var address: String?
    var limit = 0
    /// Given to it and not ended.
    var given = 0
    var answered: UInt64 = 0
    /// When the peer first answered a PING.
    var aliveSince: MonotonicTime?
    /// Why it takes no more, where its end alone would not tell.
    var fault: ConnectionFault?

    /// The provider token that its requests carry, and since when; the one before it.
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

    /// It takes deliveries, or is to.
    var isLive: Bool {
        switch phase {
        case .lookingUp, .connecting, .open: true
        case .draining, .closing, .gone: false
        }
    }

    var isPending: Bool { phase == .lookingUp || phase == .connecting }
}
