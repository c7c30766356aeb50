import PushModel

/// The cancellations that are being carried out.
struct RouterCancels {
    /// The orders of this tick.
    var new: [CancelOrder] = []
    /// Messages of these orders that the ledger already left out of an answer.
    var leftOut: Set<UInt64> = []
    /// The orders that wait for a gateway to return deliveries.
    var recalls: [RecallingCancel] = []
    /// The messages in memory that were cancelled or whose part was closed, until they are complete.
    var stopped: [MessageHandle: StoppedMessage] = [:]
    /// The number of messages on disk that were cancelled and whose numbers are still in queues.
    var staleCount = 0
}
