import PushModel
import PushTime

/// The search for expired messages.
struct RouterExpiry {
    /// Messages to named devices that expired before any device was looked up.
    var messages = MessageRing()
    /// The way through the devices of the first of them, if some were recorded.
    var scan: AudienceScan?
    /// When the messages in memory are examined next; nil if none waits.
    var sweepAt: MonotonicTime?
}
