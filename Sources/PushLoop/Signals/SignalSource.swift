import Glibc

/// Turns signals into events of a loop: the handler runs on the loop, once for each time the process got the signal
/// (the system itself merges signals that are pending at the same time).
///
/// Confined to its loop; created and cancelled there. A signal has one source in a process.
package final class SignalSource {
    private let loop: EventLoop
    private var watches: [(signal: Signal, watch: Watch)] = []

    /// The handler is kept until `cancel`. On the loop.
    package init(on loop: EventLoop, _ signals: [Signal], handler: @escaping (Signal) -> Void) {
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

    /// Ends the source and gives each signal back to what it did before. May be called twice.
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
        // The handler may cancel: what is left of the count then goes nowhere.
        while count > 0, !watches.isEmpty {
            count -= 1
            handler(signal)
        }
    }
}
