package import PushModel
package import PushWire

/// The log of notifications of stores, as ``ForwardingLedger`` for messages: each goes to the owner of its partition,
/// which recognizes those that were sent before.
package final class ForwardingReceipts: ReceiptLog {
    private let own: any ReceiptLog
    private let map: PartitionMap
    private let owners: @Sendable () -> OwnerTable
    private let peers: ClusterPeers

    package init(
        _ own: any ReceiptLog, map: PartitionMap, owners: @escaping @Sendable () -> OwnerTable, peers: ClusterPeers
    ) {
        self.own = own
        self.map = map
        self.owners = owners
        self.peers = peers
    }

    package func take(_ receipt: ReceivedReceipt, reply: @escaping @Sendable (ReceiptIntake) -> Void) {
        switch owners()[map.partition(of: receipt)] {
        case .this: own.take(receipt, reply: reply)
        case .nobody: reply(.failed(ForwardingLedger.orphan))
        case .other(let node, _): peers.take(receipt, at: node, reply: reply)
        }
    }
}
