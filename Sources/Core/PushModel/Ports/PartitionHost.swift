/// The ledger of a node in a cluster, which carries out the parts that the node owns.
///
/// Any thread may call it. The calls for one part take effect in their order, and each reply is called once.
package protocol PartitionHost: Sendable {
    /// Reads a part from the store. It accepts and sends nothing before ``serve(_:epoch:)``. The reply is nil, or says
    /// why the part cannot be read.
    func load(_ part: PartitionID, epoch: PartitionEpoch, reply: @escaping @Sendable (LedgerFault?) -> Void)

    /// Accepts messages for a part that was read, and sends what waits in it. After ``stopSending()``, continues with
    /// what is in memory.
    func serve(_ part: PartitionID, epoch: PartitionEpoch)

    /// Accepts nothing more for a part and begins no delivery. Calls `reply` once the outcomes of the deliveries that
    /// were under way are written.
    func drain(_ part: PartitionID, epoch: PartitionEpoch, reply: @escaping @Sendable () -> Void)

    /// Accepts nothing and begins no delivery in any part until it is served again. Outcomes of deliveries that are under
    /// way are still written.
    func stopSending()

    /// Forgets a part. Calls that wait for it are refused, and deliveries that are under way have an unknown outcome.
    func drop(_ part: PartitionID, epoch: PartitionEpoch)
}
