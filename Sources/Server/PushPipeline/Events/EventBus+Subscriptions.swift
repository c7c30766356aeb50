import PushTransport

/// The subscriptions at the publishing socket.
extension EventBus {
    func takeSubscriptions(of publisher: ZMQSocket) {
        publisher.onMessage = { [unowned self] message in
            guard let change = message.subscription else { return }
            prefixes.take(change)
            prefixesChanged = true
            isDeserted = false
        }
    }

    /// Clears the prefixes when no subscriber is left. libzmq does not report when the last subscriber of a cancelled
    /// prefix has gone. If nobody is connected at two heartbeats in a row, no prefix is needed: a subscription never
    /// arrives so much earlier than its connection is counted.
    func forgetSubscribersThatAreGone() {
        guard prefixes.holdsOnlyDoubtful, let publisher, connectionGuard?.open(of: publisher) == 0 else {
            isDeserted = false
            return
        }
        if isDeserted {
            prefixes = SubscribedPrefixes(limit: settings.prefixLimit)
            prefixesChanged = true
        }
        isDeserted.toggle()
    }
}
