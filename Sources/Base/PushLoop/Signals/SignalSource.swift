import Glibc

/// A source that turns signals into events of a loop. The handler runs on the loop, once per received signal. (The
/// system merges equal signals that are pending at the same time.)
///
/// Confined to its loop; created and cancelled there. A process can have only one source per signal.
package final class SignalSource {
    private let loop: EventLoop
    private var watches: [(signal: Signal, watch: Watch)] = []

    /// Creates the source. The handler is kept until ``cancel()``. On the loop.
    package init(on loop: EventLoop, signals: [Signal], handler: @escaping (Signal) -> Void) {
        loop.assertOnLoop()
        self.loop = loop
        for signal in signals {
            let descriptor = SignalTable.take(signal)
            let watch = Watch(descriptor, on: loop) { [unowned self] _ in
                self.deliver(signal, from: descriptor, to: handler)
            }
            watch.interest = .readable
            watches.append((signal, watch))
        }
    }

    /// Ends the source and restores the former action of each signal. May be called twice.
    package func cancel() {
        loop.assertOnLoop()
        for (signal, watch) in watches {
            SignalTable.giveBack(signal)
            watch.cancel()
        }
        watches = []
    }

    private func deliver(_ signal: Signal, from descriptor: CInt, to handler: (Signal) -> Void) {
        var count: UInt64 = 0
        guard unsafe read(descriptor, &count, 8) == 8 else { return }
        // The handler may cancel the source; the rest of the count is then dropped.
        while count > 0, !watches.isEmpty {
            count -= 1
            handler(signal)
        }
    }
}
