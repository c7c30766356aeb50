/// The part that records what the transactions of a connection change.
protocol TransactionRecorder: AnyObject {
    /// Called when a transaction has begun, before it does anything.
    func begin(on connection: Connection) throws
    /// Called when the transaction is committed.
    func committed(on connection: Connection)
}
