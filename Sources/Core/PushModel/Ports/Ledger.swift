package import PushTime

/// The durable, numbered log, as the pipeline uses it. All calls take and return batches.
///
/// No call blocks: each is queued at once and answered later on the ledger's own thread.
package protocol Ledger: AnyObject, Sendable {
    /// Stores a group of requests. Calls `reply` with the results, in the same order, after they are on disk.
    func accept(_ group: [PushRequest], reply: @escaping @Sendable ([Acceptance]) -> Void)

    /// Stores the events of deliveries and the messages that are completed, in the order of the calls. While the disk
    /// fails, they are kept in memory and retried.
    func record(_ deliveries: [DeliveryRecord], completed: [CompletedMessage])

    /// Cancels a message, or those with one id in the apps of a family. All cancellations are stored in one transaction.
    /// Calls `reply` with the answers, in the same order, after the cancellations and their counts are on disk, and the
    /// witness in between, which answers with ``ended(_:releasing:)``.
    ///
    /// - Parameter requests: At least one and at most ``Family/maxMembers``, all with the same id.
    func cancel(_ requests: [CancelRequest], reply: @escaping @Sendable ([Cancellation]) -> Void)

    /// Takes the answers to orders of ``LedgerWitness/cancelled(_:)``, and claims of deliveries that are not sent and
    /// never will be.
    func ended(_ cancels: [CancelEnd], releasing claims: [ClaimPage])

    /// Stores events that do not concern deliveries. Calls `done` with the number of the first one after they are on
    /// disk, or with nil if the ledger could not store them.
    func note(_ events: [EventDraft], done: (@Sendable (UInt64?) -> Void)?)

    /// Claims the devices for the given messages; a device that was claimed before for the same message id gets
    /// ``ClaimVerdict/had``. Calls `reply` with a verdict for each device, page by page.
    func claim(_ pages: [ClaimPage], reply: @escaping @Sendable ([[ClaimVerdict]]) -> Void)

    /// Reads waiting messages back, in the order of `seqs`, without those that are completed by now. The answer may end
    /// early, but not before its first message; the caller then asks again for those after the last message in it. An
    /// empty answer says that all of them are completed.
    func load(_ seqs: [UInt64], reply: @escaping @Sendable (Result<[AcceptedMessage], LedgerFault>) -> Void)

    /// Reads the scheduled messages that are due at `time` and follow those released before, at
    /// most `limit` and fewer if they are large. The answer also contains the time of the next one.
    func due(at time: UnixSeconds, limit: Int, reply: @escaping @Sendable (Result<DueMessages, LedgerFault>) -> Void)
}

extension Ledger {
    /// Cancels one message.
    package func cancel(_ request: CancelRequest, reply: @escaping @Sendable (Cancellation) -> Void) {
        cancel([request]) { reply(Cancellation(of: $0)) }
    }
}

/// The observer of what the ledger has written. It is called on the ledger's thread, in ascending order of the numbers.
package protocol LedgerWitness: Sendable {
    /// Called with accepted messages, including those that are scheduled for later.
    func accepted(_ messages: [AcceptedMessage])
    /// Called with the cancellations that are on disk. No call of ``Ledger/load(_:reply:)`` or
    /// ``Ledger/due(at:limit:reply:)`` that is answered later returns their messages.
    func cancelled(_ orders: [CancelOrder])
    /// Called with events that are synced to disk and may be published, in the order of their numbers within each part.
    func committed(_ segments: [LogSegment])
    /// Called when the disk starts to fail, with the fault, and with nil when writing succeeds again.
    func healthChanged(_ fault: LedgerFault?)
    /// Called when this process begins to carry out a part of the ledger, with the messages that wait in it. Events of
    /// the part follow with ``committed(_:)``. A ledger in files has one part, which is never opened or closed.
    func opened(_ part: PartitionID, _ backlog: LedgerBacklog)
    /// Called when this process must not begin any delivery of a part any more. The witness forgets the part's messages,
    /// takes back deliveries that were not sent, and calls `done` once all deliveries that were under way have been
    /// recorded. No call of ``Ledger/load(_:reply:)`` or ``Ledger/due(at:limit:reply:)`` that is answered later returns
    /// messages of the part, until it is opened again, which is not before `done` was called.
    func closed(_ part: PartitionID, done: @escaping @Sendable () -> Void)
    /// Called when no delivery may begin because the right to send has run out, and with false when it is renewed. What
    /// waits stays as it is.
    func suspended(_ isSuspended: Bool)
}

extension LedgerWitness {
    package func opened(_ part: PartitionID, _ backlog: LedgerBacklog) {}
    package func closed(_ part: PartitionID, done: @escaping @Sendable () -> Void) { done() }
    package func suspended(_ isSuspended: Bool) {}
}

package struct LedgerFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// What happened, where, and what to do.
    package let description: String
    /// The one message that is damaged; the others can still be read. Nil if the fault does not concern a single
    /// message.
    package let damaged: DamagedMessage?

    package init(_ description: String, damaged: DamagedMessage? = nil) {
        self.description = description
        self.damaged = damaged
    }
}

