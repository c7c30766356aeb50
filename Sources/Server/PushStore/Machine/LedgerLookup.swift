import PushLogic
import PushModel
import PushTime
import PushWire

/// What the rules of the ledger look up among the stored rows. A group is decided upon between the rows of the groups
/// before it and its own, so that a lookup never finds what the same group adds or removes.
protocol LedgerLookup: AnyObject {
    associatedtype Failure: Error

    /// Returns the key of a message that is within the dedupe window.
    func storedKey(of seq: UInt64) throws(Failure) -> AcceptedKey?

    /// Returns whether a row of keys still has the key of the message.
    func hasStoredKey(of seq: UInt64) throws(Failure) -> Bool

    /// Returns the key of a scheduled message that is not done.
    func scheduledKey(of seq: UInt64) throws(Failure) -> AcceptedKey?

    /// Returns a message that is not done; nil if it is damaged or does not exist.
    ///
    /// - Parameter isScheduled: Whether it is a scheduled message. Others wait in a row.
    func message(_ seq: UInt64, isScheduled: Bool) throws(Failure) -> StoredMessage?

    /// Returns what is stored about the cancellation with this number.
    func cancellation(_ number: UInt64) throws(Failure) -> StoredCancellation?

    /// Returns whether a notification of a store is known.
    func hasReceipt(_ id: String, of app: AppID) throws(Failure) -> Bool
}

extension LedgerLookup {
    /// Returns the key of an accepted message of an earlier group. A scheduled message can be older than the dedupe
    /// window.
    func key(of seq: UInt64) throws(Failure) -> AcceptedKey? {
        if let key = try storedKey(of: seq) { return key }
        return try scheduledKey(of: seq)
    }
}

/// A message as it was stored, and the time of its group.
struct StoredMessage {
    let time: WallTime
    let content: MessageRecord.Read
}

/// A cancellation without the parts of its messages.
struct StoredCancellation: Equatable {
    /// The counts; nil while its messages are not stopped.
    let counts: CancelCounts?
}
