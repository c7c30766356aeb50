package import PushTime

/// The request to cancel a message: what has not gone out does not go out.
package struct CancelRequest: Sendable, Equatable {
    package let app: AppID
    package let id: MessageID
    /// The name of the client or operator that asks; nil if it is not known.
    package let client: String?
    /// The numbers of the parts of the ledger whose messages are cancelled; nil for the part of the id. Messages to Live
    /// Activities are in the parts of the activities' names.
    package private(set) var parts: [Int]?

    package init(_ id: MessageID, of app: AppID, by client: String? = nil) {
        self.app = app
        self.id = id
        self.client = client
    }

    /// Returns the request for messages in these parts.
    package func within(_ parts: [Int]) -> CancelRequest {
        var request = self
        request.parts = parts
        return request
    }
}

/// The answer to a ``CancelRequest``. It is given only after it is on disk.
package enum Cancellation: Sendable, Equatable {
    /// No further delivery of the message starts, also after a restart. A repeated request gets the same counts.
    case cancelled(CancelCounts)
    /// The message was complete: all its deliveries have ended.
    case tooLate
    /// No message with this id is remembered.
    case unknown
    /// The ledger cannot write or is closed; the same request may succeed later. The text for people names the cause.
    case failed(String)
}

extension Cancellation {
    /// Returns what became of a message to a family as a whole, from the answers for its members. Of those that are
    /// cancelled, it has the sum of the counts.
    package init(of members: [Cancellation]) {
        var sum: CancelCounts?
        var others = Cancellation.unknown
        for member in members {
            switch member {
            case .failed:
                self = member
                return
            case .cancelled(let counts): sum = (sum ?? CancelCounts()) + counts
            case .tooLate: others = .tooLate
            case .unknown: break
            }
        }
        self = sum.map { .cancelled($0) } ?? others
    }

    /// The word for the app of a family in acks and answers.
    package var word: String {
        switch self {
        case .cancelled: "cancelled"
        case .tooLate: "too_late"
        case .unknown: "unknown_message"
        case .failed: "failed"
        }
    }
}

extension Cancellation {
    package var isFailure: Bool { if case .failed = self { true } else { false } }
}

/// The answers of several parts of a ledger to the same requests to cancel, joined as those for the members of a family
/// are.
package struct JoinedCancellations: Sendable {
    private var answers: [Cancellation]
    private var missing: Int

    /// - Parameters:
    ///   - answers: What is known before; ``Cancellation/unknown`` for each request if that is nothing.
    ///   - calls: The number of calls whose answers follow.
    package init(_ answers: [Cancellation], calls: Int) {
        (self.answers, missing) = (answers, calls)
    }

    /// Takes the answers to one call, in the order of the requests. Returns all of them joined after the last one.
    package mutating func take(_ others: [Cancellation]) -> [Cancellation]? {
        for (place, other) in others.enumerated() where place < answers.count {
            answers[place] = Cancellation(of: [answers[place], other])
        }
        missing -= 1
        return missing == 0 ? answers : nil
    }
}

/// The deliveries of a cancelled message at the time of its cancellation.
package struct CancelCounts: Sendable, Equatable {
    /// The deliveries that the push service accepted, and those that were written to it and were not answered yet.
    package var sent: UInt64
    /// The deliveries that were not sent. Of an audience that the registry determines, only the devices that had been
    /// found count: the search for the others ends.
    package var cancelled: UInt64
    /// Whether a message to a Live Activity was cancelled, so that the id may have messages to others in other parts.
    package var isOfActivities = false

    package init(sent: UInt64 = 0, cancelled: UInt64 = 0) {
        self.sent = sent
        self.cancelled = cancelled
    }

    package static func ofActivities(sent: UInt64, cancelled: UInt64) -> CancelCounts {
        var counts = CancelCounts(sent: sent, cancelled: cancelled)
        counts.isOfActivities = true
        return counts
    }

    fileprivate static func + (left: CancelCounts, right: CancelCounts) -> CancelCounts {
        var sum = CancelCounts(sent: left.sent &+ right.sent, cancelled: left.cancelled &+ right.cancelled)
        sum.isOfActivities = left.isOfActivities || right.isOfActivities
        return sum
    }
}

/// The order to stop the messages of a cancelled id, which the ledger gives after the cancellation is on disk.
package struct CancelOrder: Sendable {
    /// One message with the id. An id has several if it was accepted for several audiences.
    package struct Part: Sendable {
        package let seq: UInt64
        /// The lane in which the message waits; nil if it is not due yet, or if it is damaged.
        package let lane: Lane?
        /// The number of different devices that the message names; nil if the registry determines them.
        package let named: Int?
        /// The time since which the message waits; nil if it is damaged.
        package let begin: WallTime?

        package init(seq: UInt64, lane: Lane?, named: Int?, begin: WallTime?) {
            self.seq = seq
            self.lane = lane
            self.named = named
            self.begin = begin
        }
    }

    /// The number of the cancellation.
    package let number: UInt64
    package let parts: [Part]

    package init(number: UInt64, parts: [Part]) {
        self.number = number
        self.parts = parts
    }
}

/// The report that the messages of a ``CancelOrder`` are stopped.
package struct CancelEnd: Sendable, Equatable {
    package enum Fate: Sendable, Equatable {
        /// The message was not in memory: it waits on disk, or it was completed before.
        case absent
        /// The message was in memory, and none of its deliveries starts any more.
        ///
        /// - Parameters:
        ///   - sent: the deliveries that the push service accepted.
        ///   - underWay: those that were written and are not answered.
        ///   - cancelled: those that are not sent.
        ///   - ended: all that have an outcome in the ledger, with those that were sent.
        case stopped(sent: UInt64, underWay: UInt64, cancelled: UInt64, ended: UInt64)
        /// The message had ended, for example because it expired, and its last records are being written.
        case ending
    }

    package struct Part: Sendable, Equatable {
        package let seq: UInt64
        package let fate: Fate

        package init(seq: UInt64, fate: Fate) {
            self.seq = seq
            self.fate = fate
        }
    }

    package let number: UInt64
    package let parts: [Part]

    package init(number: UInt64, parts: [Part]) {
        self.number = number
        self.parts = parts
    }
}
