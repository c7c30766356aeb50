import PushLoop

/// The way of other threads to a loop that ends with its owner. Work that comes later is not taken.
final class LoopGate: Sendable {
    let loop: EventLoop
    private let isOpen = Locked(true)

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    /// Runs work on the loop. Returns whether the loop has taken it.
    func execute(_ work: @escaping @Sendable () -> Void) -> Bool {
        // The lock is kept: as soon as it is released, the loop may be gone.
        isOpen.withLock { isOpen in
            if isOpen { loop.execute(work) }
            return isOpen
        }
    }

    /// Runs work on the loop and returns its result; nil if the gate is closed.
    func run<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result? {
        await withCheckedContinuation { continuation in
            let isTaken = execute { continuation.resume(returning: work()) }
            if !isTaken { continuation.resume(returning: nil) }
        }
    }

    /// Closes the gate. Returns whether it was open.
    func close() -> Bool { isOpen.withLock { exchange(&$0, with: false) } }
}
