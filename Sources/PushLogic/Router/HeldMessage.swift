import PushModel
import PushTime

/// A message that the router holds whole.
struct HeldMessage {
    let accepted: AcceptedMessage
    var counts: OutcomeCounts
    /// Its app's place times six, and its lane there.
    let lane: Int
    let cost: Int
    /// When it could first go out, in milliseconds since 1970: it was accepted, and its `not_before` had come.
    let begin: Int64
    /// When some of its devices were last given to a gateway, in milliseconds since 1970.
    var givenAt: Int64 = 0
    /// Deliveries that are out or wait for another attempt.
    var open = 0
    /// Nobody is left to be sent to for the first time.
    var isThrough = false
    /// Nil for one that needs no look at any device but its only one.
    var fanOut: FanOut?

    init(_ accepted: AcceptedMessage, lane: Int) {
        self.accepted = accepted
        counts = accepted.counts
        self.lane = lane
        cost = accepted.size
        let notBefore = accepted.message.notBefore.map { WallTime(seconds: $0).milliseconds }
        // Both come from the disk: what is added to them must not overflow.
        begin = max(0, min(accepted.acceptedAt, .max / 4), notBefore ?? 0)
    }

    /// Its only device, which nobody else can have sent it to.
    var onlyToken: DeviceToken? {
        guard !accepted.needsClaim, case .tokens(let tokens) = accepted.audience, tokens.count == 1 else { return nil }
        return tokens[0]
    }
}

/// How far a message has come with its devices. A page is prepared while the one before it is sent.
final class FanOut {
    enum Step {
        case idle
        /// The registry is asked for a page, or will be.
        case paging
        /// The ledger is asked who had it, or will be.
        case claiming
    }

    struct Gone {
        let device: DeviceID
        let token: DeviceToken?
        let why: DeliveryRecord.Suppression
    }

    var step = Step.idle
    /// Being sent, from `at` on.
    var page: [AudiencePage.Device] = []
    var at = 0
    /// Comes after it.
    var ahead: [AudiencePage.Device] = []
    /// Being claimed: those to send to, and those that are gone, where it matters whether that was counted before.
    var pending: [AudiencePage.Device] = []
    var gone: [Gone] = []
    /// The registry's, or how many of the named tokens have been looked at.
    var cursor: AudienceCursor?
    var looked = 0
    var seen: DeviceIDTable?
    var hasAllPages = false
    /// Nobody else is to be found: it has expired.
    var isAbandoned = false
    /// Stands in its lane's line.
    var isReady = false
    /// Devices that its lane counts as prepared while they are awaited.
    var reserved = 0
    /// Nil unless the registry failed to answer its question the last time.
    var trouble: PageTrouble?

    var left: Int { page.count - at }
}

/// A question to the registry that has failed, and is asked again.
struct PageTrouble {
    var failures = 0
    /// How often in a row it failed although the registry had answered others since.
    var failuresAlone = 0
    /// How many answers the registry had given by then.
    var answers: UInt64
    var askAgainAt: MonotonicTime
    var text: String

    /// Whether it is the question that fails, and not the registry. Once may be chance: the answer that came in between
    /// may have been on its way already.
    var isItsOwn: Bool { failuresAlone >= 2 }
}

/// Places of held messages; each is used again.
struct HeldTable {
    private(set) var slots: [HeldMessage?] = []
    private var free: [Int32] = []

    var count: Int { slots.count - free.count }

    subscript(place: Int) -> HeldMessage {
        _read {
            guard slots[place] != nil else { preconditionFailure("router: no message is held at \(place)") }
            yield slots[place]!
        }
        _modify {
            guard slots[place] != nil else { preconditionFailure("router: no message is held at \(place)") }
            yield &slots[place]!
        }
    }

    mutating func add(_ held: HeldMessage) -> Int {
        if let place = free.popLast() {
            slots[Int(place)] = held
            return Int(place)
        }
        slots.append(held)
        return slots.count - 1
    }

    mutating func remove(_ place: Int) {
        slots[place] = nil
        free.append(Int32(place))
    }
}
