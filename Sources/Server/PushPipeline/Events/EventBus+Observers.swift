import PushLoop
import PushTransport

/// The state of a publishing socket that is being bound again.
struct Rebinding {
    var attempts = 0
    var timer: TimerID?
    /// The callers that wait until the socket is bound, or until it is clear that this takes long.
    var waiters: [CheckedContinuation<Void, Never>] = []

    /// The failure is reported each time that this number of attempts has failed.
    static let attemptsBeforeReport = 200

    /// The pause before the next attempt. libzmq closes the old listener on its I/O thread, which takes microseconds on
    /// an idle machine. After a second of failures the attempts become less frequent.
    var pause: Duration { attempts < Self.attemptsBeforeReport ? .milliseconds(5) : .seconds(1) }
}

/// Changes to the set of observers.
extension EventBus {
    /// Replaces the observers. If a key has lost the right, its replays end. All subscriptions end too, because the
    /// publishing socket is closed and bound again: libzmq checks a subscriber only when it connects, and cannot close
    /// a single connection. Other subscribers reconnect by themselves and see by `prev` what they missed.
    ///
    /// Returns when the socket is bound again, or when attempts have failed for about a second.
    package func replaceObservers(_ observers: EventBusSettings.Observers) async {
        let old = settings.observers
        settings.observers = observers
        guard !isStopped, !observers.includeAll(of: old) else { return }
        if settings.replaySecurity.isServer { revokeReplays() }
        guard publishEndpoint != nil, settings.publishSecurity.isServer else { return }
        publisher?.close()
        publisher = nil
        prefixes = SubscribedPrefixes(limit: settings.prefixLimit)
        prefixesChanged = true
        counts.rebinds += 1
        if rebinding == nil {
            rebinding = Rebinding()
            bindPublisherAgain()
        }
        if let rebinding, rebinding.attempts < Rebinding.attemptsBeforeReport {
            await withCheckedContinuation { self.rebinding?.waiters.append($0) }
        }
    }

    private func revokeReplays() {
        for replay in replays.values where !settings.observers.include(replay.userID) {
            replay.isRevoked = true
            replay.waiter.take()?.resume()
        }
    }

    private func bindPublisherAgain() {
        guard rebinding != nil, !isStopped, let publishEndpoint else { return }
        do throws(ZMQError) {
            let socket = try ZMQSocket(.xpub, in: context, on: loop, options: publisherOptions)
            do throws(ZMQError) {
                try connectionGuard?.watch(socket)
                try socket.bind(publishEndpoint)
            } catch {
                socket.close()
                throw error
            }
            publisher = socket
            takeSubscriptions(of: socket)
            endRebinding()
            settings.rebound(nil)
        } catch {
            bindPublisherLater(after: error)
        }
    }

    private func bindPublisherLater(after error: ZMQError) {
        guard var rebinding else { return }
        rebinding.attempts += 1
        self.rebinding = rebinding
        if rebinding.attempts.isMultiple(of: Rebinding.attemptsBeforeReport) {
            settings.rebound(error)
            resumeRebindingWaiters()
        }
        self.rebinding?.timer = loop.schedule(after: rebinding.pause) { [weak self] in
            self?.assumeIsolated { $0.bindPublisherAgain() }
        }
    }

    /// Ends the rebinding, because the socket is bound or the bus stops.
    func endRebinding() {
        if let timer = rebinding?.timer { loop.cancel(timer) }
        resumeRebindingWaiters()
        rebinding = nil
    }

    private func resumeRebindingWaiters() {
        for waiter in rebinding?.waiters ?? [] { waiter.resume() }
        rebinding?.waiters = []
    }
}
