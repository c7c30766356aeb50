import PushTransport

/// What subscribers ask for.
extension EventBus {
    func takeSubscriptions(of publisher: ZMQSocket) {
        publisher.onMessage = { [unowned self] message in
            guard let change = message.subscription else { return }
            prefixes.take(change)
            prefixesChanged = true
            isDeserted = false
        }
    }

    /// libzmq does not say when nobody is left of those who asked for a prefix that was cancelled. When nobody is
    /// connected at all, from one heartbeat to the next, nothing is wanted; a subscription is never heard so much earlier
    /// than its connection.
    func forgetSubscribersThatAreGone() {
        guard prefixes.holdsOnlyDoubtful, let publisher, door?.open(of: publisher) == 0 else {
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
