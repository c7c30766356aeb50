import PushModel
import PushTime

/// A message that is completely in memory.
struct HeldMessage {
    let accepted: AcceptedMessage
    var counts: OutcomeCounts
    /// The index of its lane in ``RouterMachine/lanes``.
    let lane: Int
    let cost: Int
    /// The time at which the message could first be sent, in milliseconds since 1970: its acceptance or its
    /// `not_before`, whichever is later.
    let begin: Int64
    /// The time at which a page of the message was last given to a gateway, in milliseconds since 1970.
    var givenAt: Int64 = 0
    /// The number of deliveries that are at a gateway or wait for another attempt.
    var open = 0
    /// Whether no device is left for a first attempt.
    var isThrough = false
    /// The search for devices. Nil for a message whose single token needs no claim, and before and after the search.
    var fanOut: FanOut?

    init(_ accepted: AcceptedMessage, lane: Int) {
        self.accepted = accepted
        counts = accepted.counts
        self.lane = lane
        cost = accepted.size
        let notBefore = accepted.message.notBefore.map { WallTime(seconds: $0).milliseconds }
        // Both times come from the disk. They are clamped, so that later additions do not overflow.
        begin = max(0, min(accepted.acceptedAt, .max / 4), notBefore ?? 0)
    }

    /// The only token of a message that needs no claim, because no other message with its id can have reached the
    /// device.
    var onlyToken: DeviceToken? {
        guard !accepted.needsClaim, case .tokens(let tokens) = accepted.audience, tokens.count == 1 else { return nil }
        return tokens[0]
    }
}

/// The progress of a message through its devices. A page is prepared while the one before it is sent.
final class FanOut {
    enum Step {
        case idle
        /// The next page is or will be requested from the registry.
        case paging
        /// The claim of a page is or will be requested from the ledger.
        case claiming
    }

    /// A device that is suppressed, and the reason.
    struct Gone {
        let device: DeviceID
        let token: DeviceToken?
        let why: DeliveryRecord.Suppression
    }

    var step = Step.idle
    /// The page that is being sent; the devices before index `at` are done.
    var page: [AudiencePage.Device] = []
    var at = 0
    /// The page after it, ready to be sent.
    var ahead: [AudiencePage.Device] = []
    /// The devices that are being claimed: those to send to, and those that are suppressed. The latter are claimed only
    /// if they may have been counted before a restart.
    var pending: [AudiencePage.Device] = []
    var gone: [Gone] = []
    /// The registry's cursor, or the number of named tokens that were looked at.
    var cursor: AudienceCursor?
    var looked = 0
    /// The devices of the named tokens so far, which tell duplicates.
    var seen: DeviceIDTable?
    var hasAllPages = false
    /// Whether the message has expired, so that no further devices are looked up.
    var isAbandoned = false
    /// Whether the message is in the `ready` queue of its lane.
    var isReady = false
    /// The number of devices that the lane counts as prepared while their page is requested.
    var reserved = 0
    /// The failure of the last page request; nil if that succeeded.
    var trouble: PageTrouble?

    /// The number of devices of the current page that are not sent to.
    var left: Int { page.count - at }
}

/// The retry state of a page request that failed.
struct PageTrouble {
    var failures = 0
    /// The number of failures in a row between which the registry answered other requests.
    var failuresAlone = 0
    /// The number of answers that the registry had given by the last failure.
    var answers: UInt64
    var askAgainAt: MonotonicTime
    var text: String

    /// Whether the request itself fails, and not the registry. A single failure may be a coincidence: the answer in
    /// between may have been under way already.
    var isItsOwn: Bool { failuresAlone >= 2 }
}

/// The held messages by slot. Free slots are reused.
struct HeldTable {
    private(set) var slots: [HeldMessage?] = []
    private var free: [Int32] = []

    var count: Int { slots.count - free.count }

    subscript(place: Int) -> HeldMessage {
        _read {
            guard slots[place] != nil else { preconditionFailure("router: no message in slot \(place)") }
            yield slots[place]!
        }
        _modify {
            guard slots[place] != nil else { preconditionFailure("router: no message in slot \(place)") }
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
