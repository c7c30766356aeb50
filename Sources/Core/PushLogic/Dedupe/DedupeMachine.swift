package import PushModel
import PushTime

/// The rules of deduplication: which request is new, which device may get a message, and what is forgotten when.
///
/// The machine holds numbers and fingerprints only. An engine below it stores the keys, commits groups, and looks up a
/// stored key when a rule needs it; the order of the calls is that of the engine's transactions:
/// - A *group* is decided upon with ``decide(_:in:storedKey:)``, ``end(_:as:acceptedAt:at:in:delivery:scheduledKey:)``
///   and ``complete(_:in:scheduledKey:hasStoredKey:)``. After its commit it is passed to ``commit(_:)``, otherwise to
///   ``undo(_:)``.
/// - Rows of keys are examined with ``nextKeyRow()`` and ``examine(_:scheduled:)``, and passed to ``forget(_:)`` after
///   the commit that removes them.
/// - After a restart the rows are passed to the `restore` functions in ascending order.
///
/// A lookup that throws leaves the machine unchanged, apart from earlier calls of the same group.
package struct DedupeMachine: ~Copyable {
    /// The messages whose ids are remembered.
    package internal(set) var messages: RememberedMessages
    /// The messages that are not done, without scheduled ones.
    package internal(set) var pending = PendingMessages()
    /// The number of new messages that were refused because of ``limit``.
    package internal(set) var refusedCount: UInt64 = 0
    /// The number of remembered ids and deliveries from which on new messages are refused.
    package var limit: Int
    /// The time for which a message id is remembered for a device.
    package private(set) var window: Duration
    /// The number of milliseconds after which a message has waited for long.
    private(set) var longWait: Int64

    /// The fingerprints of the deliveries that were claimed.
    let deliveries: FingerprintTable
    /// The part of `deliveries` that belongs to messages for one device and was remembered when the delivery ended.
    /// These fingerprints are kept when the message's ``AcceptedKey`` is forgotten.
    let endedOnly: FingerprintTable
    /// The ended deliveries and outcome counts of messages that were not done at the restart.
    var recovered: [UInt64: Recovered] = [:]
    /// The ids that were cancelled within the window, with the number of the cancellation: the first message of the id.
    let cancelledIDs: FingerprintTable
    var pinned = PinnedKeys()
    package var sentTurns = SentTurns()
    /// Only while the machine is restored.
    var scheduled = ScheduledMessages()
    /// The last row of keys that was removed or pinned.
    var examinedUpTo: UInt64
    package let space: NumberSpace

    struct Recovered {
        var deliveries: Set<UInt64> = []
        var counts = OutcomeCounts()
    }

    package init(window: Duration, limit: Int, space: NumberSpace = .whole) {
        self.window = window
        self.limit = limit
        messages = RememberedMessages(space: space)
        deliveries = FingerprintTable(hasValues: false, space: space)
        endedOnly = FingerprintTable(hasValues: false, space: space)
        cancelledIDs = FingerprintTable(hasValues: true, space: space)
        examinedUpTo = space.base
        self.space = space
        longWait = Self.longWait(in: window)
    }

    /// Returns the time after which a message has waited for long: an eighth of the window. A delivery that ends
    /// earlier is remembered with its message, at least for seven eighths of the window after it was sent. A later one
    /// gets a key of its own and is remembered for the whole window.
    private static func longWait(in window: Duration) -> Int64 { window.wholeMilliseconds / 8 }

    /// Changes the window. All rows of keys are examined again, because a pinned row may be within the new window.
    package mutating func setWindow(_ window: Duration) {
        if window == self.window { return }
        self.window = window
        longWait = Self.longWait(in: window)
        examineAllRowsAgain()
    }

    /// The number of remembered ids and deliveries, which ``limit`` bounds.
    package var rememberedCount: Int { messages.count + deliveries.count + cancelledIDs.count }
    package var deliveryCount: Int { deliveries.count }
    package var byteCount: Int {
        messages.byteCount + deliveries.byteCount + endedOnly.byteCount + cancelledIDs.byteCount
    }

    /// The outcomes that a message had before the restart.
    package func recoveredCounts(of seq: UInt64) -> OutcomeCounts {
        recovered.isEmpty ? OutcomeCounts() : recovered[seq]?.counts ?? OutcomeCounts()
    }

    /// Adds a row of waiting messages after the commit that stored them.
    package mutating func addPending(_ row: PendingMessages.Segment) { pending.append(row) }

    // MARK: Claims

    /// Claims deliveries for a message and returns a verdict for each. A claim is not stored; the key of the delivery
    /// is, when the delivery ends.
    ///
    /// The last `lookupCount` deliveries are not claimed. They are suppressed, and the key of a suppressed delivery
    /// does not release a claim when it is forgotten.
    package mutating func claim(_ fingerprints: [UInt64], lookupCount: Int = 0, for seq: UInt64) -> [ClaimVerdict] {
        let known = recovered.isEmpty ? nil : recovered[seq]
        // The slots are scattered in memory: prefetch them, so that the cache misses overlap.
        deliveries.warm(fingerprints)
        let claimCount = fingerprints.count - lookupCount
        return fingerprints.enumerated().map { index, fingerprint in
            if let known, known.deliveries.contains(fingerprint) { return .done }
            let isNew = index < claimCount ? deliveries.insert(fingerprint) : !deliveries.contains(fingerprint)
            return isNew ? .new : .had
        }
    }
}
