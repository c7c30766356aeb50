/// A message in memory of which nothing more is sent. Its deliveries that are under way end as usual.
enum StoppedMessage {
    /// It was cancelled. `named` is the number of different devices that it names; nil if the registry determines them.
    /// While the order that stopped it is awaited, the message is not completed, so that the event of its cancellation
    /// comes first.
    case cancelled(named: Int?, isAwaited: Bool)
    /// Its part of the ledger was closed. It is complete if every device was sent to, and otherwise the next owner of the
    /// part continues with it.
    case leaving(isWhole: Bool)

    var isLeaving: Bool {
        if case .leaving = self { true } else { false }
    }
}
