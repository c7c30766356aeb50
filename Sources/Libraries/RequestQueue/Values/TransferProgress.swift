/// The state of a transfer.
public struct TransferProgress: Sendable, Equatable {
    /// The bytes of the request's body that were handed to the network in this attempt.
    public var sent: Int64 = 0
    /// The size of the request's body.
    public var toSend: Int64 = 0
    /// The bytes of the response's body that have arrived, with those that a resumed download has already.
    public var received: Int64 = 0
    /// The size of the response's body; nil if the server has not named it.
    public var toReceive: Int64?
    /// The number of this attempt, from 1. After a retry, `sent` and `received` start again.
    public var attempt = 0
}