/// An accepted message that cannot be read any more.
package struct DamagedMessage: Sendable, Equatable {
    package let seq: UInt64
    /// The app, if it is known from elsewhere.
    package let app: AppID?
    /// The message id, if it is known from elsewhere.
    package let id: MessageID?

    package init(seq: UInt64, app: AppID?, id: MessageID?) {
        self.seq = seq
        self.app = app
        self.id = id
    }
}

/// Devices to which one message is about to be sent, and devices for which it is suppressed.
package struct ClaimPage: Sendable {
    package let seq: UInt64
    package let fingerprint: MessageFingerprint
    package var devices: [DeviceID]
    /// The number of devices, at the end of `devices`, that are only looked up and not claimed, because nothing is sent
    /// to them. The verdict tells whether their delivery ended before a restart.
    package let lookupCount: Int

    package init(seq: UInt64, fingerprint: MessageFingerprint, devices: [DeviceID], lookupCount: Int = 0) {
        self.seq = seq
        self.fingerprint = fingerprint
        self.devices = devices
        self.lookupCount = lookupCount
    }
}

package enum ClaimVerdict: UInt8, Sendable {
    /// No message with this id was sent to the device.
    case new
    /// The device already received this message id: the delivery is suppressed.
    case had
    /// The delivery of this very message ended before a restart and is counted.
    case done
}

package struct DueMessages: Sendable {
    /// The due messages in the order of their times.
    package let messages: [AcceptedMessage]
    /// When the next message is due; nil if none is scheduled.
    package let next: UnixSeconds?

    package init(messages: [AcceptedMessage], next: UnixSeconds?) {
        self.messages = messages
        self.next = next
    }
}

/// A log that was restored from a backup.
package struct RestoredLog: Sendable, Equatable {
    /// When the backup was made.
    package let madeAt: WallTime
    /// The newest number in the backup.
    package let newest: UInt64
    /// The first number after the restore.
    package let next: UInt64

    package init(madeAt: WallTime, newest: UInt64, next: UInt64) {
        self.madeAt = madeAt
        self.newest = newest
        self.next = next
    }

    /// The event by which monitors learn of it.
    package var event: EventDraft {
        var event = EventDraft(.ledgerRestored, app: nil)
        event.add("backup_at", number: madeAt.milliseconds)
        event.add("lost_after", number: Int64(clamping: newest))
        event.add("continues_at", number: Int64(clamping: next))
        return event
    }
}

/// What is known of the times at which something was stored, in the order of the numbers: they decrease where the clock
/// was set back.
package struct StoredTimes: Sendable, Equatable {
    package private(set) var latest = WallTime.distantPast
    /// The first number that was stored at an earlier second than one before it; nil if there is none.
    package private(set) var setBack: UInt64?

    package init() {}

    package mutating func note(_ time: WallTime, of number: UInt64) {
        if time.unixSeconds < latest.unixSeconds { setBack = min(setBack ?? number, number) }
        latest = max(latest, time)
    }

    package mutating func add(_ other: StoredTimes) {
        latest = max(latest, other.latest)
        if let number = other.setBack { setBack = min(setBack ?? number, number) }
    }
}

/// The messages that waited when the ledger was opened. The router loads them as it has room.
package struct LedgerBacklog: Sendable {
    /// The numbers of the messages of each lane, ascending.
    package var lanes: [(lane: Lane, seqs: [UInt64])]
    /// When the messages were accepted: each time holds from its number on, until the next number. Ascending.
    package var times: [(first: UInt64, time: WallTime)]
    /// When the next scheduled message is due; nil if there is none.
    package var nextDue: UnixSeconds?
    /// The times at which something was stored, as long as its keys are not forgotten.
    package var stored = StoredTimes()
    /// The apps that operators have paused, and since when.
    package var paused: [AppID: WallTime]
    /// The restore that no start has announced yet; nil if there is none.
    package var restored: RestoredLog?
    /// The number of erasures of users that have begun and not ended.
    package var openErasures = 0

    package init(
        lanes: [(lane: Lane, seqs: [UInt64])] = [], times: [(first: UInt64, time: WallTime)] = [],
        nextDue: UnixSeconds? = nil, paused: [AppID: WallTime] = [:]
    ) {
        self.lanes = lanes
        self.times = times
        self.nextDue = nextDue
        self.paused = paused
    }

    /// Returns when a message was accepted, or `unknown` if there is no time for it.
    ///
    /// - Parameter row: the index in ``times`` of an earlier message, which becomes that of this message. Successive
    ///   messages mostly have the same one.
    package func time(of seq: UInt64, row: inout Int, otherwise unknown: WallTime) -> WallTime {
        guard row < times.count else { return unknown }
        if row + 1 < times.count, times[row + 1].first <= seq {
            var (low, high) = (row + 1, times.count)
            while low < high {
                let middle = low + (high - low) / 2
                if times[middle].first <= seq { low = middle + 1 } else { high = middle }
            }
            row = low - 1
        }
        return times[row].first <= seq ? times[row].time : unknown
    }
}
